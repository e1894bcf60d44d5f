"""The page of what was: plans, and who committed what, page by page.

The audit log is for those alone who may commit, here as over `/v1/audit`.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.web.api.pages import chosen_cluster, drawn, refused, shell_for
from ullage.web.http import HTML, Problem, Request, Response
from ullage.web.pages.history import COMMIT_PLAN, COMMITTED, Commits, Made, history_page
from ullage.web.pages.plan import plan_line
from ullage.web.plan_room import still_kept
from ullage.web.routes import Route
from ullage.web.state import Audited, read_only

if TYPE_CHECKING:
    from ullage.web.server import Server

COMMITS_SHOWN: Final = 100
PLANS_SHOWN: Final = 50
_DIGITS_MAX: Final = 18


async def history(server: "Server", request: Request) -> Response:
    """Return what was."""
    try:
        cluster = chosen_cluster(server, request)
    except Problem as problem:
        return refused(shell_for(server, request), problem, request)
    shell = shell_for(server, request, cluster)
    query = dict(request.query)
    commits = None
    if shell.may_commit:
        commits = await asyncio.to_thread(commits_of, server.state.path, cluster, query)
    older = query.get("plansBefore", "")
    found = await server.plans.listed(cluster, "", older, PLANS_SHOWN + 1)
    shown = found[:PLANS_SHOWN]
    made = Made([plan_line(plan) for plan in shown], older, shown[-1].id if len(found) > PLANS_SHOWN else "")
    page = history_page(shell, query.get("span", ""), int(time.time()), commits=commits, made=made)
    return Response(200, page, HTML)


def commits_of(path: Path, cluster: str, query: Mapping[str, str]) -> Commits:
    """Return commits of a cluster, the latest first: of a kind, and before a number, where asked for."""
    kind = query.get("of", "")
    kind = kind if kind in COMMITTED else ""
    text = query.get("before", "")
    before = int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else 0
    actions = msgspec.json.encode(COMMITTED[kind].actions if kind else ()).decode()
    with contextlib.closing(read_only(path)) as connection:
        rows = connection.execute(
            "SELECT number, at_seconds, who, cluster, action, subject, outcome, revision FROM audit "
            "WHERE cluster = ?1 AND (?2 = 0 OR number < ?2) "
            "AND (?3 = '[]' OR action IN (SELECT value FROM json_each(?3))) ORDER BY number DESC LIMIT ?4",
            (cluster, before, actions, COMMITS_SHOWN + 1),
        ).fetchall()
        found = [Audited(*row[1:]) for row in rows[:COMMITS_SHOWN]]
        plans = still_kept(connection, (each.subject for each in found if each.action == COMMIT_PLAN))
    older = rows[COMMITS_SHOWN - 1][0] if len(rows) > COMMITS_SHOWN else 0
    return Commits(found, kind, before, older, plans)


async def step(server: "Server", request: Request) -> Response:
    """Return what one step of a ledger was; who took it is for those who may see the audit log."""
    told = {"revision": request.values["revision"]}
    with contextlib.suppress(Problem):  # the page that is drawn says what is wrong
        cluster = chosen_cluster(server, request)
        if shell_for(server, request, cluster).may_commit:
            told |= await asyncio.to_thread(taken_by, server.state.path, cluster, told["revision"])
    return await drawn(server, request, "step", told)


def taken_by(path: Path, cluster: str, revision: str) -> dict[str, str]:
    """Return who took a step and as what, by the audit log; nothing where that does not know.

    Where it has committed a plan that is still kept, that is told too.
    """
    if not revision.isdecimal() or len(revision) > _DIGITS_MAX:
        return {}
    with contextlib.closing(read_only(path)) as connection:
        found = connection.execute(
            "SELECT who, action, subject FROM audit WHERE cluster = ? AND revision = ? "
            "ORDER BY number LIMIT 1",
            (cluster, int(revision)),
        ).fetchone()
        if found is None:
            return {}
        told = dict(zip(("who", "action", "of"), found, strict=True))
        is_kept = told["action"] == COMMIT_PLAN and still_kept(connection, (told["of"],))
    return {**told, "plan": told["of"]} if is_kept else told


ROUTES: Final = (
    Route("GET", "/history", history, "read", "The page: what was.", answers={200: HTML}, in_turns=True),
    Route(
        "GET",
        "/history/steps/{revision}",
        step,
        "read",
        "The page: what one step of a ledger was.",
        answers={200: HTML},
    ),
)
