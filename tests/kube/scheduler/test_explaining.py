"""Who has no place is told why at once, and what would help as soon as that is looked for, each once."""

import asyncio

from builders import cluster, node, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.scheduling import schedule
from ullage.kube.scheduler.explaining import KINDS_MAX, Explaining

PODS = [waiting(f"web/p{index:02}", cpu=10 + index) for index in range(KINDS_MAX + 5)]
COLUMNS = Columns(cluster(node("n0", cpu=1), *PODS))
UNPLACED = schedule(COLUMNS, PODS, names_remedies=False).unplaced
ASKED = {each.key: each for each in PODS}


def told_in(cycles: int, *, is_said: bool = True) -> list[list[tuple[str, bool]]]:
    """Return who is told something in each cycle, and whether it is what would help."""
    said: list[tuple[str, bool]] = []

    def say(key: str, message: str) -> bool:
        said.append((key, "smallest change" in message))
        return is_said

    explaining, found = Explaining(say), []
    for _ in range(cycles):
        asyncio.run(explaining.tell(COLUMNS, UNPLACED, ASKED))
        found.append(sorted(said))
        said.clear()
    return found


def test_whoever_has_no_turn_in_a_cycle_is_told_what_would_help_in_the_next():
    first, second, third = told_in(3)
    assert [key for key, _ in first] == sorted(ASKED)
    assert sum(helps for _, helps in first) == KINDS_MAX
    assert second == [(key, True) for key, helps in first if not helps]
    assert third == []


def test_what_could_not_be_said_is_said_again():
    first, second = told_in(2, is_said=False)
    assert first == second


def test_who_is_forgotten_is_told_again():
    said: list[str] = []
    explaining = Explaining(lambda key, _: not said.append(key))
    one = UNPLACED[:1]
    asyncio.run(explaining.tell(COLUMNS, one, ASKED))
    explaining.keep(lambda _: True)
    asyncio.run(explaining.tell(COLUMNS, one, ASKED))
    assert len(said) == 1
    explaining.keep(lambda _: False)
    asyncio.run(explaining.tell(COLUMNS, one, ASKED))
    assert len(said) == 2


def test_one_of_a_gang_is_told_by_itself_what_would_help_all_of_it():
    gang = [waiting(f"web/g{index}", cpu=2 + index, gang="g", gang_min=3) for index in range(3)]
    columns = Columns(cluster(node("n0", cpu=1), *gang))
    unplaced = schedule(columns, gang, names_remedies=False).unplaced
    said: dict[str, str] = {}
    explaining = Explaining(lambda key, message: not said.update({key: message}))
    asyncio.run(explaining.tell(columns, unplaced[:1], {each.key: each for each in gang}))
    ((key, message),) = said.items()
    assert key == unplaced[0].workload
    assert "needs 3 and has" not in message
    assert "all 3 of its gang then fit" in message
