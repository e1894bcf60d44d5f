"""`status` with what is really used: of nodes and listed workloads, and the findings that follow from it."""

import msgspec

from ullage.engine.capacity.findings import worst_first
from ullage.engine.capacity.summary import summarise_groups
from ullage.engine.usage.book import Book
from ullage.model.cluster import Snapshot
from ullage.service.asked import Asked
from ullage.service.check_findings import cluster_findings
from ullage.service.held import columns_of
from ullage.service.observed import read_usage
from ullage.service.status import NodeStatus, StatusReport, WorkloadStatus
from ullage.service.used import usage_of


def with_usage(report: StatusReport, snapshot: Snapshot, asked: Asked, source: str) -> StatusReport:
    """Return a report with what is used beside what is promised."""
    book = read_usage(source, asked, snapshot)
    columns = columns_of(snapshot)
    found = cluster_findings(columns, summarise_groups(columns), book)
    return msgspec.structs.replace(
        report,
        nodes=tuple(_node(each, book) for each in report.nodes),
        listed=tuple(_workload(each, snapshot, book) for each in report.listed),
        findings=worst_first(found),
    )


def _node(node: NodeStatus, book: Book) -> NodeStatus:
    return msgspec.structs.replace(node, usage=usage_of(book, f"node/{node.name}"))


def _workload(status: WorkloadStatus, snapshot: Snapshot, book: Book) -> WorkloadStatus:
    usage = usage_of(book, f"pod/{status.namespace}/{status.name}")
    key = f"{status.namespace}/{status.name}" if status.namespace else status.name
    return msgspec.structs.replace(status, usage=usage, limits=snapshot.workloads[key].limits)
