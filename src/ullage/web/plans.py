"""Plans that are made now and committed later, by somebody who has looked at them.

What was asked is kept with the answer. A commit takes the step on the ledger as it is then, which decides
every hold again. Where the cluster has moved, the same is asked again first, and if something else would be
better now, whether the very places of the plan still do: only what somebody has looked at is committed. The
hard thing is a crash in between: the step has the plan's own key, so it is taken once, and whoever asks again
finds it, also who wants to discard the plan, and the next server, which writes it down.
"""

import asyncio
import secrets
import sqlite3
import time
from contextlib import closing
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ullage.model.ledger import JournalRow, Outcome
from ullage.model.ledger_entry import LedgerEntry
from ullage.service.clock import now_seconds, told_time
from ullage.service.plan_record import FitPlan, step_to_commit
from ullage.stores.protocol import MovedError
from ullage.web.events import Events
from ullage.web.history import History, Mark, write_mark
from ullage.web.http import Principal, Problem
from ullage.web.keys import Keyed, digest_of, forget_keys
from ullage.web.ledgers import Asking, Ledgers
from ullage.web.plan_answers import essence, nothing_to_hold, other_answer, places_of, refused_by_worker
from ullage.web.plan_room import make_room, still_kept
from ullage.web.state import Audited, State, read_only, write_audit
from ullage.web.turns import Turns
from ullage.web.work import Work

PLAN: Final = "question/plan"
"""The work of a worker that makes a plan."""
ASK_SECONDS_MAX: Final = 30.0
NAMES_MAX: Final = 20
KEYS: Final = "plan/"
"""What the keys of steps that commit plans begin with; nobody else may use such."""
OPERATION: Final = "plan"
"""What is done under the keys of those who make plans."""
PlanState = Literal["open", "committed", "refused", "discarded"]


class Plan(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """How a plan stands; `names` are the first of the workloads that it is about.

    The step that has committed it has the revision `committed_revision` of the ledger.
    """

    id: str
    cluster: str
    state: PlanState
    made: str
    who: str
    fits: bool
    may_be_committed: bool
    cluster_revision: int
    ledger_revision: int
    hold_seconds: int
    workloads: int
    names: tuple[str, ...]
    outcome: str = ""
    committed_revision: int = 0

    @property
    def tag(self) -> str:
        """The revisions that it was made on, as an entity tag."""
        return f'"{self.cluster_revision}-{self.ledger_revision}"'

    @property
    def shown_tag(self) -> str:
        """The tag of the plan as it stands: another one once it is no longer open."""
        return self.tag if self.state == "open" else f'{self.tag[:-1]}-{self.state}"'


class Kept(NamedTuple):
    """A plan with all that is kept of it."""

    told: Plan
    answer: FitPlan
    parameters: dict[str, Any]
    body: bytes


class Committed(NamedTuple):
    """What came of a commit."""

    told: Plan
    outcome: Outcome

    @property
    def changed(self) -> tuple[LedgerEntry, ...]:
        """The entries that it has changed."""
        return self.outcome.decision.changed if self.outcome.decision.accepted else ()


class Plans:
    """All plans of a server."""

    def __init__(
        self, state: State, pool: Asking, ledgers: Ledgers, history: History, events: Events
    ) -> None:
        self._state = state
        self._pool = pool
        self._ledgers = ledgers
        self._history = history
        self._events = events
        self._deciding: dict[str, Turns] = {}

    async def make(
        self, cluster: str, parameters: dict[str, Any], body: bytes, who: Principal, key: str = ""
    ) -> Kept:
        """Return a new plan for workloads; raises a Problem with why there is none.

        What was asked for under the same key before has its plan already, as it stands now. Where that is not
        kept any more there is a new one, unless it was committed: nothing is promised twice under a key.
        """
        keyed = Keyed(OPERATION, cluster, key, digest_of(msgspec.json.encode(parameters), body))
        known = await self._state.run(keyed.known) if key else None
        found = await asyncio.to_thread(self._read, cluster, known) if known else None
        if found is not None:
            return found
        if known is not None:
            await self._check_not_committed(cluster, known)
        answer = await self._answer(cluster, parameters, body, who.name)
        told = Plan(
            f"{int(time.time() * 1000):011x}{secrets.token_hex(5)}",
            cluster,
            "open",
            told_time(now_seconds()),
            who.name,
            answer.fits,
            answer.may_be_committed,
            answer.cluster_revision,
            answer.ledger_revision,
            answer.hold_seconds,
            len(answer.owners),
            answer.owners[:NAMES_MAX],
        )
        kept = Kept(told, answer, parameters, body)
        made = await self._state.run(lambda connection: _add(connection, kept, keyed))
        if made != told.id:
            return await self.get(cluster, made)
        self._tell(told)
        return kept

    async def get(self, cluster: str, plan: str) -> Kept:
        """Return a plan; raises a Problem where there is none."""
        found = await asyncio.to_thread(self._read, cluster, plan)
        if found is None:
            raise Problem(404, "there is no such plan", "it may have been dropped for newer ones")
        return found

    async def _check_not_committed(self, cluster: str, plan: str) -> None:
        outcome = await self._ledgers.known(cluster, f"{KEYS}{plan}")
        if outcome is not None and outcome.decision.accepted:
            what = f"the plan of this key was committed in step {outcome.revision}, and is not kept any more"
            raise Problem(410, what, "use another key for another plan", revision=outcome.revision)

    async def listed(self, cluster: str, state: str, before: str, count: int) -> list[Plan]:
        """Return plans of a cluster, the newest first, those made before one that is named."""
        self._pool.revision(cluster)
        return await asyncio.to_thread(self._list, cluster, state, before, count)

    async def commit(self, cluster: str, plan: str, who: Principal, *, exact: bool = False) -> Committed:
        """Hold what a plan has a place for, or raise a Problem with why that cannot be.

        If it is to be `exact`, neither the cluster nor its ledger may have moved since.
        """
        async with self._turns(cluster).of(who.name):
            kept = await self.get(cluster, plan)
            outcome = await self._found(kept.told)
            if outcome is None:
                try:
                    outcome = await self._taken(kept, who.name, exact=exact)
                except (Problem, MovedError) as refused:
                    await self.note_refused(kept.told, str(refused), who)
                    raise
            told = await self._settled(kept.told, outcome, who.name)
        return Committed(told, outcome)

    async def discard(self, cluster: str, plan: str, client: str) -> Plan:
        """Give up a plan that was not committed.

        Where the ledger has its step though nobody wrote that down, it is written down now: whose it was is
        not known any more.
        """
        async with self._turns(cluster).of(client):
            told = (await self.get(cluster, plan)).told
            outcome = await self._found(told)
            if outcome is not None and outcome.decision.accepted:
                await self._settled(told, outcome, "")
                raise Problem(409, "the plan was committed", "release what it holds instead")
            told = msgspec.structs.replace(told, state="discarded")
            await self._state.run(lambda connection: _set(connection, told))
        self._tell(told)
        return told

    async def forget(self, cluster: str) -> None:
        """Forget what was planned on a cluster that is removed, and all keys about it."""

        def write(connection: sqlite3.Connection) -> None:
            forget_keys(connection, cluster)
            connection.execute("DELETE FROM plans WHERE cluster = ?", (cluster,))

        await self._state.run(write)

    def _turns(self, cluster: str) -> Turns:
        """Return who may decide about a plan of a cluster: one at a time."""
        self._pool.revision(cluster)
        return self._deciding.setdefault(cluster, Turns(1))

    async def _answer(self, cluster: str, parameters: dict[str, Any], body: bytes, client: str) -> FitPlan:
        work = Work(PLAN, parameters, body, self._ledgers.place(cluster))
        done = await self._pool.ask(cluster, work, seconds_max=ASK_SECONDS_MAX, client=client)
        if done.status != 200:
            raise refused_by_worker(done.status, done.body)
        return msgspec.structs.replace(_PLAN.decode(done.body), cluster_revision=done.revision)

    async def _found(self, told: Plan) -> Outcome | None:
        """Return what came of the step of a plan; None where it was not taken."""
        return await self._ledgers.known(told.cluster, _key(told))

    async def _taken(self, kept: Kept, client: str, *, exact: bool) -> Outcome:
        """Take the step of a plan, if it may be taken."""
        told, answer = kept.told, kept.answer
        if told.state == "discarded":
            raise Problem(409, "the plan was discarded", "make another one")
        if not answer.may_be_committed:
            raise nothing_to_hold(answer)
        revision = self._pool.revision(told.cluster)
        if revision != answer.cluster_revision:
            if exact:
                raise _moved(f"the cluster is at revision {revision}, not {answer.cluster_revision}")
            answer = await self._again(kept, client)
        command = step_to_commit(
            answer, cluster_revision=answer.cluster_revision, at_seconds=max(now_seconds(), answer.at_seconds)
        )
        return await self._ledgers.submit(
            told.cluster,
            command,
            key=_key(told),
            revision=answer.ledger_revision,
            exact=exact,
            client=client,
        )

    async def _again(self, kept: Kept, client: str) -> FitPlan:
        """Ask the same on the cluster as it is now; another answer is not what somebody wants committed."""
        wanted = essence(kept.answer.step)
        answer = await self._answer(kept.told.cluster, kept.parameters, kept.body, client)
        if essence(answer.step) == wanted:
            return answer
        pinned = {**kept.parameters, "onNodes": places_of(kept.answer)}
        answer = await self._answer(kept.told.cluster, pinned, kept.body, client)
        if essence(answer.step) != wanted:
            raise other_answer(kept.answer, answer)
        return answer

    async def note_refused(self, told: Plan, why: str, who: Principal) -> None:
        """Write down that somebody wanted to commit a plan, and why that was refused."""
        entry = Audited(int(time.time()), who.name, told.cluster, "commit plan", told.id, why, 0)
        await self._state.run(lambda connection: write_audit(connection, [entry]))

    async def _settled(self, before: Plan, outcome: Outcome, who: str) -> Plan:
        """Write down what came of a commit, all of it or nothing, for everybody who will ask."""
        told = settled(before, outcome)
        if told == before:
            return told
        at_seconds = int(time.time())

        def write(connection: sqlite3.Connection) -> None:
            write_settled(connection, told, who, at_seconds)

        if told.state == "committed":
            await self._history.mark(told.cluster, mark_of(told, who, at_seconds), write)
        else:
            await self._state.run(write)
        self._tell(told)
        return told

    def _tell(self, told: Plan) -> None:
        self._events.tell("plan", told.cluster, id=told.id, state=told.state)

    def _read(self, cluster: str, plan: str) -> Kept | None:
        with closing(read_only(self._state.path)) as connection:
            row = connection.execute(
                "SELECT told, plan, parameters, body FROM plans WHERE identifier = ? AND cluster = ?",
                (plan, cluster),
            ).fetchone()
        if row is None:
            return None
        return Kept(_TOLD.decode(row[0]), _PLAN.decode(row[1]), msgspec.json.decode(row[2]), row[3])

    def _list(self, cluster: str, state: str, before: str, count: int) -> list[Plan]:
        with closing(read_only(self._state.path)) as connection:
            rows = connection.execute(
                "SELECT told FROM plans WHERE cluster = ?1 AND (?2 = '' OR state = ?2) "
                "AND (?3 = '' OR identifier < ?3) ORDER BY identifier DESC LIMIT ?4",
                (cluster, state, before, count),
            ).fetchall()
        return [_TOLD.decode(text) for (text,) in rows]


def settled(before: Plan, outcome: Outcome) -> Plan:
    """Return a plan as the step of it has left it."""
    decision = outcome.decision
    return msgspec.structs.replace(
        before,
        state="committed" if decision.accepted else "refused",
        outcome=decision.reason,
        committed_revision=outcome.revision,
    )


def write_settled(connection: sqlite3.Connection, told: Plan, who: str, at_seconds: int) -> None:
    """Write down how a plan stands that somebody wanted to commit, and that it was so."""
    words = told.outcome or told.state
    _set(connection, told)
    write_audit(
        connection,
        [Audited(at_seconds, who, told.cluster, "commit plan", told.id, words, told.committed_revision)],
    )


def mark_of(told: Plan, who: str, at_seconds: int) -> Mark:
    """Return what the history shows of a plan that was committed."""
    more = told.workloads - len(told.names)
    return Mark(at_seconds, told.id, who, ", ".join((*told.names, *((f"{more} more",) if more else ()))))


def take_over_commit(connection: sqlite3.Connection, cluster: str, row: JournalRow) -> bool:
    """Write down the commit of a plan that nobody could, from its step; False where there is no such plan."""
    found = connection.execute(
        "SELECT told FROM plans WHERE identifier = ? AND cluster = ?", (row.key.removeprefix(KEYS), cluster)
    ).fetchone()
    if found is None:
        return False
    told = settled(_TOLD.decode(found[0]), Outcome(row.revision, row.decision))
    write_settled(connection, told, "", row.at_seconds)
    if told.state == "committed":
        write_mark(connection, cluster, mark_of(told, "", row.at_seconds))
    return True


def _key(told: Plan) -> str:
    """Return the key under which the step of a plan is taken."""
    return f"{KEYS}{told.id}"


def _moved(what: str) -> Problem:
    return Problem(412, what, "look again and plan anew")


def _add(connection: sqlite3.Connection, kept: Kept, keyed: Keyed) -> str:
    """Keep a plan, unless there is one under the same key by now; return the one that counts."""
    known = keyed.known(connection)
    if known is not None and still_kept(connection, (known,)):
        return known
    keyed.remember(connection, kept.told.id)
    parameters = msgspec.json.encode(kept.parameters).decode()
    plan = msgspec.json.encode(kept.answer)
    size = len(kept.body) + len(plan) + len(parameters)
    told = kept.told
    connection.execute(
        "INSERT INTO plans VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (told.id, told.cluster, told.state, _text(told), parameters, kept.body, plan, size),
    )
    make_room(connection, told.cluster)
    return told.id


def _set(connection: sqlite3.Connection, told: Plan) -> None:
    connection.execute(
        "UPDATE plans SET state = ?, told = ? WHERE identifier = ?", (told.state, _text(told), told.id)
    )


def _text(told: Plan) -> str:
    return msgspec.json.encode(told).decode()


_TOLD: Final = msgspec.json.Decoder(Plan)
_PLAN: Final = msgspec.json.Decoder(FitPlan)
