from ullage.engine.storage.components import ANY_CLASS, components_of, in_order
from ullage.model.disk_plan import DiskRequest

GIB = 1 << 30


def names(requests: list[DiskRequest]) -> list[list[str]]:
    return [[request.name for request in part.requests] for part in components_of(requests)]


def test_requests_stand_shares_first_then_by_size_then_by_name():
    requests = [
        DiskRequest("pvc1", "HDD", 10 * GIB),
        DiskRequest("pvc2", "HDDLVG", 20 * GIB),
        DiskRequest("pvc3", "HDDLVG", 10 * GIB),
        DiskRequest("pvc4", "HDD", 100 * GIB),
        DiskRequest("pvc0", "HDDLVG", 20 * GIB),
    ]
    assert [request.name for request in in_order(requests)] == ["pvc3", "pvc0", "pvc2", "pvc1", "pvc4"]


def test_classes_of_drives_are_planned_apart_with_their_groups():
    requests = [DiskRequest("a", "HDD", 1), DiskRequest("b", "SSDLVG", 1), DiskRequest("c", "HDDLVG", 1)]
    assert names(requests) == [["b"], ["c", "a"]]


def test_any_drive_joins_all_classes_of_its_storage_group_but_not_the_system_group():
    requests = [
        DiskRequest("any", "ANY", 1),
        DiskRequest("hdd", "HDD", 1),
        DiskRequest("ssd", "SSDLVG", 1),
        DiskRequest("system", "SYSLVG", 1),
        DiskRequest("other", "HDD", 1, "g"),
    ]
    assert names(requests) == [["ssd", "any", "hdd"], ["system"], ["other"]]
    first = components_of(requests)[0]
    assert [sort.drive_class for sort in first.wholes] == [ANY_CLASS, 0]


def test_shares_of_one_size_are_one_sort_and_whole_drives_of_one_class():
    requests = [
        DiskRequest("a", "HDDLVG", 5),
        DiskRequest("b", "HDDLVG", 5),
        DiskRequest("c", "HDDLVG", 6),
        DiskRequest("d", "HDD", 5),
        DiskRequest("e", "HDD", 6),
    ]
    (part,) = components_of(requests)
    assert (part.share_counts, part.whole_counts) == ((2, 1), (2,))
