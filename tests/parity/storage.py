"""The storage of a random case: claims, volumes, classes, drivers, capacities and attach limits.

A pod that mounts something draws a claim of its own or shares one of its namespace. The hard thing is that a
bound claim is bound on both sides, as the volume controller leaves it: the claim names its volume and says
that this is completed, the volume names its claim.
"""

from parity.drawing import HOSTNAME, OLD_ZONE, ZONE, Drawing, Object

DISK = "disk.example.com"
NET = "net.example.com"
STORAGE = "storage.k8s.io/v1"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
WAIT, WAIT_NET, STATIC, NOW = "wait", "wait-net", "static", "now"
SIZES = ("1Gi", "2Gi", "3Gi")
STATIC_SIZES = ("1Gi", "1536Mi", "2Gi", "2560Mi", "3Gi")
"""Of volumes that claims choose from: kube-scheduler takes the smallest, and any of equal ones."""
KINDS = (
    "bound volumes", "waiting claims", "static volumes", "immediate claims", "missing claims",
    "single-pod claims", "inline volumes", "odd claims",
)  # fmt: skip
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_ODD = ("deleting", "lost", "not completed", "phase not said", "volume gone", "kept for it")
ODD = (*BOUND_ODD, "deleting unbound", "class gone", "no class", "node selected")
FINALIZER = "example.com/kept"
GONE = "2026-01-01T00:00:00Z"


class Storage:
    """The storage objects of one case, made as pods come to need them."""

    def __init__(self, draw: Drawing, nodes: list[str]) -> None:
        self._draw = draw
        self._nodes = nodes
        self._claims: list[Object] = []
        self._volumes: list[Object] = []
        self._others: list[Object] = []
        self._by_kind: dict[tuple[str, str], list[str]] = {}
        self._waiting = [kind for kind in KINDS if kind in draw.on]
        if self._waiting:
            self._others = [*self._classes(), *self._drivers(), *self._capacities(), *self._limits()]
        if "static volumes" in draw.on:
            self._volumes += [self._static(size) for size in draw.some(STATIC_SIZES, 1, 5)]

    def objects(self) -> list[Object]:
        return [*self._others, *self._volumes, *self._claims]

    def mount(self, pod: Object) -> None:
        """Give a pod volumes; a running one has none that could not have been bound for it."""
        is_running = "nodeName" in pod["spec"]
        mounted = []
        for kind in self._waiting:
            if is_running and kind in {"missing claims", "immediate claims", "static volumes", "odd claims"}:
                continue
            if not self._draw.wants(kind, 0.45):
                continue
            if kind == "inline volumes":
                mounted.append({"csi": {"driver": self._draw.one((DISK, NET))}})
                continue
            for _ in range(2 if self._draw.chance(0.2) else 1):
                name = self._claim_for(kind, pod["metadata"]["namespace"])
                if all(each.get("persistentVolumeClaim", {}).get("claimName") != name for each in mounted):
                    mounted.append({"persistentVolumeClaim": {"claimName": name}})
        if mounted:
            pod["spec"]["volumes"] = [{"name": f"v{place}", **each} for place, each in enumerate(mounted)]

    def _claim_for(self, kind: str, namespace: str) -> str:
        if kind == "missing claims":
            return "missing"
        known = self._by_kind.setdefault((kind, namespace), [])
        if known and self._draw.chance(0.5 if kind == "single-pod claims" else 0.25):
            return self._draw.one(known)
        name = f"claim-{len(self._claims)}"
        known.append(name)
        claim = self._claim(name, namespace, kind)
        self._claims.append(claim)
        if kind in {"bound volumes", "single-pod claims"}:
            self._bind(claim)
        if kind == "odd claims":
            self._make_odd(claim, self._draw.one(ODD))
        return name

    def _claim(self, name: str, namespace: str, kind: str) -> Object:
        draw = self._draw
        names = {
            "waiting claims": (WAIT, WAIT_NET),
            "static volumes": (STATIC,),
            "immediate claims": (NOW,),
        }
        spec = {
            "accessModes": ["ReadWriteOncePod" if kind == "single-pod claims" else "ReadWriteOnce"],
            "resources": {"requests": {"storage": draw.one(SIZES)}},
            "storageClassName": draw.one(names.get(kind, (WAIT, WAIT_NET, NOW))),
        }
        if kind == "static volumes" and draw.chance(0.3):
            spec["selector"] = {"matchLabels": {"grade": draw.one(("gold", "iron"))}}
        if kind == "static volumes" and draw.chance(0.2):
            spec["volumeMode"] = "Block"
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }

    def _make_odd(self, claim: Object, how: str) -> None:
        """Leave a claim in a state that controllers pass through, or that is somebody's mistake."""
        metadata, spec = claim["metadata"], claim["spec"]
        spec["storageClassName"] = self._draw.one((WAIT, WAIT_NET))
        if how in BOUND_ODD:
            self._bind(claim)
        match how:
            case "deleting" | "deleting unbound":
                metadata |= {"deletionTimestamp": GONE, "finalizers": [FINALIZER]}
            case "lost":
                claim["status"] = {"phase": "Lost"}
            case "not completed":
                del metadata["annotations"], claim["status"]
            case "phase not said":
                del claim["status"]
            case "volume gone":
                self._volumes.pop()
            case "class gone":
                spec["storageClassName"] = "gone"
            case "no class":
                spec["storageClassName"] = ""
            case "node selected":
                metadata["annotations"] = {SELECTED_NODE: self._draw.one([*self._nodes, "gone"])}
            case "kept for it":
                self._volumes[-1]["status"] = {"phase": "Available"}
                del metadata["annotations"], spec["volumeName"], claim["status"]

    def _bind(self, claim: Object) -> None:
        draw = self._draw
        metadata, spec = claim["metadata"], claim["spec"]
        name = f"volume-of-{metadata['name']}"
        metadata["annotations"] = {BIND_COMPLETED: "yes"}
        spec["volumeName"] = name
        claim["status"] = {"phase": "Bound"}
        volume = self._volume(name, spec["storageClassName"], spec["resources"]["requests"]["storage"])
        volume["spec"]["accessModes"] = list(spec["accessModes"])
        volume["spec"]["claimRef"] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
        }
        volume["status"] = {"phase": "Bound"}
        volume["spec"]["csi"] = {"driver": draw.one((DISK, NET)), "volumeHandle": name}
        if draw.chance(0.5):
            volume["spec"]["nodeAffinity"] = self._reach()
        if draw.wants("zones of volumes", 0.5):
            label = ZONE if draw.chance(0.7) else OLD_ZONE
            volume["metadata"]["labels"] = {label: draw.one(("a", "b", "a__b", "c"))}
        self._volumes.append(volume)

    def _reach(self) -> Object:
        """Draw from where a volume is reached: by nodes, by zones, or by anything else that nodes say."""
        draw = self._draw
        key, values = draw.one(((HOSTNAME, self._nodes), (ZONE, ["a", "b", "c"])))
        if draw.chance(0.7):
            return _affinity(key, draw.some(values, 1, 3))
        conditions = [[draw.requirement(key, values)], [draw.requirement("disk", ["ssd", "hdd"])]]
        terms = [{"matchExpressions": each} for each in conditions[: draw.number(1, 2)]]
        return {"required": {"nodeSelectorTerms": terms}}

    def _static(self, size: str) -> Object:
        draw = self._draw
        volume = self._volume(f"volume-{size.lower()}", STATIC, size)
        volume["spec"]["accessModes"] = draw.some(("ReadWriteOnce", "ReadOnlyMany"), 1, 2)
        volume["spec"]["local"] = {"path": "/disks/one"}
        volume["spec"]["nodeAffinity"] = _affinity(HOSTNAME, draw.some(self._nodes, 1, 2))
        if draw.chance(0.4):
            volume["metadata"]["labels"] = {"grade": draw.one(("gold", "iron"))}
        if draw.chance(0.2):
            volume["spec"]["volumeMode"] = "Block"
        volume["status"] = {"phase": "Available"}
        return volume

    def _volume(self, name: str, class_name: str, size: str) -> Object:
        spec = {
            "capacity": {"storage": size},
            "storageClassName": class_name,
            "persistentVolumeReclaimPolicy": "Retain",
        }
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}

    def _classes(self) -> list[Object]:
        found = [
            _storage_class(WAIT, DISK),
            _storage_class(WAIT_NET, NET),
            _storage_class(STATIC, "kubernetes.io/no-provisioner"),
            _storage_class(NOW, NET, "Immediate"),
        ]
        if self._draw.wants("allowed topologies", 0.9):
            terms = [self._topology() for _ in range(self._draw.number(1, 2))]
            found[1]["allowedTopologies"] = terms if terms[0] != terms[-1] else terms[:1]
        return found

    def _topology(self) -> Object:
        draw = self._draw
        expressions = [{"key": ZONE, "values": draw.some(("a", "b", "c"), 1, 2)}]
        if draw.chance(0.3):
            expressions.append({"key": "disk", "values": ["ssd"]})
        return {"matchLabelExpressions": expressions}

    def _drivers(self) -> list[Object]:
        tracked = "storage capacity" in self._draw.on
        return [
            {
                "apiVersion": STORAGE,
                "kind": "CSIDriver",
                "metadata": {"name": name},
                "spec": {"storageCapacity": tracked and name == DISK},
            }
            for name in (DISK, NET)
            if name == DISK or self._draw.chance(0.5)
        ]

    def _capacities(self) -> list[Object]:
        draw = self._draw
        topologies = [
            *({HOSTNAME: name} for name in self._nodes),
            *({ZONE: zone} for zone in ("a", "b", "c")),
        ]
        found = []
        for number, labels in enumerate(topologies):
            if not draw.wants("storage capacity", 0.5):
                continue
            capacity = {
                "apiVersion": STORAGE,
                "kind": "CSIStorageCapacity",
                "metadata": {"name": f"left-{number}", "namespace": "default"},
                "storageClassName": WAIT if draw.chance(0.9) else WAIT_NET,
                "nodeTopology": {"matchLabels": labels},
                "capacity": draw.one(SIZES),
            }
            if draw.chance(0.05):
                capacity["nodeTopology"] = {}
            elif draw.chance(0.05):
                del capacity["nodeTopology"]
            elif draw.chance(0.1):
                capacity["nodeTopology"] = {"matchExpressions": [draw.requirement(ZONE, ["a", "b"])]}
            if draw.chance(0.3):
                capacity["maximumVolumeSize"] = draw.one(SIZES)
            found.append(capacity)
        return found

    def _limits(self) -> list[Object]:
        """Say for most nodes how many volumes of each driver they attach; some say nothing of one."""
        draw = self._draw
        found = []
        for name in self._nodes:
            if not draw.wants("attach limits", 0.9):
                continue
            drivers = []
            for driver in (DISK, NET):
                if draw.chance(0.8):
                    counted = {"allocatable": {"count": draw.number(0, 3)}} if draw.chance(0.9) else {}
                    drivers.append({"name": driver, "nodeID": name, "topologyKeys": [HOSTNAME], **counted})
            found.append(
                {
                    "apiVersion": STORAGE,
                    "kind": "CSINode",
                    "metadata": {"name": name},
                    "spec": {"drivers": drivers},
                }
            )
        return found


def _storage_class(name: str, provisioner: str, mode: str = "WaitForFirstConsumer") -> Object:
    return {
        "apiVersion": STORAGE,
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def _affinity(key: str, values: list[str]) -> Object:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
    return {"required": {"nodeSelectorTerms": [term]}}
