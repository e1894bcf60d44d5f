"""hinfo: what there is, per group, and how even it is."""

from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.service.htools.decimals import fixed
from ullage.service.htools.loading import complaint_about_offline, load
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.policy_line import policy_line
from ullage.service.htools.printed import Page, stop
from ullage.service.htools.tables import (
    common_suffix,
    has_ratio,
    instance_table,
    lined_up,
    node_table,
    score_table,
)

_HEADINGS = ("Group", "Nodes", "Instances", "Bad_Nodes", "Bad_Instances", "N+1", "Score")
_NUMBERS = (False, True, True, True, True, False, True)


def run(options: Options) -> Printed:
    """Print what a cluster is."""
    refuse_arguments(options)
    cluster, view, warnings = load(options)
    page = Page()
    page.tell_text(warnings)
    fleet = Fleet(cluster, view)
    verbose = options.verbose
    page.say(f"Loaded cluster tags: {','.join(cluster.tags)}")
    if verbose > 2:
        page.say(f"Loaded cluster ipolicy: {policy_line(cluster.policy, with_ratio=has_ratio(fleet))}")
    wrong = complaint_about_offline(options, cluster)
    if wrong:
        return page.fail(wrong)
    if not fleet.machines and verbose > 1:
        page.say("Cluster is empty.")
    page.say(
        f"Loaded {_count(len(fleet.hosts), 'node')}, {_count(len(fleet.machines), 'instance')}, "
        f"{_count(len(cluster.groups), 'node group')}"
    )
    suffix = common_suffix(cluster)
    if suffix and verbose > 2:
        page.say(f"Note: Stripping common suffix of '{suffix}' from names")
    split = split_machines(fleet)
    if split:
        page.say("Found instances belonging to multiple node groups:")
        page.tell(*(f"  {name}" for name in split))
    elif verbose > 1:
        page.say("No split instances found")
    _say_groups(page, fleet, verbose)
    tell_instances(page, options, "Instances", fleet)
    tell_nodes(page, options, "Cluster", fleet)
    page.say("Cluster coefficients:", *score_table(fleet), f"Cluster score: {fixed(fleet.score(), 8)}")
    return page.done()


def refuse_arguments(options: Options) -> None:
    """End a tool that was given words which are no options."""
    if options.arguments:
        stop("This program doesn't take any arguments.")


def groups_of(fleet: Fleet) -> list[tuple[int, Fleet]]:
    """Return each group that has nodes, by number, with the fleet in which only it counts."""
    numbers = sorted({host.group for host in fleet.hosts})
    return [(number, fleet.of_group(number)) for number in numbers]


def split_machines(fleet: Fleet) -> list[str]:
    """Return the machines whose two hosts are in different groups."""
    hosts = fleet.hosts
    return [
        machine.name
        for machine, (primary, standby) in zip(fleet.machines, fleet.places, strict=True)
        if standby != NOWHERE and hosts[primary].group != hosts[standby].group
    ]


def tell_nodes(page: Page, options: Options, what: str, fleet: Fleet) -> None:
    """Print the table of nodes where it was asked for."""
    if options.print_nodes is not None:
        page.tell("", f"{what} status:", *node_table(fleet, options.print_nodes), "")


def tell_instances(page: Page, options: Options, what: str, fleet: Fleet) -> None:
    """Print the table of instances where it was asked for."""
    if options.print_instances:
        page.tell("", f"{what} instance map:", *instance_table(fleet))


def _say_groups(page: Page, fleet: Fleet, verbose: int) -> None:
    rows = []
    for number, group in groups_of(fleet):
        bad = len(group.bad_hosts())
        rows.append(
            [
                fleet.cluster.groups[number].name,
                str(len(group.scope)),
                str(len(group.subjects)),
                str(bad),
                str(len(group.bad_machines())),
                str(bad == 0),
                fixed(group.score(), 8),
            ]
        )
    if verbose > 1:
        page.say("Node group information:")
        page.say(*(f"  {line}" for line in lined_up(_HEADINGS, rows, _NUMBERS)))
    happy = all(row[3] == "0" for row in rows)
    page.say(f"Cluster is N+1 {'happy' if happy else 'unhappy'}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
