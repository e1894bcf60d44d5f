"""hroller: which nodes may be rebooted together, and where instances are meanwhile."""

from collections.abc import Sequence
from typing import Final

from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.rolling import Batch, Refusal, RollingOptions, Unrollable, rolling_groups
from ullage.model.ganeti import GanetiCluster
from ullage.service.htools.hinfo import refuse_arguments
from ullage.service.htools.loading import complaint_about_offline, load
from ullage.service.htools.options import Options, Printed
from ullage.service.htools.printed import Page
from ullage.service.htools.saving import save

GRAPH_VERBOSITY: Final = 3
COLOURINGS_VERBOSITY: Final = 2
NO_MASTER: Final = "No master node found (maybe not supported by backend)."
REFUSALS: Final[dict[Refusal, str]] = {
    "hosts": "Cannot create node graph",
    "machines": "Not enough capacity to move non-redundant instances",
    "migration": "Failed to migrate instances off nodes",
    "standbys": "Not enough capacity to move secondaries",
}


def run(options: Options) -> Printed:
    """Return what hroller prints."""
    refuse_arguments(options)
    cluster, view, warnings = load(options)
    page = Page()
    page.tell_text(warnings)
    complaint = _complaint_about_master(cluster)
    if complaint and not (options.force and complaint == NO_MASTER):
        return page.fail(complaint)
    if complaint:
        page.tell(f"Warning: {complaint}")
    wrong = complaint_about_offline(options, cluster)
    if wrong:
        return page.fail(wrong)
    save(page, options.save, "original", "before hroller run", cluster)
    group = _groups(cluster, options.group)
    if len(group) != 1:
        return page.fail("Cannot find target group.")
    fleet = Fleet(cluster, view)
    rolling = rolling_groups(fleet, _asked(options, group[0]))
    if options.verbose >= GRAPH_VERBOSITY and rolling.graph:
        page.say(_graph_line(rolling.graph))
    if isinstance(rolling, Unrollable):
        return page.fail(REFUSALS[rolling.reason])
    if options.verbose >= COLOURINGS_VERBOSITY:
        page.say(_colourings_line(rolling.colourings))
    if not options.no_headers:
        page.say("'First Reboot Group'" if options.one_step_only else "'Node Reboot Groups'")
    for batch in rolling.batches[:1] if options.one_step_only else rolling.batches:
        names = [fleet.hosts[number].name for number in batch.hosts]
        page.say(*(names if options.one_step_only else [",".join(names)]))
        if options.print_moves:
            page.say(*_move_lines(fleet, batch))
    return page.done()


def _complaint_about_master(cluster: GanetiCluster) -> str:
    masters = [node.name for node in cluster.nodes if node.master]
    if not masters:
        return NO_MASTER
    listed = ",".join(f'"{name}"' for name in masters)
    return f"Found more than one master node: [{listed}]" if len(masters) > 1 else ""


def _groups(cluster: GanetiCluster, asked: str | None) -> list[int | None]:
    """Return the groups that are meant by number; where none is asked for, None stands for all."""
    if asked is None:
        return [None]
    return [number for number, group in enumerate(cluster.groups) if asked in {group.name, group.uuid}]


def _asked(options: Options, group: int | None) -> RollingOptions:
    return RollingOptions(
        group=group,
        tags=None if options.node_tags is None else frozenset(options.node_tags),
        halts_machines=options.offline_maintenance,
        ignores_unmirrored=options.ignore_non_redundant,
        skips_unmirrored=options.skip_non_redundant,
        evacuates=options.full_evacuation,
        as_htools=True,
    )


def _graph_line(graph: dict[int, list[int]]) -> str:
    """Return the graph as Haskell writes an array of lists."""
    listed = ",".join(
        f"({number},[{','.join(map(str, neighbours))}])" for number, neighbours in graph.items()
    )
    return f"Node Graph: array ({min(graph)},{max(graph)}) [{listed}]"


def _colourings_line(colourings: Sequence[tuple[str, list[list[int]]]]) -> str:
    """Return how the colourings compare: fewest colours first, the last of equals before the others."""
    told = ""
    before = 0
    latest_first = [*reversed(colourings)]
    latest_first.sort(key=lambda each: len(each[1]))
    for name, classes in latest_first:
        sizes = ",".join(str(len(each)) for each in classes)
        link = "" if not told else " TIE " if len(classes) == before else " LOOSE "
        told += f"{link}{name}: {len(classes)} ({sizes})"
        before = len(classes)
    return told


def _move_lines(fleet: Fleet, batch: Batch) -> list[str]:
    lines = []
    for number, place in batch.moved:
        machine = fleet.machines[number]
        names = [machine.name, fleet.hosts[place.primary].name]
        if machine.has_standby:
            names.append(fleet.hosts[place.standby].name)
        lines.append(f"  {' '.join(names)}")
    return lines
