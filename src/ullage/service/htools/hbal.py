"""hbal: the moves that balance one group, with the commands that make them."""

from collections.abc import Iterable, Sequence
from math import inf, nan

from ullage.engine.balance.candidates import Balancing, Step
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import COMMANDS, Place
from ullage.engine.balance.score import optimum_of
from ullage.engine.balance.search import balance
from ullage.model.ganeti import MIB
from ullage.service.htools.commands import command_lines, show_commands
from ullage.service.htools.decimals import fixed, general
from ullage.service.htools.hinfo import (
    groups_of,
    refuse_arguments,
    split_machines,
    tell_instances,
    tell_nodes,
)
from ullage.service.htools.loading import complaint_about_offline, load
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.policy_line import policy_line
from ullage.service.htools.printed import Page
from ullage.service.htools.saving import cluster_now, save
from ullage.service.htools.tables import common_suffix, has_ratio, score_table


def run(options: Options) -> Printed:
    """Balance the group that is asked for, or the only one."""
    refuse_arguments(options)
    cluster, view, warnings = load(options)
    page = Page()
    page.tell_text(warnings)
    fleet = Fleet(cluster, view)
    if options.verbose > 1:
        page.say(
            f"Loaded cluster tags: {','.join(cluster.tags)}",
            f"Loaded cluster ipolicy: {policy_line(cluster.policy, with_ratio=has_ratio(fleet))}",
        )
    wrong = complaint_about_offline(options, cluster)
    if wrong:
        return page.fail(wrong)
    if not fleet.machines:
        page.say("Cluster is empty, exiting.")
        return page.done()
    _say_loaded(page, options, fleet)
    save(page, options.save, "original", "before balancing", cluster)
    group = _chosen(page, options, fleet)
    if group is None:
        return page.fail("Aborting.")
    return _balanced(page, options, fleet.of_group(group), group)


def _say_loaded(page: Page, options: Options, fleet: Fleet) -> None:
    split = split_machines(fleet)
    if split and options.verbose > 1:
        page.tell(
            "Found instances belonging to multiple node groups:",
            *(f"  {name}" for name in split),
            "These instances will not be moved.",
        )
    page.say(f"Loaded {len(fleet.hosts)} nodes, {len(fleet.machines)} instances")
    suffix = common_suffix(fleet.cluster)
    if suffix and options.verbose > 1:
        page.say(f"Note: Stripping common suffix of '{suffix}' from names")


def _chosen(page: Page, options: Options, fleet: Fleet) -> int | None:
    """Return the group to balance; without a clear one, say which there are."""
    groups = fleet.cluster.groups
    with_nodes = [number for number, _ in groups_of(fleet)]
    if options.group is None:
        if len(with_nodes) == 1:
            return with_nodes[0]
        page.tell("Found multiple node groups:", *(f"  {groups[number].name}" for number in with_nodes))
        return None
    for number, group in enumerate(groups):
        if options.group in {group.name, group.uuid}:
            return number
    page.tell(f"Node group {options.group} not found. Node group list is:")
    page.tell(*(f"  {group.name}" for group in groups))
    return None


def _balanced(page: Page, options: Options, fleet: Fleet, group: int) -> Printed:
    _say_group(page, options, fleet, group)
    tell_instances(page, options, "Initial", fleet)
    tell_nodes(page, options, "Initial cluster", fleet)
    before = fleet.copy()
    score = fleet.score()
    if options.verbose > 2:
        page.say(f"Initial coefficients: overall {fixed(score, 8)}", *score_table(fleet))
    else:
        page.say(f"Initial score: {fixed(score, 8)}")
    optimum = optimum_of(
        [fleet.hosts[number] for number in fleet.scope], [fleet.states[number] for number in fleet.scope]
    )
    if score - optimum < options.min_score:
        page.say(
            f"Cluster is already well balanced (initial score {general(score)},",
            f"optimum score due to N+1 reservations {general(optimum)},",
            f"minimum score {general(options.min_score)}).",
            "Nothing to do, exiting",
        )
        return page.done()
    page.say("Trying to minimize the CV...")
    steps = _say_moves(page, options, fleet)
    _say_result(page, options, fleet, steps, score)
    _say_commands(page, options, before, steps)
    if options.save is not None:
        save(page, options.save, "balanced", "after balancing", cluster_now(fleet))
    tell_instances(page, options, "Final", fleet)
    tell_nodes(page, options, "Final cluster", fleet)
    if options.verbose > 3:
        page.say(f"Original: {_totals(before)}", f"Final:    {_totals(fleet)}")
    return page.done()


def _say_group(page: Page, options: Options, fleet: Fleet, group: int) -> None:
    bad = fleet.bad_hosts()
    page.say(
        f"Group size {len(fleet.scope)} nodes, {len(fleet.subjects)} instances",
        f"Selected node group: {fleet.cluster.groups[group].name}",
    )
    if options.verbose >= 1:
        page.say(f"Initial check done: {len(bad)} bad nodes, {len(fleet.bad_machines())} bad instances.")
    bad_numbers = {host.number for host in bad}
    health = {
        fleet.hosts[number].name: _health(fleet, number)
        for number in fleet.scope
        if number not in bad_numbers
    }
    if options.verbose > 4:
        states = ",".join(f'("{name}",{state})' for name, state in health.items())
        page.say(
            f"Bad nodes: {_listed(host.name for host in bad)}",
            f"N+1 happy nodes: {_listed(health)}",
            f"Node policy status: [{states}]",
        )
    if bad:
        page.say("Cluster is not N+1 happy, continuing but no guarantee that the cluster will end N+1 happy.")
    violating = sum(state != "Ok ()" for state in health.values())
    if violating:
        page.say(
            f"The cluster contains {violating} policy-violating nodes.",
            "Continuing, ignoring soft errors."
            if options.ignore_soft_errors
            else "Continuing, but the set of moves might be too restricted;"
            " consider using the --ignore-soft-errors option.",
        )


def _health(fleet: Fleet, number: int) -> str:
    host, now = fleet.hosts[number], fleet.states[number].now
    if now.spindles > host.spindles_high:
        return "Bad FailDisk"
    share = now.cpu / host.cpu if host.cpu else inf if now.cpu else nan
    return "Bad FailCPU" if share > host.cpu_ratio else "Ok ()"


def _listed(names: Iterable[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return f"[{','.join(quoted)}]"


def balancing_of(options: Options) -> Balancing:
    """Return what balancing may do by the options of a tool."""
    return Balancing(
        force=options.ignore_soft_errors,
        disk_moves=not options.no_disk_moves,
        instance_moves=not options.no_instance_moves,
        restricted_migration=options.restricted_migration,
        evac_mode=options.evac_mode,
        min_score=options.min_score,
        min_gain=options.min_gain,
        min_gain_limit=options.min_gain_limit,
        moves_max=options.max_length,
    )


def _say_moves(page: Page, options: Options, fleet: Fleet) -> list[Step]:
    suffix = common_suffix(fleet.cluster)
    aliases = [host.name.removesuffix(suffix) for host in fleet.hosts]
    names = {number: fleet.machines[number].name.removesuffix(suffix) for number in fleet.subjects}
    name_width = max((len(name) for name in names.values()), default=0)
    pair_width = 2 * max(len(aliases[number]) for number in fleet.scope) + 1 if fleet.scope else 1
    steps = []
    for step in balance(fleet, balancing_of(options)):
        steps.append(step)
        move = COMMANDS[step.move.kind].format(aliases[step.move.target])
        before, after = _pair(step.before, aliases), _pair(step.place, aliases)
        page.say(
            f"  {len(steps):3d}. {names[step.machine]:<{name_width}} {before:<{pair_width}} => "
            f"{after:<{pair_width}} {fixed(step.score, 8):>12} a={move}"
        )
    return steps


def _pair(place: Place, aliases: Sequence[str]) -> str:
    if place.standby == NOWHERE:
        return aliases[place.primary]
    return f"{aliases[place.primary]}:{aliases[place.standby]}"


def _say_result(page: Page, options: Options, fleet: Fleet, steps: Sequence[Step], score: float) -> None:
    if not steps:
        page.say("No solution found")
    elif options.verbose > 2:
        page.say(f"Final coefficients:   overall {fixed(steps[-1].score, 8)}", *score_table(fleet))
    else:
        page.say(f"Cluster score improved from {fixed(score, 8)} to {fixed(steps[-1].score, 8)}")
    if options.verbose >= 1:
        page.say(f"Solution length={len(steps)}")


def _say_commands(page: Page, options: Options, fleet: Fleet, steps: Sequence[Step]) -> None:
    first = options.first_job_group
    title = "First set of jobs:" if first else "Commands to run to reach the above solution:"
    if options.print_commands is not None:
        show_commands(page, options, title, command_lines(fleet, steps, first_only=first))


def _totals(fleet: Fleet) -> str:
    from ullage.engine.balance.totals import totals

    found = totals(fleet)
    return f"mem={found.memory_free // MIB} disk={found.disk_free // MIB}"
