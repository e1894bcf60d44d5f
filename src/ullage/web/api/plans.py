"""Plans over HTTP: made, looked at, committed with a check of both revisions, or discarded."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from ullage.engine.ledger.room import TYPES
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.wire import API_VERSION, to_builtins
from ullage.service import question_records as records
from ullage.stores.protocol import MovedError
from ullage.web.api.ledger import MATCH_HEADER, MOVED, REFUSED, LedgerRefusal, refusal
from ullage.web.api.questions import BODY_BYTES_MAX, MEDIA, Report
from ullage.web.http import Problem, Request, Response
from ullage.web.keys import key_in
from ullage.web.parameters import query_of
from ullage.web.plans import Kept, Plan, PlanState
from ullage.web.problems import of_input
from ullage.web.routes import Route

if TYPE_CHECKING:
    from ullage.web.server import Server

PAGE_MAX: Final = 200
_PATH: Final = "/v1/clusters/{cluster}/plans"
_MAKE_HEADERS: Final = {
    "Idempotency-Key": "Asked again under the same key, it is the same plan, as it stands by then."
}
_COMMIT_HEADERS: Final = {
    "If-Match": "The ETag of the plan: 412 where the cluster or its ledger has moved since it was made."
}


class PlanAnswer(Plan, frozen=True):
    """A plan with the answer that it is made of, as `fit` has it."""

    report: Report | None = None


class PlanCommit(Plan, frozen=True):
    """A plan that was committed, and what the ledger holds since."""

    repeated: bool = False
    moved: bool = False
    changed: tuple[LedgerEntry, ...] = ()


class PlanList(msgspec.Struct, rename="camel", omit_defaults=True):
    """Plans of a cluster, the newest first; `before` asks for older ones."""

    plans: list[Plan]
    before: str = ""


class PlansQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which plans are meant, and how many of them at once."""

    state: Annotated[PlanState | None, Meta(description="Plans in this state.")] = None
    before: Annotated[str, Meta(description="Plans that were made before this one.")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX, description="Plans of one page.")] = 50


async def make(server: "Server", request: Request) -> Response:
    """Plan where workloads would go, and what would hold them."""
    cluster = request.values["cluster"]
    parameters: dict[str, Any] = msgspec.to_builtins(query_of(records.Plan, request))
    kept = await server.plans.make(cluster, parameters, request.body, request.who, key_in(request.headers))
    location = f"/v1/clusters/{cluster}/plans/{kept.told.id}"
    return Response(201, _shown(kept), headers=(("location", location), ("etag", kept.told.shown_tag)))


async def show(server: "Server", request: Request) -> Response:
    """Show a plan, with its answer."""
    kept = await server.plans.get(request.values["cluster"], request.values["plan"])
    return Response(body=_shown(kept), headers=(("etag", kept.told.shown_tag),))


async def listed(server: "Server", request: Request) -> Response:
    """List plans."""
    query = query_of(PlansQuery, request)
    found = await server.plans.listed(
        request.values["cluster"], query.state or "", query.before, query.limit + 1
    )
    page = found[: query.limit]
    told = PlanList(page, page[-1].id if len(found) > query.limit else "")
    return Response(body=_versioned("PlanList", msgspec.to_builtins(told)))


async def commit(server: "Server", request: Request) -> Response:
    """Hold what a plan has a place for."""
    cluster, plan = request.values["cluster"], request.values["plan"]
    match = request.headers.get(MATCH_HEADER, "").strip()
    exact = match not in {"", "*"}
    if exact:
        tags = {each.strip() for each in match.split(",")}
        told = (await server.plans.get(cluster, plan)).told
        if not tags & {told.tag, told.shown_tag}:
            what = "the plan was made on other revisions"
            await server.plans.note_refused(told, what, request.who)
            raise Problem(MOVED, what, "send its ETag as If-Match")
    try:
        done = await server.plans.commit(cluster, plan, request.who, exact=exact)
    except MovedError as error:
        raise of_input(error, MOVED) from None
    except InputError as error:
        raise of_input(error) from None
    if not done.outcome.decision.accepted:
        raise refusal(done.outcome)
    more = {
        **({"repeated": True} if done.outcome.repeated else {}),
        **({"moved": True} if done.outcome.moved else {}),
        "changed": to_builtins(done.changed, TYPES),
    }
    headers = (("ullage-ledger-revision", str(done.outcome.revision)),)
    return Response(body=_versioned("Plan", {**msgspec.to_builtins(done.told), **more}), headers=headers)


async def discard(server: "Server", request: Request) -> Response:
    """Give up a plan."""
    told = await server.plans.discard(request.values["cluster"], request.values["plan"], request.who.name)
    return Response(body=_versioned("Plan", msgspec.to_builtins(told)))


def _shown(kept: Kept) -> bytes:
    return _versioned("Plan", {**msgspec.to_builtins(kept.told), "report": kept.answer.report})


def _versioned(kind: str, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": kind, **data})


ROUTES: Final = (
    Route(
        "GET",
        _PATH,
        listed,
        "read",
        "Plans of a cluster.",
        PlansQuery,
        answers={200: PlanList},
        in_turns=True,
    ),
    Route(
        "POST",
        _PATH,
        make,
        "plan",
        "Plan where workloads go (those that are sent, else those that wait).",
        records.Plan,
        MEDIA,
        {201: PlanAnswer},
        BODY_BYTES_MAX,
        headers=_MAKE_HEADERS,
    ),
    Route(
        "GET",
        f"{_PATH}/{{plan}}",
        show,
        "read",
        "A plan and its answer.",
        answers={200: PlanAnswer},
        in_turns=True,
    ),
    Route(
        "POST",
        f"{_PATH}/{{plan}}/commit",
        commit,
        "commit",
        "Hold in the ledger what a plan has a place for.",
        answers={200: PlanCommit, REFUSED: LedgerRefusal},
        headers=_COMMIT_HEADERS,
    ),
    Route("DELETE", f"{_PATH}/{{plan}}", discard, "plan", "Discard a plan.", answers={200: Plan}),
)
