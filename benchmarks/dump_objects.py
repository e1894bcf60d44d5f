"""Pods and nodes as a real cluster's API server writes them, drawn from a seed.

The hard thing is honesty: a reader that skips what it does not need looks better the more there is to skip,
so everything here stands in the proportions of real `kubectl get --show-managed-fields -o json` output:
managed fields are about a quarter of a pod, and names, hashes and addresses are as long as they are in
life.
"""

import random
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

CREATED = "2026-0{month}-{day:02d}T{hour:02d}:{minute:02d}:07Z"
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SHAPES = (
    ({"cpu": "250m", "memory": "512Mi"}, {"memory": "512Mi"}),
    ({"cpu": "500m", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
    ({"cpu": "1", "memory": "2Gi"}, {"cpu": "2", "memory": "4Gi"}),
    ({"cpu": "2", "memory": "8Gi", "ephemeral-storage": "10Gi"}, {"memory": "8Gi"}),
    ({"cpu": "4", "memory": "32Gi", "nvidia.com/gpu": "1"}, {"memory": "32Gi", "nvidia.com/gpu": "1"}),
    ({"cpu": "50m", "memory": "64Mi"}, {"cpu": "100m", "memory": "128Mi"}),
)
TEAMS = (
    "payments",
    "search",
    "checkout",
    "catalogue",
    "fraud",
    "logistics",
    "identity",
    "media",
    "ads",
    "data",
)
NODE_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
POD_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


class Draw:
    """Everything that chance decides, from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a benchmark's data, not a secret

    def letters(self, count: int) -> str:
        """Letters as Kubernetes draws them for the names of pods."""
        return "".join(self.random.choices(LETTERS, k=count))

    def uid(self) -> str:
        """A random UUID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def digest(self) -> str:
        """A SHA-256 of something."""
        return f"{self.random.getrandbits(256):064x}"

    def address(self) -> str:
        """A pod's IPv4 address."""
        draw = self.random.randrange
        return f"10.{draw(64, 128)}.{draw(256)}.{draw(2, 255)}"

    def time(self) -> str:
        """A moment of the year, in RFC 3339."""
        draw = self.random.randrange
        return CREATED.format(month=draw(1, 10), day=draw(1, 29), hour=draw(24), minute=draw(60))


class Application(NamedTuple):
    """What all pods of one deployment have in common."""

    name: str
    team: str
    template_hash: str
    shapes: list[tuple[dict[str, str], dict[str, str]]]
    variables: int
    probed: bool
    spread: bool


def _application(draw: Draw) -> Application:
    choose = draw.random.choice
    team = choose(TEAMS)
    return Application(
        name=f"{team}-{draw.letters(4)}-{choose(('api', 'worker', 'web'))}",
        team=team,
        template_hash=draw.letters(10),
        shapes=draw.random.choices(SHAPES, k=choose((1, 1, 1, 1, 1, 1, 1, 1, 2))),
        variables=draw.random.randrange(3),
        probed=choose((True, False, False, False)),
        spread=choose((True, False, False, False)),
    )


def node_names(count: int) -> list[str]:
    """Names of the cluster's nodes."""
    return [
        f"ip-10-{i // 250}-{i % 250}-{(i * 37) % 250}.eu-central-1.compute.internal" for i in range(count)
    ]


def nodes(count: int, draw: Draw) -> Iterator[dict[str, Any]]:
    """Yield the cluster's nodes."""
    for index, name in enumerate(node_names(count)):
        yield _node(index, name, draw)


def pods(count: int, names: list[str], draw: Draw) -> Iterator[dict[str, Any]]:
    """Yield the cluster's pods, replica by replica of one application after the other."""
    made = 0
    while made < count:
        application = _application(draw)
        for _ in range(min(count - made, draw.random.choice((2, 3, 5, 10, 20, 60)))):
            made += 1
            yield _pod(application, draw.random.choice(names), draw)


def _node(index: int, name: str, draw: Draw) -> dict[str, Any]:
    zone = f"eu-central-1{'abc'[index % 3]}"
    gpu = index % 10 == 0
    capacity = {
        "cpu": "64" if gpu else "48", "ephemeral-storage": "524275692Ki", "hugepages-1Gi": "0",
        "hugepages-2Mi": "0", "memory": "527951088Ki" if gpu else "395898564Ki", "pods": "250",
    } | ({"nvidia.com/gpu": "8"} if gpu else {})  # fmt: skip
    allocatable = capacity | {
        "cpu": "63770m" if gpu else "47810m",
        "memory": "519432400Ki" if gpu else "390011108Ki",
    }
    labels = {
        "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": "m6i.12xlarge",
        "beta.kubernetes.io/os": "linux", "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/nodegroup": "gpu" if gpu else f"general-{index % 4}",
        "failure-domain.beta.kubernetes.io/region": "eu-central-1",
        "failure-domain.beta.kubernetes.io/zone": zone, "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": zone,
    }  # fmt: skip
    if gpu:
        labels |= {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
    conditions = [
        {
            "lastHeartbeatTime": draw.time(), "lastTransitionTime": draw.time(),
            "message": f"kubelet has no {kind} to report", "reason": f"KubeletHas{kind}",
            "status": "True" if kind == "Ready" else "False", "type": kind,
        }
        for kind in NODE_CONDITIONS
    ]  # fmt: skip
    images = [
        {
            "names": [
                f"registry.example.com/{team}/service@sha256:{draw.digest()}",
                f"registry.example.com/{team}/service:v{draw.random.randrange(200)}",
            ],
            "sizeBytes": draw.random.randrange(10**7, 10**9),
        }
        for team in TEAMS * 2
    ]
    info = {
        "architecture": "amd64", "bootID": draw.uid(), "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.12.46-66.121.amzn2023.x86_64", "kubeletVersion": "v1.34.1",
        "machineID": draw.digest()[:32], "operatingSystem": "linux", "osImage": "Amazon Linux 2023",
        "swap": {"capacity": 0}, "systemUUID": draw.uid(),
    }  # fmt: skip
    status_fields = {
        "f:conditions": {
            f'k:{{"type":"{kind}"}}': {"f:lastHeartbeatTime": {}, "f:lastTransitionTime": {}, "f:message": {}}
            for kind in NODE_CONDITIONS
        },
        "f:images": {},
        "f:nodeInfo": {f"f:{key}": {} for key in info},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "15",
                "csi.volume.kubernetes.io/nodeid": draw.uid(),
            },
            "creationTimestamp": draw.time(),
            "labels": labels,
            "managedFields": [
                _managed(
                    "kubelet", {"f:metadata": {"f:labels": {f"f:{key}": {} for key in labels}}}, "", draw
                ),
                _managed("kubelet", {"f:status": status_fields}, "status", draw),
            ],
            "name": name,
            "resourceVersion": str(draw.random.randrange(10**8, 10**9)),
            "uid": draw.uid(),
        },
        "spec": {
            "podCIDR": "10.64.0.0/24",
            "podCIDRs": ["10.64.0.0/24"],
            "providerID": f"aws:///{zone}/i-{draw.letters(17)}",
        }
        | (
            {"taints": [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "present"}]} if gpu else {}
        ),
        "status": {
            "addresses": [
                {"address": draw.address(), "type": "InternalIP"},
                {"address": name, "type": "Hostname"},
            ],
            "allocatable": allocatable,
            "capacity": capacity,
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": images,
            "nodeInfo": info,
        },
    }


def _managed(manager: str, fields: dict[str, Any], subresource: str, draw: Draw) -> dict[str, Any]:
    entry = {
        "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": manager,
        "operation": "Update", "time": draw.time(),
    }  # fmt: skip
    return entry | {"subresource": subresource} if subresource else entry


def _container(position: int, application: Application, token: str) -> dict[str, Any]:
    name, team = ("main", "proxy")[position], application.team
    probe = {
        "failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1,
    }  # fmt: skip
    variables: list[dict[str, Any]] = [
        {"name": f"{team.upper()}_{key}", "value": f"{team}-{key.lower()}.{team}.svc.cluster.local:8443"}
        for key in ("DATABASE", "TRACING", "FEATURES")[: application.variables]
    ]
    variables.append(
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}
    )
    requests, limits = application.shapes[position]
    return {
        "args": ["serve", "--config=/etc/service/config.yaml", "--log-format=json", f"--team={team}"],
        "env": variables,
        "image": f"registry.example.com/{team}/{name}:v1.{position}.7",
        "imagePullPolicy": "IfNotPresent",
        **({"livenessProbe": probe} if application.probed else {}),
        "name": name,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": limits, "requests": requests},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"mountPath": "/etc/service", "name": "config", "readOnly": True},
            {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": True},
        ],
    }


def _spec(application: Application, node: str, draw: Draw) -> dict[str, Any]:
    token = f"kube-api-access-{draw.letters(5)}"
    selector = {"matchLabels": {"app.kubernetes.io/name": application.name}}
    namespace = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"}
    projected = {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
            {"downwardAPI": {"items": [namespace]}},
        ],
    }
    near = {
        "podAffinityTerm": {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"},
        "weight": 100,
    }
    spread = {
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [near]}},
        "topologySpreadConstraints": [
            {
                "labelSelector": selector, "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
            }
        ],
    }  # fmt: skip
    return {
        "containers": [
            _container(position, application, token) for position in range(len(application.shapes))
        ],
        "dnsPolicy": "ClusterFirst",
        "nodeName": node,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {"fsGroup": 2000, "runAsNonRoot": True, "runAsUser": 1000},
        "serviceAccount": application.name,
        "serviceAccountName": application.name,
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {
                "effect": "NoExecute",
                "key": f"node.kubernetes.io/{key}",
                "operator": "Exists",
                "tolerationSeconds": 300,
            }
            for key in ("not-ready", "unreachable")
        ],
        "volumes": [
            {"configMap": {"defaultMode": 420, "name": f"{application.name}-config"}, "name": "config"},
            {"name": token, "projected": projected},
        ],
        **(spread if application.spread else {}),
    }


def _status(spec: dict[str, Any], draw: Draw) -> dict[str, Any]:
    address = draw.address()
    started = draw.time()
    return {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": started, "status": "True", "type": kind}
            for kind in POD_CONDITIONS
        ],
        "containerStatuses": [
            {
                "allocatedResources": container["resources"]["requests"],
                "containerID": f"containerd://{draw.digest()}",
                "image": container["image"],
                "imageID": f"{container['image'].rpartition(':')[0]}@sha256:{draw.digest()}",
                "lastState": {},
                "name": container["name"],
                "ready": True,
                "resources": container["resources"],
                "restartCount": 0,
                "started": True,
                "state": {"running": {"startedAt": started}},
            }
            for container in spec["containers"]
        ],
        "hostIP": "10.0.17.211",
        "observedGeneration": 1,
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "qosClass": "Burstable",
        "startTime": started,
    }


def _managed_pod_fields(
    labels: dict[str, str], spec: dict[str, Any], owner_uid: str, draw: Draw
) -> list[dict[str, Any]]:
    containers = {
        f'k:{{"name":"{container["name"]}"}}': {".": {}} | {f"f:{key}": {} for key in container}
        for container in spec["containers"]
    }
    metadata = {
        "f:labels": {".": {}} | {f"f:{key}": {} for key in labels},
        "f:ownerReferences": {".": {}, f'k:{{"uid":"{owner_uid}"}}': {}},
    }
    conditions = {f'k:{{"type":"{kind}"}}': {} for kind in POD_CONDITIONS}
    return [
        _managed(
            "kube-controller-manager",
            {"f:metadata": metadata, "f:spec": {"f:containers": containers}},
            "",
            draw,
        ),
        _managed("kubelet", {"f:status": {"f:conditions": conditions, "f:podIP": {}}}, "status", draw),
    ]


def _pod(application: Application, node: str, draw: Draw) -> dict[str, Any]:
    name, team, template_hash = application[:3]
    labels = {
        "app.kubernetes.io/instance": name, "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/name": name, "pod-template-hash": template_hash, "team": team,
    }  # fmt: skip
    owner_uid = draw.uid()
    spec = _spec(application, node, draw)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"prometheus.io/scrape": "true"},
            "creationTimestamp": draw.time(),
            "generateName": f"{name}-{template_hash}-",
            "labels": labels,
            "managedFields": _managed_pod_fields(labels, spec, owner_uid, draw),
            "name": f"{name}-{template_hash}-{draw.letters(5)}",
            "namespace": team,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1", "blockOwnerDeletion": True, "controller": True,
                    "kind": "ReplicaSet",
                    "name": f"{name}-{template_hash}", "uid": owner_uid,
                }
            ],
            "resourceVersion": str(draw.random.randrange(10**8, 10**9)),
            "uid": draw.uid(),
        },
        "spec": spec,
        "status": _status(spec, draw),
    }  # fmt: skip
