"""The state of a fleet as a cluster again, and saved to a file that every tool reads.

The free memory that a node reports stays as it was, as in the files of Ganeti's own tools: readers go by the
records. Where a memory ratio is in force they go by the report, so it is brought up to date.
"""

from msgspec.structs import replace

from ullage.engine.balance.facts import NOWHERE, memory_ratio_of
from ullage.engine.balance.fleet import Fleet
from ullage.model.ganeti import GanetiCluster, GanetiNode, Instance
from ullage.service.htools.loading import write_file
from ullage.service.htools.printed import Page


def cluster_now(fleet: Fleet) -> GanetiCluster:
    """Return the hosts and machines that count, where they are now."""
    cluster = fleet.cluster
    return replace(
        cluster,
        nodes=tuple(_node(fleet, number) for number in fleet.scope),
        instances=tuple(_instance(fleet, number) for number in fleet.subjects),
    )


def _node(fleet: Fleet, number: int) -> GanetiNode:
    host, now = fleet.hosts[number], fleet.states[number].now
    has_ratio = memory_ratio_of(fleet.cluster, host.group, fleet.view) is not None
    return replace(
        host.node,
        offline=host.offline,
        memory_free_bytes=now.memory_free if has_ratio else host.memory_reported,
        disk_free_bytes=now.disk_free,
        spindles_free=now.spindles_free if host.exclusive else host.node.spindles_free,
    )


def _instance(fleet: Fleet, number: int) -> Instance:
    place = fleet.places[number]
    standby = "" if place.standby == NOWHERE else fleet.hosts[place.standby].name
    return replace(
        fleet.machines[number].instance, primary=fleet.hosts[place.primary].name, secondary=standby
    )


def save(page: Page, path: str | None, ending: str, what: str, cluster: GanetiCluster) -> None:
    """Write a cluster to the file that a user asked for, if one was, and say so."""
    if path is None:
        return
    from ullage.sources.ganeti.text_writer import write_text

    name = f"{path}.{ending}"
    write_file(name, write_text(cluster))
    page.tell(f"The cluster state {what} has been written to file '{name}'")
