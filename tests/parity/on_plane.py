"""Cases on a control plane: their clusters made and taken away, and what controllers would do meanwhile.

No controller runs there: none may change what a case says. The hard thing is that schedulers wait for the one
that binds volumes, so its part is done here.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from parity.cases import TEAMS, Case
from parity.drawing import Object
from parity.requests import runtime_classes
from parity.storage import BIND_COMPLETED, FINALIZER, SELECTED_NODE
from plane.client import ApiError, Client
from plane.settings import API

FLAGS = {API: ["--disable-admission-plugins=StorageObjectInUseProtection,DefaultStorageClass"]}
SELF = "example.com/self"
"""A label of every node that no rule of a case knows: where a volume that was made for a claim is."""
CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
KEPT_FROM_CASES = frozenset(("Namespace", "RuntimeClass"))
"""Kinds that are the same in every case: made once."""


class Clusters:
    """The clusters of cases, one after the other."""

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

    @contextmanager
    def made(self, case: Case) -> Iterator[None]:
        """Make what a case has besides the pods that wait, and take all away at the end."""
        try:
            self._create(case)
            yield
        finally:
            self._wipe(case)

    def _create(self, case: Case) -> None:
        objects = [each for each in case.objects if each["kind"] not in KEPT_FROM_CASES]
        running = [each for each in objects if each["kind"] == "Pod"]
        self._client.each(self._put, [each for each in objects if each["kind"] != "Pod"])
        self._client.each(self._put, running)

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
        """Delete all that a case has made, pods first: a scheduler keeps nodes as long as their pods."""
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


class VolumeController:
    """What the controller of volumes does for claims for which a scheduler has chosen."""

    def __init__(self, client: Client, case: Case) -> None:
        self._client = client
        self._classes = {
            each["metadata"]["name"]: each for each in case.objects if each["kind"] == "StorageClass"
        }

    def open_claims(self, pod: Object) -> list[str]:
        """Return the paths of the claims of a pod that are to be bound before it is."""
        found = []
        base = CLAIMS.format(pod["metadata"]["namespace"])
        for volume in pod["spec"].get("volumes", ()):
            if "persistentVolumeClaim" not in volume:
                continue
            path = f"{base}/{volume['persistentVolumeClaim']['claimName']}"
            with suppress(ApiError):
                if not _is_bound(self._client.get(path)):
                    found.append(path)
        return found

    def bind(self, path: str) -> bool:
        """Complete a claim for which a volume or a node is chosen; say whether it is."""
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


def verdict_on(pod: Object) -> str | None:
    """Return the node of a pod, nothing where it was refused, None while its scheduler has not said."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    for condition in pod["status"].get("conditions", ()):
        gated = condition["reason"] == "SchedulingGated" and not pod["spec"].get("schedulingGates")
        if condition["type"] == "PodScheduled" and condition["status"] == "False" and not gated:
            return ""
    return None


def _is_bound(claim: Object) -> bool:
    annotations = claim["metadata"].get("annotations", {})
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations
