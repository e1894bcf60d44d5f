"""Who has changed what, over HTTP: the audit log, the oldest first, page by page.

A step of a ledger is there a moment after it was acknowledged, so whoever follows the log asks again after
the last number that they have.
"""

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from ullage.model.constraints import Record
from ullage.service.clock import told_time
from ullage.web.api.ledger import versioned
from ullage.web.http import Request, Response
from ullage.web.parameters import query_of
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server

PAGE_MAX: Final = 1000


class AuditQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which entries are meant, and how many of them at once."""

    after: Annotated[int, Meta(ge=0, description="Entries after the one of this number.")] = 0
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX, description="Entries of one page.")] = 100


class AuditEntry(Record, frozen=True):
    """Who did what, and what came of it; `revision` is that of the ledger then, 0 where none was asked.

    Where a server has died before it could note who took a step or committed a plan, `who` is empty.
    """

    number: int
    at: str
    who: str
    cluster: str
    action: str
    subject: str
    outcome: str
    revision: int


class AuditLog(Record, frozen=True):
    """Some entries of the log, the oldest first; `after` asks for those that follow, if there are more."""

    entries: tuple[AuditEntry, ...]
    after: int = 0


async def audit(server: "Server", request: Request) -> Response:
    """Tell who has changed what."""
    query = query_of(AuditQuery, request)
    found = await asyncio.to_thread(server.state.audited, after=query.after, rows_max=query.limit + 1)
    page = tuple(
        AuditEntry(
            number,
            told_time(each.at_seconds),
            each.who,
            each.cluster,
            each.action,
            each.subject,
            each.outcome,
            each.revision,
        )
        for number, each in found[: query.limit]
    )
    told = AuditLog(page, page[-1].number if len(found) > query.limit else 0)
    return Response(body=versioned("AuditLog", told))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/audit",
        audit,
        "commit",
        "Who has changed what.",
        AuditQuery,
        answers={200: AuditLog},
        in_turns=True,
    ),
)
