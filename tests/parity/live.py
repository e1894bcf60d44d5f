"""Cases through a running kube-scheduler: our placements must be accepted, our refusals shared.

Each pod that we place is held by a gate until the node that we chose is nominated; kube-scheduler looks at
the nominated node first and takes it if its filters do. A pod that we refuse is let loose at once and must
stay without a node. The hard things: only the scheduler runs here, so this module does what the volume
controller would do while kube-scheduler waits for it; and what the API server has said reaches the scheduler
a moment later, so a difference counts only if it comes again when there was more time.
"""

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from parity.cases import TEAMS, Case
from parity.compare import Difference, Placing, Step, Verdicts
from parity.drawing import Object
from parity.requests import runtime_classes
from parity.storage import BIND_COMPLETED, FINALIZER, SELECTED_NODE
from plane.client import ApiError, Client
from plane.plane import Plane
from plane.settings import API, SCHEDULER

HOLD = "example.com/held"
SELF = "example.com/self"
"""A label of every node that no rule of a case knows: where a volume that was made for a claim is."""
SETTLE_SECONDS = (0.03, 0.3, 1.5)
"""How long the scheduler is given to see the cluster, try after try."""
ANSWER_SECONDS_MAX = 30.0
POLL_SECONDS = 0.003
CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
KEPT_FROM_CASES = frozenset(("Namespace", "RuntimeClass"))
"""Kinds that are the same in every case: made once."""


class LiveError(Exception):
    """The plane did not do what it must for a case to be judged."""


@contextmanager
def live_scheduler(program: Path) -> Iterator["LiveScheduler"]:
    """Run etcd, the API server and kube-scheduler alone: no controller changes what a case says."""
    flags = {API: ["--disable-admission-plugins=StorageObjectInUseProtection,DefaultStorageClass"]}
    with Plane(program, {SCHEDULER}, flags=flags) as plane:
        yield LiveScheduler(plane.client())


class LiveScheduler:
    """A kube-scheduler that is asked about case after case."""

    def __init__(self, client: Client) -> None:
        self._client = client
        for name, labels in TEAMS.items():
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            if name == "default":
                client.patch(f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels}})
            else:
                client.create(body)
        for each in runtime_classes():
            client.create(each)

    def judge(self, case: Case) -> Verdicts:
        """Judge a case; whatever differs is judged again with more time before it counts."""
        steps = Placing(case).steps
        found: list[Difference] = []
        for settle_seconds in SETTLE_SECONDS:
            try:
                self._create(case, settle_seconds)
                found = _Walk(self._client, case).differences(steps)
            finally:
                self._wipe(case)
            if not found:
                break
        return Verdicts(found, [], sum(bool(step.chosen) for step in steps))

    def _create(self, case: Case, settle_seconds: float) -> None:
        objects = [each for each in case.objects if each["kind"] not in KEPT_FROM_CASES]
        running = [each for each in objects if each["kind"] == "Pod"]
        self._client.each(self._put, [each for each in objects if each["kind"] != "Pod"])
        self._client.each(self._put, running)
        time.sleep(settle_seconds)

    def _put(self, item: Object) -> None:
        """Create an object and bring it into the state that a create cannot give it."""
        item = copy.deepcopy(item)
        status = item.pop("status", None)
        metadata = item["metadata"]
        deleted = metadata.pop("deletionTimestamp", None)
        if deleted is not None:
            metadata["finalizers"] = [FINALIZER]
        if item["kind"] == "Node":
            metadata["labels"][SELF] = metadata["name"]
            item["status"] = status
            status = None
        self._client.create(item)
        path = self._client.path(item)
        if status:
            self._client.patch(f"{path}/status", {"status": status})
        if deleted is not None:
            self._client.delete(path)

    def _wipe(self, case: Case) -> None:
        """Delete all that a case has made, pods first: the scheduler keeps nodes as long as their pods."""
        client = self._client
        made = [each for each in (*case.objects, *case.pods) if each["kind"] not in KEPT_FROM_CASES]
        kept = [client.path(each) for each in made if "deletionTimestamp" in each["metadata"]]
        client.each(self._let_go, kept)
        of_pods = {client.collection(each) for each in made if each["kind"] == "Pod"}
        others = {client.collection(each) for each in made if each["kind"] != "Pod"} | {VOLUMES}
        client.each(client.delete, sorted(of_pods))
        client.each(client.delete, sorted(others))

    def _let_go(self, path: str) -> None:
        with suppress(ApiError):  # not there where creating the case has failed
            self._client.patch(path, {"metadata": {"finalizers": None}})


class _Walk:
    """The pods of one case, one after the other."""

    def __init__(self, client: Client, case: Case) -> None:
        self._client = client
        self._case = case
        self._classes = {
            each["metadata"]["name"]: each for each in case.objects if each["kind"] == "StorageClass"
        }
        self._to_be_bound: list[str] = []

    def differences(self, steps: list[Step]) -> list[Difference]:
        found = []
        for pod, step in zip(self._case.pods, steps, strict=True):
            landed = self._placed(pod, step.chosen) if step.chosen else self._refused(pod)
            if landed != step.chosen:
                ours = (
                    f"chose {step.chosen}" if step.chosen else "; ".join(sorted(set(step.reasons.values())))
                )
                found.append(Difference(step.pod, landed or "-", ours, "took it" if landed else "refused it"))
                break
        self._await_bindings()
        return found

    def _refused(self, pod: Object) -> str:
        """Let a pod loose and take it away again; return the node it got, if any."""
        self._client.create(pod)
        path = self._client.path(pod)
        landed = self._wait(path, _verdict)
        if not landed:
            self._client.delete(path)
        return landed

    def _placed(self, pod: Object, node: str) -> str:
        """Nominate a node for a pod and let it loose; return the node it got, if any."""
        gated = {**pod, "spec": {**pod["spec"], "schedulingGates": [{"name": HOLD}]}}
        self._client.create(gated)
        path = self._client.path(pod)
        self._client.patch(f"{path}/status", {"status": {"nominatedNodeName": node}})
        claims = self._open_claims(pod)
        self._client.patch(path, {"spec": {"schedulingGates": None}})
        if not claims:
            return self._wait(path, _verdict)
        self._to_be_bound.append(path)
        return self._wait(path, lambda found: self._verdict_by_claims(found, claims))

    def _open_claims(self, pod: Object) -> dict[str, Object]:
        """Return the claims of a pod that kube-scheduler will have bound before the pod, by path."""
        found = {}
        base = CLAIMS.format(pod["metadata"]["namespace"])
        for volume in pod["spec"].get("volumes", ()):
            if "persistentVolumeClaim" not in volume:
                continue
            path = f"{base}/{volume['persistentVolumeClaim']['claimName']}"
            with suppress(ApiError):
                claim = self._client.get(path)
                if not _is_bound(claim):
                    found[path] = claim
        return found

    def _verdict_by_claims(self, pod: Object, claims: Mapping[str, Object]) -> str | None:
        """Do for claims what the volume controller does; the node of the first claim is that of the pod."""
        verdict = _verdict(pod)
        if verdict is not None:
            return verdict
        nodes = [self._bind_claim(path) for path in claims]
        return pod["status"].get("nominatedNodeName") if all(nodes) else None

    def _bind_claim(self, path: str) -> bool:
        """Complete a claim for which kube-scheduler has chosen a volume or a node; say whether it has."""
        claim = self._client.get(path)
        if _is_bound(claim):
            return True
        volume = self._chosen_volume(claim)
        if volume is None:
            node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
            if node is None:
                return False
            volume = self._client.create(self._made_for(claim, node))
        name = volume["metadata"]["name"]
        self._client.patch(f"{VOLUMES}/{name}/status", {"status": {"phase": "Bound"}})
        change = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": name}}
        self._client.patch(path, change)
        self._client.patch(f"{path}/status", {"status": {"phase": "Bound"}})
        return True

    def _chosen_volume(self, claim: Object) -> Object | None:
        for volume in self._client.items(VOLUMES):
            reference = volume["spec"].get("claimRef") or {}
            if reference.get("uid") == claim["metadata"]["uid"]:
                return volume
        return None

    def _made_for(self, claim: Object, node: str) -> Object:
        metadata, spec = claim["metadata"], claim["spec"]
        term = {"matchExpressions": [{"key": SELF, "operator": "In", "values": [node]}]}
        name = f"made-{metadata['uid']}"
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": spec["accessModes"],
                "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                "storageClassName": spec["storageClassName"],
                "persistentVolumeReclaimPolicy": "Retain",
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                "csi": {
                    "driver": self._classes[spec["storageClassName"]]["provisioner"],
                    "volumeHandle": name,
                },
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": metadata["namespace"],
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                },
            },
        }

    def _await_bindings(self) -> None:
        """Wait for pods whose claims kube-scheduler still looks at: it must not do so in the next case."""
        for path in self._to_be_bound:
            self._wait(path, _verdict)

    def _wait(self, path: str, decided: Callable[[Any], str | None]) -> str:
        began = time.monotonic()
        while (verdict := decided(self._client.get(path))) is None:
            if time.monotonic() - began > ANSWER_SECONDS_MAX:
                raise LiveError(f"kube-scheduler says nothing of {path} after {ANSWER_SECONDS_MAX:g} s")
            time.sleep(POLL_SECONDS)
        return verdict


def _verdict(pod: Object) -> str | None:
    """Return the node of a pod, nothing where it was refused, None while kube-scheduler has not said."""
    if pod["spec"].get("nodeName"):
        return pod["spec"]["nodeName"]
    for condition in pod["status"].get("conditions", ()):
        gated = condition["reason"] == "SchedulingGated" and not pod["spec"].get("schedulingGates")
        if condition["type"] == "PodScheduled" and condition["status"] == "False" and not gated:
            return ""
    return None


def _is_bound(claim: Object) -> bool:
    annotations = claim["metadata"].get("annotations", {})
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations
