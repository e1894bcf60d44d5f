"""Use that a server records of a cluster it holds: from a source, from what is sent, and what is committed.

Each is a source of its own in the file, with marks of its own, so that nothing counts twice whichever comes
first. What is sent may be of one node only: crowds are added up when it is read, and not here.
"""

from pathlib import Path
from typing import Final

import msgspec

from ullage.service.asked import Asked, read_cluster
from ullage.service.observed import recorded_file
from ullage.service.usage_observe import ObserveReport, known_as, record_of, source_name
from ullage.service.usage_records import Recorded
from ullage.service.usage_told import use_now
from ullage.stores.usage_reading import Recorder

SENT: Final = "http"
"""What is sent to a server is known by this."""
BODY: Final = "-"


class Access(msgspec.Struct, frozen=True):
    """Where a live source is, and as whom it is read."""

    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""


def record_source(asked: Asked, source: str, access: Access) -> Recorded:
    """Read a source once, and record what is new."""
    snapshot = read_cluster(asked)
    live = Asked(context=access.context, kubeconfig=access.kubeconfig, as_user=access.as_user)
    report = record_of(live, source, Recorder(_file(asked), source_name(source)), snapshot, commits=False)
    return _recorded(asked, report)


def record_sent(asked: Asked) -> Recorded:
    """Record the table that was sent."""
    snapshot = read_cluster(asked)
    report = record_of(asked, BODY, Recorder(_file(asked), SENT), snapshot, commits=False, crowds=False)
    return _recorded(asked, report)


def record_committed(asked: Asked, *, is_live: bool = False) -> Recorded:
    """Record what is committed: of the cluster, its groups, quotas and classes of drives.

    It is so when the cluster was read; one that is live still is as it was read last.
    """
    snapshot = read_cluster(asked)
    record_of(asked, "", Recorder(_file(asked), known_as(asked, "")), snapshot, still_is=is_live)
    return Recorded(now=use_now(asked))


def _file(asked: Asked) -> Path:
    path = recorded_file(asked)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _recorded(asked: Asked, report: ObserveReport) -> Recorded:
    repeated = report.known + report.late
    return Recorded(report.points, report.dropped, repeated, report.last_seconds or 0, use_now(asked))
