"""What was: how full a cluster was over time, which plans were made, and who committed what.

It needs no cluster, so it is drawn where HTTP is spoken; the plots fetch their numbers themselves.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from ullage.web.pages.shell import Shell, draw

if TYPE_CHECKING:
    from ullage.web.state import Audited

HOUR_SECONDS: Final = 3600
SPANS: Final[Mapping[str, int]] = {
    "hour": HOUR_SECONDS,
    "day": 24 * HOUR_SECONDS,
    "week": 7 * 24 * HOUR_SECONDS,
    "month": 30 * 24 * HOUR_SECONDS,
    "year": 365 * 24 * HOUR_SECONDS,
}
DEFAULT_SPAN: Final = "day"


class PlanLine(NamedTuple):
    """A plan as a list tells it."""

    id: str
    made: str
    who: str
    state: str
    what: str


class Made(NamedTuple):
    """Plans, the latest first: those made before one that is named, and where older ones begin."""

    plans: Sequence[PlanLine] = ()
    before: str = ""
    older: str = ""


class Kind(NamedTuple):
    """A kind of what is in the audit log, in words and by its actions."""

    words: str
    actions: tuple[str, ...]


COMMIT_PLAN: Final = "commit plan"
COMMITTED: Final[Mapping[str, Kind]] = {
    "plans": Kind("plans", (COMMIT_PLAN,)),
    "ledger": Kind("steps of the ledger", ("reserve", "bind", "release", "extend", "ledger step")),
}
"""What may be shown apart, so that many of one kind push out none of another."""


class Commits(NamedTuple):
    """Some of the audit log, the latest first: of a kind, before a number, and where older ones begin.

    `plans` are those among them that are still kept.
    """

    found: "Sequence[Audited]" = ()
    kind: str = ""
    before: int = 0
    older: int = 0
    plans: frozenset[str] = frozenset()


class Commit(NamedTuple):
    """Who committed what, with its time for people."""

    at: str
    who: str
    action: str
    subject: str
    outcome: str
    revision: int


def history_page(
    shell: Shell, span: str, now_seconds: int, *, commits: Commits | None = None, made: Made | None = None
) -> bytes:
    """Return the page of a span of time that ends now; without commits they are not for who looks."""
    span = span if span in SPANS else DEFAULT_SPAN
    source = f"/v1/clusters/{quote(shell.cluster, safe='')}/history?from={now_seconds - SPANS[span]}"
    audited = [
        Commit(time_text(each.at_seconds), each.who, each.action, each.subject, each.outcome, each.revision)
        for each in (commits.found if commits else ())
    ]
    return draw(
        "history",
        shell,
        spans=SPANS,
        span=span,
        source=source,
        used=source.replace("/history?", "/usage/series?measure=usage&"),
        made=made or Made(),
        commits=commits,
        kinds={"": "everything", **{name: kind.words for name, kind in COMMITTED.items()}},
        audited=audited,
    )


def time_text(seconds: int) -> str:
    """Return a moment for people, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
