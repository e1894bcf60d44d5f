"""Disks with pseudonyms: volumes, claims, workloads and promises still find each other."""

from builders import claim, cluster, node, pod
from ullage.model.cluster import Volume
from ullage.model.drives import PlacedVolume, ThinPool
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.storage import PersistentVolume, StorageClass
from ullage.sources.redact import redact

N1 = (
    node("rack-7")
    .with_drive("serial-1", "HDD", "1Ti", storage_group="gold", path="/dev/sdx")
    .with_volume_group(
        "data",
        "HDD",
        "10Gi",
        drives=("serial-1",),
        storage_group="gold",
        thin_pools=(ThinPool("slim", 9, 8),),
    )
    .with_(
        placed_volumes=(
            PlacedVolume("pvc-1", "data", 5, claim="ml/tuning"),
            PlacedVolume("csi-2", "serial-1", 7, owner="ml/web-0"),
        )
    )
    .holding(pod("ml/web-0", volumes=(Volume("v", "tuning", storage_group="gold"),)))
)
ENTRIES = (
    LedgerEntry("ml-web-0", "tuning", "group/rack-7/data", "ml/web-0"),
    LedgerEntry("ml-web-0", "tuning", "drive/rack-7/serial-1", "somebody"),
    LedgerEntry("r2", "web-0-v", "node/rack-7", "ml/gone", reason="web-0 is slow", blocked_by="ml-web-0"),
    LedgerEntry("r3", "x", "", ""),
    LedgerEntry("r4", "y", "group/rack-7/data/slim", "somebody"),
)
PARAMETERS = {"storageType": "hddlvg", "secretName": "vault"}


def redacted():
    return redact(
        cluster(
            N1,
            claim("ml/tuning", "1Gi", volume="pvc-1", storage_group="gold"),
            PersistentVolume("pvc-1", claim="ml/tuning"),
            StorageClass("gold", "csi-baremetal", parameters=PARAMETERS),
            *ENTRIES,
        ),
        "seed",
    )


def test_volumes_follow_the_names_of_disks_claims_and_workloads():
    found = redacted()
    (machine,) = found.nodes
    (workload,) = found.workloads
    (record,) = found.claims
    in_group, on_drive = machine.placed_volumes
    assert (in_group.location, on_drive.location) == (machine.volume_groups[0].name, machine.drives[0].uuid)
    assert (in_group.name, in_group.claim, on_drive.owner) == (record.volume, record.key, workload.key)
    assert (in_group.size_bytes, on_drive.size_bytes) == (5, 7)


def test_a_storage_group_has_one_name_everywhere():
    found = redacted()
    (machine,) = found.nodes
    (workload,) = found.workloads
    (record,) = found.claims
    named = {machine.drives[0].storage_group, machine.volume_groups[0].storage_group}
    named |= {record.storage_group, workload.volumes[0].storage_group}
    assert len(named) == 1
    assert named.isdisjoint({"gold", ""})


def test_promises_follow_the_names_of_disks_claims_and_workloads():
    found = redacted()
    (machine,) = found.nodes
    (workload,) = found.workloads
    (record,) = found.claims
    group, drive = machine.volume_groups[0].name, machine.drives[0].uuid
    by_capacity = {each.capacity: each for each in found.reservations}
    assert set(by_capacity) == {
        f"group/{machine.name}/{group}", f"drive/{machine.name}/{drive}", f"node/{machine.name}", "",
        f"group/{machine.name}/{group}/{machine.volume_groups[0].thin_pools[0].name}",
    }  # fmt: skip
    first = by_capacity[f"group/{machine.name}/{group}"]
    assert (first.owner, first.request) == (workload.key, record.name)
    third = by_capacity[f"node/{machine.name}"]
    assert (third.blocked_by, third.reason) == (first.reservation, "redacted")
    assert by_capacity[""].owner == ""


def test_of_parameters_only_the_kind_of_disk_stays():
    (known,) = redacted().storage_classes
    assert (known.provisioner, known.parameters["storageType"]) == ("csi-baremetal", "hddlvg")
    assert len(known.parameters) == 2
    assert "vault" not in known.parameters.values()
    assert "secretName" not in known.parameters


def test_no_name_of_theirs_is_left():
    text = str(redacted())
    left = (
        "rack-7",
        "serial-1",
        "pvc-1",
        "csi-2",
        "web-0",
        "tuning",
        "gold",
        "slim",
        "somebody",
        "gone",
        "slow",
        "/dev",
    )
    assert [name for name in left if name in text] == []
