"""The ledger of a cluster for programs of ours that use it from elsewhere: records as stores keep them.

Reading is done by a worker; a step is taken here, as those of ledger.py are. It may be any command, also what
a plan is committed as, and the outcome tells a refusal too. A plan is made of what a cluster offers: who says
on which revision of it theirs was made is refused where that has moved.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta

from ullage.model.errors import InputError
from ullage.model.ledger import Command
from ullage.service.clock import now_seconds
from ullage.stores.codec import command_text, to_command
from ullage.stores.exchange import MEDIA, STEPS_MAX, outcome_message
from ullage.stores.protocol import MovedError
from ullage.stores.remote import COMMAND_CHARACTERS_MAX
from ullage.web.api.ledger import (
    KEY_HEADER,
    MOVED,
    UNPROCESSABLE,
    etag,
    key_of_client,
    planned_revision,
    told_in_audit,
)
from ullage.web.http import Problem, Request, Response
from ullage.web.parameters import query_of
from ullage.web.problems import of_input
from ullage.web.routes import Route
from ullage.web.state import Audited
from ullage.web.work import Work

if TYPE_CHECKING:
    from ullage.web.server import Server

SECONDS_MAX: Final = 60.0
PROOF_SECONDS_MAX: Final = 300.0
_HEADERS: Final = {
    "Idempotency-Key": "Asked again under the same key, the step is not taken twice.",
    "If-Match": "The revision of the ledger that was planned on, in quotes; 412 where it is another.",
}


class StateQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which state is meant."""

    revision: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="After this step.")] = None


class JournalQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which steps are meant."""

    after: Annotated[int, Meta(ge=0, description="Steps after this one.")] = 0
    reservation: Annotated[str, Meta(description="Steps that name this reservation.")] = ""
    owner: Annotated[str, Meta(description="Steps that name this owner.")] = ""
    capacity: Annotated[str, Meta(description="Steps that name this capacity.")] = ""
    key: Annotated[str, Meta(description="The step that was asked for under this key.")] = ""
    limit: Annotated[int, Meta(ge=1, le=STEPS_MAX, description="Steps of one answer.")] = STEPS_MAX


class ProofQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing has to be said."""


class StepQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What a step was planned on."""

    planned: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="A revision of the ledger; the outcome tells whether it has moved."),
    ] = None
    cluster_revision: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="The revision of the cluster; 412 where it is another."),
    ] = None


async def state(server: "Server", request: Request) -> Response:
    """Tell the state of a ledger."""
    return await _told(server, request, "state", query_of(StateQuery, request))


async def journal(server: "Server", request: Request) -> Response:
    """Tell steps of a ledger."""
    return await _told(server, request, "journal", query_of(JournalQuery, request))


async def proof(server: "Server", request: Request) -> Response:
    """Tell what is wrong with a ledger."""
    return await _told(server, request, "proof", query_of(ProofQuery, request), PROOF_SECONDS_MAX)


async def _told(
    server: "Server", request: Request, what: str, query: Any, seconds_max: float = SECONDS_MAX
) -> Response:
    cluster = request.values["cluster"]
    server.pool.revision(cluster)
    parameters = {name: getattr(query, name) for name in query.__struct_fields__}
    work = Work(f"ledger/{what}", parameters, ledger=server.ledgers.place(cluster))
    done = await server.pool.ask(
        cluster, work, seconds_max=seconds_max, is_long=True, client=request.who.name
    )
    return Response(done.status, done.body, done.content)


async def step(server: "Server", request: Request) -> Response:
    """Take a step, whatever it is."""
    cluster = request.values["cluster"]
    query = query_of(StepQuery, request)
    command = _command(request.body)
    exact = planned_revision(request.headers)
    now = server.pool.revision(cluster)
    if query.cluster_revision not in {None, now}:
        what = f"the cluster is at revision {now}, not {query.cluster_revision}"
        raise of_input(MovedError(what, remedy="look again and plan anew"), MOVED)
    try:
        outcome = await server.ledgers.submit(
            cluster,
            command,
            key=_key(request),
            revision=query.planned if exact is None else exact,
            exact=exact is not None,
            client=request.who.name,
        )
    except MovedError as error:
        raise of_input(error, MOVED) from None
    except InputError as error:
        raise of_input(error) from None
    words = type(command).__name__.lower()
    told = told_in_audit(outcome)
    await server.state.note(
        Audited(now_seconds(), request.who.name, cluster, "ledger step", words, told, outcome.revision)
    )
    return Response(body=outcome_message(outcome), content=MEDIA, headers=(etag(outcome.revision),))


def _command(body: bytes) -> Command:
    """Return the command of a body; what this version does not know of it must not be passed over."""
    try:
        text = body.decode()
        command = to_command(text)
    except (msgspec.DecodeError, UnicodeDecodeError, InputError) as error:
        raise Problem(UNPROCESSABLE, f"the body is no command of a ledger: {error}") from None
    if command_text(command) != text:
        raise Problem(
            UNPROCESSABLE,
            "the command is not written as this version writes it",
            "use the same version on both sides; other programs have reserve, bind, release and extend",
        )
    return command


def _key(request: Request) -> str:
    """Return the key of a request, which may be any text that is not the server's own."""
    try:
        key = request.headers.get(KEY_HEADER, "").encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Problem(UNPROCESSABLE, "Idempotency-Key is no UTF-8") from None
    return key_of_client(key)


_PATH: Final = "/v1/clusters/{cluster}/ledger"
_ANSWER: Final = {200: MEDIA}
ROUTES: Final = (
    Route(
        "GET",
        f"{_PATH}/state",
        state,
        "read",
        "A state of the ledger, as it is kept.",
        StateQuery,
        answers=_ANSWER,
    ),
    Route(
        "GET",
        f"{_PATH}/journal",
        journal,
        "read",
        "Steps of the ledger, as they are kept.",
        JournalQuery,
        answers=_ANSWER,
    ),
    Route(
        "GET", f"{_PATH}/proof", proof, "read", "What is wrong with the ledger.", ProofQuery, answers=_ANSWER
    ),
    Route(
        "POST",
        f"{_PATH}/commands",
        step,
        "commit",
        "Take any step, written as it is kept.",
        StepQuery,
        MEDIA,
        _ANSWER,
        COMMAND_CHARACTERS_MAX,
        _HEADERS,
    ),
)
