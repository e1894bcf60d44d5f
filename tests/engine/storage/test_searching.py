from ullage.engine.storage.components import components_of
from ullage.engine.storage.rooms import Room, rooms_of
from ullage.engine.storage.searching import Search
from ullage.engine.storage.solving import Served, solve
from ullage.model.disk_plan import DiskCapacity, DiskRequest

GIB = 1 << 30
DRIVES = [DiskCapacity(name, "n", "HDD", size * GIB) for name, size in (("a", 50), ("b", 70), ("c", 100))]


def prepared(sizes: list[int]) -> tuple[Search, Served | None]:
    """Return a search, and the best way there is."""
    requests = [DiskRequest(f"v{place}", "HDDLVG", size * GIB) for place, size in enumerate(sizes)]
    (asked,) = components_of(requests)
    (rooms,) = rooms_of([asked], DRIVES, [], ["n"])
    here = [Room._make(row) for row in rooms.by_node["n"]]
    return Search(asked, rooms.kinds, here), solve(rooms, asked, ["n"])["n"]


def search(sizes: list[int], steps: int, enough: int = 0) -> tuple[int, int] | None:
    """Return the drives that the best way opens that was found, and how many volumes it places."""
    started, known = prepared(sizes)
    found = started.best(None, enough, steps)
    assert (found is None) or (known is not None and found.opened >= known.opened)
    return None if found is None else (found.opened, sum(len(takes) for _, takes in found.takes))


def test_the_first_way_takes_as_many_steps_as_there_are_volumes():
    assert search([60, 30, 20], steps=3) == (2, 3)
    assert search([60, 30, 20], steps=2) is None


def test_choices_are_taken_back_till_everything_fits():
    assert search([40, 49, 51, 49], steps=3) is None
    assert search([45, 65, 49, 48], steps=200) == (3, 4)


def test_nothing_is_found_where_nothing_is():
    assert search([90, 90], steps=1000) is None


def test_the_search_ends_when_enough_is_found():
    assert search([60, 30, 20, 10], steps=1000, enough=3) == (2, 4)


def test_a_known_way_is_kept_unless_fewer_drives_are_opened():
    started, known = prepared([60, 30, 20])
    assert known is not None
    assert started.best(known, 0, 1000) is known
