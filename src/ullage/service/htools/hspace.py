"""hspace: how many more instances a cluster takes, of one size and of a size that shrinks as it fills up.

Nothing is added where a host could not take over from every other, unless such groups are left out
(--independent-groups) or what exists is accepted (--accept-existing).
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

from ullage.engine.balance.allocation import allocable, pairs_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, is_redundant
from ullage.engine.balance.quick_ground import ground_of
from ullage.engine.balance.state import FAILURES
from ullage.engine.balance.tiered import Counts, Ground, NewSize, fill, fill_tiered
from ullage.model.ganeti import DRBD, DiskTemplate, Size
from ullage.service.htools.decimals import fixed
from ullage.service.htools.hinfo import refuse_arguments, tell_nodes
from ullage.service.htools.hspace_lines import (
    Reasons,
    Result,
    say_cluster,
    say_size,
    say_standard,
    say_tiered,
    tell_map,
)
from ullage.service.htools.loading import complaint_about_offline, load
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.printed import Page, ToolError
from ullage.service.htools.saving import cluster_now, save
from ullage.service.htools.tables import common_suffix, score_table
from ullage.service.htools.values import Asked

TIERED: Final = "Tiered"
STANDARD: Final = "Standard"


class Plan(NamedTuple):
    """Where instances may go: hosts by number, what must hold then, and whether any are added at all."""

    targets: list[int]
    redundancy: Redundancy | None
    stopped: bool


def run(options: Options) -> Printed:
    """Fill a cluster in both ways and print what fits."""
    refuse_arguments(options)
    cluster, view, warnings = load(options)
    page = Page()
    page.tell_text(warnings)
    wrong = complaint_about_offline(options, cluster)
    if wrong:
        return page.fail(wrong)
    if not cluster.policy.templates:
        return page.fail("null list of disk templates received from cluster")
    fleet = Fleet(cluster, view)
    _tell_loaded(page, options, fleet)
    say_cluster(page, fleet, machine_readable=options.machine_readable)
    plan = _plan(page, options, fleet)
    largest = [_size(options, fleet, high) for _, high in cluster.policy.bounds]
    sizes = (
        largest if options.tiered_allocation is None else [_asked(options, fleet, options.tiered_allocation)]
    )
    if not sizes:
        return page.fail("Empty list of specs received from the cluster")
    try:
        tiered = _filled_tiered(options, fleet, plan, sizes)
        _tell_result(page, options, tiered, sizes[0], TIERED)
        say_tiered(page, fleet, tiered, machine_readable=options.machine_readable)
        asked = options.standard_allocation
        usual = (
            _size(options, fleet, cluster.policy.standard) if asked is None else _asked(options, fleet, asked)
        )
        standard = _filled(options, fleet, plan, usual)
        _tell_result(page, options, standard, usual, STANDARD)
        say_standard(page, fleet, standard, machine_readable=options.machine_readable)
    except ToolError as error:
        return page.fail(str(error))
    if options.machine_readable:
        page.say("HTS_OK=1")
    return page.done()


def _size(options: Options, fleet: Fleet, size: Size) -> NewSize:
    return _asked(options, fleet, Asked(size.memory_bytes, size.disk_bytes, size.cpus, size.spindle_use))


def _asked(options: Options, fleet: Fleet, asked: Asked) -> NewSize:
    policy = fleet.cluster.policy
    template = policy.templates[0] if options.disk_template is None else options.disk_template
    spindle_use = policy.standard.spindle_use if options.spindle_use is None else options.spindle_use
    return NewSize(
        asked.memory_bytes,
        asked.disk_bytes,
        asked.cpus * 1000,
        asked.spindles,
        spindle_use,
        cast("DiskTemplate", template),
    )


def _tell_loaded(page: Page, options: Options, fleet: Fleet) -> None:
    suffix = common_suffix(fleet.cluster)
    if suffix and options.verbose > 1:
        page.tell(f"Note: Stripping common suffix of '{suffix}' from names")
    tell_nodes(page, options, "Initial cluster", fleet)
    if options.verbose > 2:
        page.tell(f"Initial coefficients: overall {fixed(fleet.score(), 8)}", *score_table(fleet))


def _plan(page: Page, options: Options, fleet: Fleet) -> Plan:
    """Return where instances may go: not to groups whose hosts could not take over from each other."""
    groups = fleet.cluster.groups
    bad_hosts = fleet.bad_hosts()
    bad_groups: list[int] = []
    if options.independent_groups or options.verbose > 3:
        bad_groups = [
            number
            for number in range(len(groups))
            if not is_redundant(fleet.of_group(number), accepts_existing=options.accept_existing)
        ]
    if options.verbose > 3:
        if bad_hosts:
            page.tell(f"Bad nodes: {_shown(host.name for host in bad_hosts)}")
        if bad_groups:
            page.tell(f"Bad groups: {_shown(groups[number].name for number in bad_groups)}")
    usable = {number for number, group in enumerate(groups) if group.allocation != "unallocable"}
    if not options.accept_existing:
        usable -= {host.group for host in bad_hosts}
    ignored: frozenset[int] = frozenset()
    if options.independent_groups:
        ignored = frozenset(bad_groups)
        usable -= ignored
    goes_on = options.accept_existing or (options.independent_groups and usable) or not bad_hosts
    targets = allocable(fleet, usable)
    if options.verbose > 3:
        page.tell(f"Allocatable nodes: {_shown_targets(options, fleet, targets)}")
    redundancy = Redundancy(options.accept_existing, ignored) if options.capacity else None
    return Plan(targets, redundancy, stopped=not goes_on)


def _shown(names: Iterable[str]) -> str:
    quoted = ",".join(f'"{name}"' for name in names)
    return f"[{quoted}]"


def _shown_targets(options: Options, fleet: Fleet, targets: list[int]) -> str:
    template = fleet.cluster.policy.templates[0] if options.disk_template is None else options.disk_template
    if template != DRBD:
        return f"Left {targets}".replace(", ", ",")
    return f"Right {pairs_of(fleet, targets)}".replace(", ", ",")


def _ground(fleet: Fleet, plan: Plan, size: NewSize) -> Ground:
    ground = ground_of(fleet, plan.targets, plan.redundancy)
    if size.template == DRBD and not ground.pairs:
        raise ToolError("failure during allocation: Not enough online nodes")
    if not plan.targets:
        raise ToolError("failure during allocation: No online nodes")
    return ground


def _filled_tiered(options: Options, fleet: Fleet, plan: Plan, sizes: Sequence[NewSize]) -> Result:
    """Fill a fleet with sizes that shrink: from each of these in turn, on what the one before has left."""
    if plan.stopped:
        return Result(fleet, [], [("FailN1", 1)])
    total = None if options.max_length == -1 else options.max_length
    ground = _ground(fleet, plan, sizes[0])
    failures: Counts = {}
    for number, size in enumerate(sizes):
        if number and total is not None and len(ground.added) >= total:
            break
        failures = fill_tiered(ground, size, total)
    return Result(ground.fleet, ground.added, _reasons(failures))


def _filled(options: Options, fleet: Fleet, plan: Plan, size: NewSize) -> Result:
    if plan.stopped:
        return Result(fleet, [], [("FailN1", 1)])
    ground = _ground(fleet, plan, size)
    failures = fill(ground, size, None if options.max_length == -1 else options.max_length)
    return Result(ground.fleet, ground.added, _reasons(failures))


def _reasons(failures: Counts) -> Reasons:
    every = [(kind, failures.get(kind, 0)) for kind in FAILURES]
    return sorted(every, key=lambda reason: -reason[1])


def _tell_result(page: Page, options: Options, result: Result, size: NewSize, kind: str) -> None:
    """Print what was looked for; tables and files of where it went where these are asked for."""
    say_size(page, result.fleet, size, tiered=kind == TIERED, machine_readable=options.machine_readable)
    if options.verbose > 1:
        tell_map(page, result, f"{kind} allocation")
    tell_nodes(page, options, f"{kind} allocation", result.fleet)
    if options.save is not None:
        what = f"after {kind.lower()} allocation"
        save(page, options.save, kind.lower(), what, cluster_now(result.fleet))
