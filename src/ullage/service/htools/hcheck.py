"""hcheck: what is wrong, per group and for the cluster, now and after a simulated balancing."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.search import balance
from ullage.service.htools.decimals import fixed
from ullage.service.htools.hbal import balancing_of
from ullage.service.htools.hinfo import groups_of, refuse_arguments
from ullage.service.htools.loading import complaint_about_offline, load
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.printed import FAILED, Page, keys

_PREFIX: Final = "HCHECK"
_COUNTS: Final = (
    ("N1_FAIL", "Nodes not N+1 happy"),
    ("CONFLICT_TAGS", "Nodes with conflicting instances"),
    ("OFFLINE_PRI", "Instances having the primary node offline"),
    ("OFFLINE_SEC", "Instances having a secondary node offline"),
    ("GN1_FAIL", "Nodes not directly evacuateable"),
)
"""What is counted, for scripts and for people; the last one only with capacity checks."""
_SCORE: Final = ("SCORE", "Group score")
_NEED: Final = ("NEED_REBALANCE", "Cluster is not healthy")


class Checked(NamedTuple):
    """What was found in a group, by number: the counts, and its score."""

    group: int
    counts: list[int]
    score: float


class _Phase(NamedTuple):
    """Before or after balancing, for scripts and for people."""

    key: str
    words: str


_BEFORE: Final = _Phase("INIT", "initially")
_AFTER: Final = _Phase("FINAL", "after rebalancing")


def run(options: Options) -> Printed:
    """Print the health of a cluster; exit code 1 where something is wrong, unless nothing is simulated."""
    refuse_arguments(options)
    cluster, view, warnings = load(options)
    page = Page()
    page.tell_text(warnings)
    wrong = complaint_about_offline(options, cluster)
    if wrong:
        return page.fail(wrong)
    fleet = Fleet(cluster, view)
    if options.policy_file and options.verbose:
        from ullage.service.htools.swap import swap_warnings

        page.tell(*swap_warnings(fleet, options.policy_file))
    groups = groups_of(fleet)
    for_scripts = options.machine_readable
    if for_scripts:
        page.say(
            *keys(_PREFIX, [(f"GROUP_UUID_{at}", group.uuid) for at, group in enumerate(cluster.groups)])
        )
    found = [check(options, number, fleet) for number, fleet in groups]
    unhealthy = any(sum(each.counts) for each in found)
    if options.verbose >= 1 and not for_scripts:
        page.say(_opening(options, unhealthy=unhealthy))
    names = [group.name for group in cluster.groups]
    _say(page, options, _BEFORE, found, names)
    simulates = unhealthy and not options.no_simulation
    if simulates:
        for _, fleet in groups:
            for _step in balance(fleet, balancing_of(options)):
                pass
        found = [check(options, number, fleet) for number, fleet in groups]
    if simulates or for_scripts:
        _say(page, options, _AFTER, found, names)
    if for_scripts:
        page.say(*keys(_PREFIX, [("OK", "1")]))
    return page.done(FAILED if simulates else 0)


def check(options: Options, group: int, fleet: Fleet) -> Checked:
    """Return what is wrong with the hosts that count."""
    states = [fleet.states[number] for number in fleet.scope]
    offline = [fleet.states[number] for number in fleet.scope if fleet.hosts[number].offline]
    counts = [
        len(fleet.bad_hosts()),
        sum(sum(state.tags.values()) > len(state.tags) for state in states),
        sum(len(state.primaries) for state in offline),
        sum(len(state.standbys) for state in offline),
    ]
    if options.capacity:
        counts.append(len(fleet.scope) - len(evacuable(fleet)))
    return Checked(group, counts, fleet.score())


def _opening(options: Options, *, unhealthy: bool) -> str:
    if options.no_simulation:
        return "Running in no-simulation mode."
    return "Cluster needs rebalancing." if unhealthy else "No need to rebalance cluster, no problems found."


def _say(page: Page, options: Options, phase: _Phase, found: Sequence[Checked], names: Sequence[str]) -> None:
    """Print each group, then the cluster."""
    counted = _COUNTS if options.capacity else _COUNTS[:-1]
    for each in found:
        values = [*map(str, each.counts), fixed(each.score, 8)]
        key, heading = f"GROUP_{each.group}", f"Statistics for group {names[each.group]}"
        _say_level(page, options, phase, (key, heading), list(zip((*counted, _SCORE), values, strict=True)))
    totals = [sum(column) for column in zip(*(each.counts for each in found), strict=True)]
    need = sum(totals) > 0
    shown = str(int(need)) if options.machine_readable else str(need)
    values = [*map(str, totals or [0] * len(counted)), shown]
    _say_level(
        page,
        options,
        phase,
        ("CLUSTER", "Cluster statistics"),
        list(zip((*counted, _NEED), values, strict=True)),
    )


def _say_level(
    page: Page,
    options: Options,
    phase: _Phase,
    level: tuple[str, str],
    values: Sequence[tuple[tuple[str, str], str]],
) -> None:
    key, heading = level
    if options.machine_readable:
        page.say(*keys(_PREFIX, [(f"{phase.key}_{key}_{name}", value) for (name, _), value in values]))
    elif options.verbose >= 1:
        page.say("", f"{heading} {phase.words}", *(f"    {about}: {value}" for (_, about), value in values))
