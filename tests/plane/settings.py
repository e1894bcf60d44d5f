"""How each part of the test control plane is started: its flags and the files it reads.

The hard things are the defaults that assume a whole cluster. The API server taints every new node, and only
the node lifecycle controller takes that back, once a kubelet (here kwok) has reported: this admission is on
only where both run. It refuses the pods of a new namespace until a controller has made a service account
there, which every test would have to wait for: this admission is always off.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ETCD = "etcd"
API = "kube-apiserver"
SCHEDULER = "kube-scheduler"
CONTROLLERS = "kube-controller-manager"
KWOK = "kwok"

ADMIN = "admin"
KWOK_FILE = Path(__file__).parent / "kwok.yaml"
REQUESTS_PER_SECOND_MAX = 5000
GRACE_SECONDS = 3600
ETCD_BYTES_MAX = 8 << 30
CLUSTER = "plane"


def etcd(folder: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = f"http://127.0.0.1:{client_port}", f"http://127.0.0.1:{peer_port}"
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--quota-backend-bytes={ETCD_BYTES_MAX}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api(folder: Path, port: int, etcd_port: int, parts: frozenset[str]) -> list[str]:
    disabled = (
        ["ServiceAccount"] if {CONTROLLERS, KWOK} <= parts else ["ServiceAccount", "TaintNodesByCondition"]
    )
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--disable-admission-plugins={','.join(disabled)}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'service-account.key'}",
        f"--service-account-signing-key-file={folder / 'service-account.key'}",
        "--service-cluster-ip-range=10.96.0.0/12",
        "--endpoint-reconciler-type=none",
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
        "--delete-collection-workers=16",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def scheduler(folder: Path, port: int, kubeconfig: Path, changes: Mapping[str, Any]) -> list[str]:
    """Write its settings; `changes` replaces whole fields of them, such as `profiles` or `extenders`."""
    config = folder / "scheduler.yaml"
    written = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(kubeconfig),
            "qps": REQUESTS_PER_SECOND_MAX,
            "burst": REQUESTS_PER_SECOND_MAX,
        },
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": 100,
        **changes,
    }
    config.write_text(yaml.safe_dump(written), encoding="utf-8")
    return [f"--config={config}", *_serving(port, kubeconfig)]


def controllers(folder: Path, port: int, kubeconfig: Path, parts: frozenset[str]) -> list[str]:
    chosen = "*" if KWOK in parts else "*,-node-lifecycle-controller"
    return [
        f"--kubeconfig={kubeconfig}",
        f"--kube-api-qps={REQUESTS_PER_SECOND_MAX}",
        f"--kube-api-burst={REQUESTS_PER_SECOND_MAX}",
        "--leader-elect=false",
        f"--controllers={chosen}",
        f"--node-monitor-grace-period={GRACE_SECONDS}s",
        f"--service-account-private-key-file={folder / 'service-account.key'}",
        f"--root-ca-file={folder / 'apiserver.crt'}",
        f"--flex-volume-plugin-dir={folder / 'flexvolume'}",
        *_serving(port, kubeconfig),
    ]


def kwok(port: int, kubeconfig: Path) -> list[str]:
    return [f"--config={KWOK_FILE}", f"--kubeconfig={kubeconfig}", f"--server-address=127.0.0.1:{port}"]


def _serving(port: int, kubeconfig: Path) -> list[str]:
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--authentication-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup",
        f"--authorization-kubeconfig={kubeconfig}",
    ]


def tokens(users: Mapping[str, tuple[str, Sequence[str]]]) -> str:
    """Write the API server's token file from each user's token and groups."""
    return "".join(f'{token},{user},{user},"{",".join(groups)}"\n' for user, (token, groups) in users.items())


def kubeconfig(server: str, authority: Path, user: str, token: str, namespace: str) -> str:
    """Write the file of one user; it holds the certificate itself, so a copy elsewhere works too."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": user,
            "clusters": [
                {
                    "name": CLUSTER,
                    "cluster": {
                        "server": server,
                        "certificate-authority-data": base64.b64encode(authority.read_bytes()).decode(),
                    },
                }
            ],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [
                {"name": user, "context": {"cluster": CLUSTER, "user": user, "namespace": namespace}}
            ],
        }
    )
