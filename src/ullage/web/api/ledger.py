"""The ledger of a cluster over HTTP: reserve, bind, release, extend, and its entries page by page.

A step is acknowledged when it is durable; who took it is in the audit log a moment later, so that nobody has
to wait for two disks: before it, where others take steps of the same ledger. `Idempotency-Key` makes it safe
to ask again; `If-Match` names the revision that was planned on, and nothing is done on any other. A refusal
is a problem that carries what is missing. Bodies are decoded into the ledger's own records at once: this is
what is asked most often.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from ullage.engine.ledger.room import TYPES
from ullage.model.constraints import Record
from ullage.model.disk_plan import DiskRequest
from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Command, Decision, Extend, Hold, Outcome, Release, Reserve
from ullage.model.ledger_entry import EntryState, LedgerEntry
from ullage.model.resources import Resources
from ullage.model.verdict import Shortfall
from ullage.model.wire import API_VERSION, decode_hook, encode_hook, to_builtins
from ullage.service.clock import now_seconds, told_time
from ullage.stores.entry_pages import PAGE_MAX, Wanted
from ullage.stores.protocol import MovedError
from ullage.web.http import Problem, Request, Response
from ullage.web.parameters import query_of
from ullage.web.plans import KEYS
from ullage.web.problems import of_input
from ullage.web.routes import Route
from ullage.web.state import Audited

if TYPE_CHECKING:
    from ullage.web.server import Server

KEY_HEADER: Final = "idempotency-key"
MATCH_HEADER: Final = "if-match"
COUNT: Final = 100
REFUSED, MOVED, UNREADABLE, UNPROCESSABLE = 409, 412, 400, 422
MAPS_MAX: Final = 4096
"""Maps of resources that are kept as they were read and written last."""
AUDITED_CHARACTERS_MAX: Final = 1000
_DIGITS_MAX: Final = 18
_HEADERS: Final = {
    "Idempotency-Key": "Asked again under the same key, the step is not taken twice.",
    "If-Match": "The revision of the ledger that was planned on, in quotes; 412 where it is another.",
}
Read = TypeVar("Read")


class StrictHold(Hold, frozen=True, forbid_unknown_fields=True):
    """What one request takes of one capacity."""


class StrictVolume(DiskRequest, frozen=True, forbid_unknown_fields=True):
    """A volume on a local disk."""


class Reserving(Reserve, frozen=True, forbid_unknown_fields=True):
    """Hold all of this for an owner, or nothing, until it is bound or a time has come."""

    holds: tuple[StrictHold, ...] = ()
    volumes: tuple[StrictVolume, ...] = ()

    def command(self) -> Reserve:
        """Return what the ledger is asked."""
        holds = tuple(
            Hold(each.request, each.capacity, each.resources, each.claim, each.adopts) for each in self.holds
        )
        volumes = tuple(DiskRequest(*msgspec.structs.astuple(each)) for each in self.volumes)
        return Reserve(
            self.reservation,
            self.owner,
            self.expires_seconds,
            holds,
            self.nodes,
            self.requests,
            volumes,
            self.mode,
            self.few_drives,
            self.copies,
            self.waits,
            self.lets_pass,
        )


class Binding(Bind, frozen=True, forbid_unknown_fields=True):
    """What was held is in use now; what was held on other nodes than this one is given back."""

    def command(self) -> Bind:
        """Return what the ledger is asked."""
        return Bind(self.reservation, self.node)


class Releasing(Release, frozen=True, forbid_unknown_fields=True):
    """Give back everything of a reservation, or only what these requests of it have.

    Volumes that were in use are taken to be there still, unless it is said otherwise.
    """

    volumes_stay: bool = True

    def command(self) -> Release:
        """Return what the ledger is asked."""
        return Release(self.reservation, self.requests, self.volumes_stay)


class Extending(Extend, frozen=True, forbid_unknown_fields=True):
    """Hold a reservation until another time."""

    def command(self) -> Extend:
        """Return what the ledger is asked."""
        return Extend(self.reservation, self.expires_seconds)


class LedgerStep(Record, frozen=True):
    """What a step has changed; `repeated` says that it was taken before, under the same key."""

    ledger: str
    revision: int
    asked: str
    accepted: bool
    changed: tuple[LedgerEntry, ...]
    reason: str
    repeated: bool = False


class LedgerEntries(Record, frozen=True):
    """Some of the live entries of a ledger; `after` asks for those that follow."""

    ledger: str
    revision: int
    at: str
    live: int
    waiting: int
    entries: tuple[LedgerEntry, ...]
    after: str = ""


class LedgerRefusal(msgspec.Struct, rename="camel", omit_defaults=True):
    """Why a step was not taken, as application/problem+json; the ledger has kept the reason."""

    type: str
    title: str
    status: int
    detail: str = ""
    revision: int = 0
    shortfalls: tuple[Shortfall, ...] = ()
    repeated: bool = False


class EntriesQuery(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which entries are meant, and how many of them at once."""

    reservation: Annotated[str, Meta(description="Entries of this reservation.")] = ""
    owner: Annotated[str, Meta(description="Entries of this owner.")] = ""
    capacity: Annotated[str, Meta(description="Entries on this capacity, as node/n1.")] = ""
    state: Annotated[EntryState | None, Meta(description="Entries in this state.")] = None
    after: Annotated[str, Meta(description="Where the page before has ended.")] = ""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX, description="Entries of one page.")] = COUNT


@lru_cache(MAPS_MAX)
def _parsed(quantities: tuple[tuple[str, str], ...]) -> Resources:
    return TYPES.parse(quantities)


@lru_cache(MAPS_MAX)
def _printed(resources: Resources) -> dict[str, str]:
    return TYPES.print(resources)


def _decode(wanted: type, value: Any) -> Any:
    """Read resources; those of most reservations were seen before."""
    if wanted is Resources and isinstance(value, dict):
        quantities = tuple(value.items())
        if all(type(text) is str for _, text in quantities):
            return _parsed(quantities)
    return _PLAIN_DECODE(wanted, value)


def _encode(value: Any) -> Any:
    return _printed(value) if isinstance(value, Resources) else _PLAIN_ENCODE(value)


_PLAIN_DECODE: Final = decode_hook(TYPES)
_PLAIN_ENCODE: Final = encode_hook(TYPES)
_RESERVING: Final = msgspec.json.Decoder(Reserving, dec_hook=_decode)
_BINDING: Final = msgspec.json.Decoder(Binding, dec_hook=_decode)
_RELEASING: Final = msgspec.json.Decoder(Releasing, dec_hook=_decode)
_EXTENDING: Final = msgspec.json.Decoder(Extending, dec_hook=_decode)
_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode)


async def reserve(server: "Server", request: Request) -> Response:
    """Hold something."""
    return await _taken(server, request, decoded(_RESERVING, request.body).command())


async def bind(server: "Server", request: Request) -> Response:
    """Note that what was held is in use."""
    return await _taken(server, request, decoded(_BINDING, request.body).command())


async def release(server: "Server", request: Request) -> Response:
    """Give something back."""
    return await _taken(server, request, decoded(_RELEASING, request.body).command())


async def extend(server: "Server", request: Request) -> Response:
    """Hold something for longer."""
    return await _taken(server, request, decoded(_EXTENDING, request.body).command())


async def entries(server: "Server", request: Request) -> Response:
    """Show what is promised."""
    cluster = request.values["cluster"]
    query = query_of(EntriesQuery, request)
    wanted = Wanted(query.reservation, query.owner, query.capacity, query.state or "")
    try:
        page = await server.ledgers.page(cluster, wanted, query.after, query.limit)
    except InputError as error:
        raise of_input(error) from None
    told = LedgerEntries(
        cluster, page.revision, told_time(page.at_seconds), page.live, page.waiting, page.entries, page.after
    )
    return Response(body=versioned("LedgerEntries", told), headers=(etag(page.revision),))


async def _taken(server: "Server", request: Request, command: Bind | Extend | Release | Reserve) -> Response:
    cluster = request.values["cluster"]
    revision = planned_revision(request.headers)
    key = key_of_client(request.headers.get(KEY_HEADER, ""))
    outcome = await submitted(server, cluster, command, key=key, revision=revision, client=request.who.name)
    decision = outcome.decision
    action = type(command).__name__.lower()
    # who took a step that others may have taken too cannot be told from the journal: it is noted first
    note = server.state.note if server.ledgers.is_shared(cluster) else server.state.note_soon
    await note(
        Audited(
            now_seconds(),
            request.who.name,
            cluster,
            action,
            command.reservation[:AUDITED_CHARACTERS_MAX],
            told_in_audit(outcome)[:AUDITED_CHARACTERS_MAX],
            outcome.revision,
        )
    )
    if not decision.accepted:
        raise refusal(outcome)
    told = LedgerStep(
        cluster,
        outcome.revision,
        f"{action} {command.reservation}",
        decision.accepted,
        decision.changed,
        decision.reason,
        outcome.repeated,
    )
    return Response(body=versioned("LedgerStep", told), headers=(etag(outcome.revision),))


async def submitted(
    server: "Server", cluster: str, command: Command, *, key: str, revision: int | None, client: str
) -> Outcome:
    """Return the outcome of a step; raises a Problem where it cannot be decided."""
    try:
        outcome = await server.ledgers.submit(
            cluster, command, key=key, revision=revision, exact=revision is not None, client=client
        )
    except MovedError as error:
        raise of_input(error, MOVED) from None
    except InputError as error:
        raise of_input(error) from None
    return outcome


def words_of(decision: Decision) -> str:
    """Return what came of a step, as the audit log has it."""
    return "accepted" if decision.accepted else f"refused: {decision.reason}"


def told_in_audit(outcome: Outcome) -> str:
    """Return what came of a step, and whether it was taken before, under the same key."""
    return f"repeated, {words_of(outcome.decision)}" if outcome.repeated else words_of(outcome.decision)


def refusal(outcome: Outcome) -> Problem:
    """Return the problem that says why a step was refused, with what is missing for it."""
    decision = outcome.decision
    members: dict[str, object] = {"revision": outcome.revision}
    if decision.shortfalls:
        members["shortfalls"] = to_builtins(decision.shortfalls, TYPES)
    if outcome.repeated:
        members["repeated"] = True
    return Problem(REFUSED, "refused", decision.reason, **members)


def versioned(kind: str, record: msgspec.Struct) -> bytes:
    """Return a record as JSON that names its version and kind first."""
    return b'{"apiVersion":"%b","kind":"%b",%b' % (
        API_VERSION.encode(),
        kind.encode(),
        _ENCODER.encode(record)[1:],
    )


def etag(revision: int) -> tuple[str, str]:
    """Return the header that names a revision of the ledger."""
    return "etag", f'"{revision}"'


def key_of_client(key: str) -> str:
    """Return the key under which somebody wants a step taken, if it is not one of the server's own."""
    if key.startswith(KEYS):
        what = f"Idempotency-Key: keys that begin with {KEYS!r} are the server's own"
        raise Problem(UNPROCESSABLE, what, "choose another key")
    return key


def planned_revision(headers: Mapping[str, str]) -> int | None:
    """Return the revision that somebody has planned on, None where they do not say."""
    text = headers.get(MATCH_HEADER, "").strip()
    if not text or text == "*":
        return None
    digits = text.removeprefix('"').removesuffix('"')
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_MAX):
        raise Problem(MOVED, f"If-Match: {text[:40]!r} is no revision of a ledger", 'write "5"')
    return int(digits)


def decoded(decoder: "msgspec.json.Decoder[Read]", body: bytes) -> Read:
    """Return the record of a body, or say what is wrong with it and where."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Problem(UNPROCESSABLE, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(UNREADABLE, f"the body is no JSON: {error}") from None


_PATH: Final = "/v1/clusters/{cluster}/ledger"
_STEP: Final = {200: LedgerStep, REFUSED: LedgerRefusal}
ROUTES: Final = (
    Route(
        "GET",
        _PATH,
        entries,
        "read",
        "What is promised.",
        EntriesQuery,
        answers={200: LedgerEntries},
        in_turns=True,
    ),
    *(
        Route("POST", f"{_PATH}/{word}", handler, "commit", text, None, body, _STEP, headers=_HEADERS)
        for word, handler, text, body in (
            ("reserve", reserve, "Hold something for an owner.", Reserving),
            ("bind", bind, "Note that what was held is in use.", Binding),
            ("release", release, "Give back what was held.", Releasing),
            ("extend", extend, "Hold something for longer.", Extending),
        )
    ),
)
