"""The four documents of a small cluster, as Ganeti's remote interface gives them."""

import json
from pathlib import Path

SIZE = {
    "memory-size": 128,
    "cpu-count": 1,
    "disk-size": 1024,
    "disk-count": 1,
    "nic-count": 1,
    "spindle-use": 1,
}
POLICY = {
    "std": SIZE,
    "minmax": [{"min": SIZE, "max": SIZE | {"memory-size": 32768, "cpu-count": 8, "disk-count": 16}}],
    "disk-templates": ["drbd", "plain", "rbd"],
    "vcpu-ratio": 4.0,
    "spindle-ratio": 32.0,
}


def node(name, **changed):
    return {
        "name": name,
        "group.uuid": "uuid-1",
        "offline": False,
        "drained": False,
        "vm_capable": True,
        "ndparams": {"exclusive_storage": False, "spindle_count": 3},
        "mtotal": 32768,
        "mnode": 900,
        "mfree": 30000,
        "dtotal": 1000000,
        "dfree": 900000,
        "ctotal": 8,
        "cnos": 2,
        "sptotal": 0,
        "spfree": 0,
        "tags": [],
    } | changed


def instance(name, **changed):
    return {
        "name": name,
        "pnode": "node1",
        "snodes": ["node2"],
        "status": "running",
        "admin_state": "up",
        "disk_template": "drbd",
        "disk_usage": 1152,
        "disk.sizes": [1024],
        "disk.spindles": [None],
        "oper_ram": 512,
        "tags": ["web:1"],
        "beparams": {"maxmem": 1024, "minmem": 512, "vcpus": 2, "auto_balance": True, "spindle_use": 1},
    } | changed


def documents(hypervisor="kvm"):
    """Return a cluster of four nodes: one offline, one that may not hold instances, one drained."""
    return {
        "groups": [
            {"name": "default", "uuid": "uuid-1", "alloc_policy": "preferred", "tags": [], "ipolicy": POLICY}
        ],
        "nodes": [
            node("node1"),
            node("node2", tags=["rack:2"]),
            node("node3", offline=True, mtotal=None, mnode=None, mfree=None, ctotal=None, cnos=None),
            node("node4", vm_capable=False),
            node("node5", drained=True),
            node("node6", ndparams={"exclusive_storage": True, "spindle_count": 1}, sptotal=9, spfree=7),
        ],
        "instances": [
            instance("web1"),
            instance("web2", oper_ram=None, status="ADMIN_down", disk_template="plain", snodes=[]),
            instance("web3", **{"disk.sizes": [10, 20], "disk.spindles": [1, 2], "oper_ram": "-"}),
        ],
        "info": {
            "master": "node2",
            "default_hypervisor": hypervisor,
            "tags": ["htools:iextags:web"],
            "ipolicy": POLICY,
        },
    }


def save(folder: Path, found):
    """Write the documents into a folder, each under its name."""
    for name, document in found.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
