"""The next step of a ledger on a cluster: decided here, ordered by the API server, believed when it says so.

The state in memory may be old: then the name of the next step is taken, and the command is decided again on
what others have written. Two things are hard. A request whose answer was lost may have been done, or be done
later: the same object is created again until there is an answer, and whoever wrote the one that is there is
written in it. And a name that was removed with old steps can be given once more, to somebody who has slept
for a thousand steps: so a step counts only if the one before it is still there after it was written. Old
steps are removed one after the other, the oldest first, which makes that a proof.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ullage.engine.ledger.decide import decide
from ullage.model.errors import InputError
from ullage.model.ledger import Outcome
from ullage.stores.kubernetes_chain import Chain
from ullage.stores.kubernetes_compaction import compact, is_due
from ullage.stores.kubernetes_objects import (
    DoubtError,
    ExistsError,
    PlanObjects,
    Step,
    document_of,
    read_object,
    step_name,
)
from ullage.stores.protocol import Asked, StoreBusyError, StoreUnavailableError
from ullage.stores.writing import Decide

PATIENCE_SECONDS: Final = 30.0
"""How long a step is tried for: API servers restart within that."""
FIRST_WAIT_SECONDS: Final = 0.1
WAIT_SECONDS_MAX: Final = 2.0
CATCH_UP_STEPS_MAX: Final = 100
"""Steps that are read one by one; of more, everything is read anew."""
AHEAD_SECONDS_MAX: Final = 60
"""A clock may be so much ahead of the API server's."""
COMPACTION_AFTER_FAILURE_SECONDS: Final = 60.0
Answer = TypeVar("Answer")


class PlanLedger:
    """The ledger of a cluster for one event loop; tasks take turns."""

    def __init__(
        self,
        objects: PlanObjects,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        decide: Decide = decide,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objects = objects
        self._patience_seconds = patience_seconds
        self._decide = decide
        self._sleep = sleep
        self._now = now
        self._turn = asyncio.Lock()
        self._chain: Chain | None = None
        self._compacts_after = 0.0

    async def submit(self, asked: Asked) -> Outcome:
        """Decide a command, and return once the decision is stored."""
        async with self._turn:
            patience = _Patience(self._now, self._patience_seconds, self._sleep)
            try:
                return await self._submit(asked, patience)
            except BaseException:
                self._chain = None  # nobody knows better than the server
                raise

    async def read(self) -> Chain:
        """Return the ledger with all that was stored before the call; it is to be used before another."""
        async with self._turn:
            return await self._caught_up(_Patience(self._now, self._patience_seconds, self._sleep))

    async def read_anew(self) -> Chain:
        """Return the ledger as its objects have it now, whatever is known here; it is the caller's own."""
        return await self._loaded(_Patience(self._now, self._patience_seconds, self._sleep))

    async def compact_if_due(self) -> int:
        """Keep the state, and remove steps that are old, where it is time; return how many objects went.

        Who may not do that leaves it to others.
        """
        async with self._turn:
            chain = self._chain
            if chain is None or not is_due(chain) or self._now() < self._compacts_after:
                return 0
            try:
                removed, self._chain = await compact(self._objects, chain)
            except (DoubtError, StoreUnavailableError):
                self._compacts_after = self._now() + COMPACTION_AFTER_FAILURE_SECONDS
                return 0
            return removed

    # One step

    async def _submit(self, asked: Asked, patience: "_Patience") -> Outcome:
        while True:
            chain = self._chain or await self._caught_up(patience)
            if asked.revision is not None and asked.revision > chain.revision:
                chain = await self._caught_up(patience)
            known = chain.known(asked)
            if known is not None:
                return known
            self._require_time(asked)
            moved = chain.has_moved(asked)
            decision = self._decide(chain.state, asked.command, max(asked.at_seconds, chain.state.at_seconds))
            step = chain.next_step(asked, decision, secrets.token_hex(8))
            if await self._created(step, patience):
                chain.append(step, decision)
                if await self._counts(step, patience):
                    return Outcome(step.revision, decision, moved=moved)
                self._chain = None
            else:
                await self._caught_up(patience)
            if patience.is_over:
                raise StoreBusyError(
                    f"others were writing for {self._patience_seconds:g} s",
                    where=self._objects.name,
                    remedy="try again",
                )

    def _require_time(self, asked: Asked) -> None:
        """Refuse a step of a time that has not come: the ledger never goes back, and promises would end."""
        now_seconds = self._objects.server_seconds()
        if now_seconds is not None and asked.at_seconds - now_seconds > AHEAD_SECONDS_MAX:
            raise InputError(
                f"the clock here is {asked.at_seconds - now_seconds} s ahead of the cluster's",
                where=self._objects.name,
                remedy="set the clock of this machine",
            )

    async def _created(self, step: Step, patience: "_Patience") -> bool:
        """Create the object of a step; return whether it is ours that is there."""
        document = document_of(step)
        while True:
            try:
                await self._objects.create(document)
            except ExistsError:
                found = await self._step(step.revision, patience)
                return found is not None and found.writer == step.writer
            except DoubtError as error:
                await patience.wait(error, self._objects.name)
            else:
                return True

    async def _counts(self, step: Step, patience: "_Patience") -> bool:
        """Whether a step that was created is the one that has its number."""
        before = await self._step(step.revision - 1, patience) if step.revision > 1 else None
        if before is not None and step.follows(before.hash):
            return True
        chain = await self._loaded(patience)
        there = chain.steps.get(step.revision)
        if there is not None and there.writer == step.writer:
            self._chain = chain
            return True
        stray = await self._step(step.revision, patience)
        if stray is None or stray.writer != step.writer:
            raise StoreUnavailableError(
                f"step {step.revision} is no longer there to tell whether it counts",
                where=self._objects.name,
                remedy="ask again under the same key",
            )
        return False

    # What is there

    async def _caught_up(self, patience: "_Patience") -> Chain:
        """Return the ledger with what others have written since."""
        chain = self._chain
        if chain is None or not chain.revision:
            self._chain = chain = await self._loaded(patience)
            return chain
        for _ in range(CATCH_UP_STEPS_MAX):
            step = await self._step(chain.revision + 1, patience)
            if step is not None and step.follows(chain.hash):
                chain.append(step)
                continue
            last = await self._step(chain.revision, patience) if step is None else None
            if last is not None and last.hash == chain.hash:
                return chain  # the last one is there, so the next one was not removed
            break
        self._chain = chain = await self._loaded(patience)
        return chain

    async def _loaded(self, patience: "_Patience") -> Chain:
        found = await patience.until_answered(self._objects.read_all, self._objects.name)
        return Chain(map(read_object, found))

    async def _step(self, revision: int, patience: "_Patience") -> Step | None:
        name = step_name(revision)
        content = await patience.until_answered(lambda: self._objects.get(name), self._objects.name)
        found = None if content is None else read_object(content)
        return found if isinstance(found, Step) else None


class _Patience:
    """How long somebody waits for a server that does not answer, and how."""

    def __init__(
        self, now: Callable[[], float], seconds: float, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._now = now
        self._sleep = sleep
        self._until = now() + seconds
        self._wait = FIRST_WAIT_SECONDS

    @property
    def is_over(self) -> bool:
        return self._now() >= self._until

    async def wait(self, error: DoubtError, where: str) -> None:
        """Wait a little before the next try; raises where that was long enough."""
        if self.is_over:
            raise StoreUnavailableError(
                f"no answer ({error})",
                where=where,
                remedy="see that the API server runs, then ask again under the same key",
            ) from error
        await self._sleep(self._wait)
        self._wait = min(2 * self._wait, WAIT_SECONDS_MAX)

    async def until_answered(self, ask: Callable[[], Awaitable[Answer]], where: str) -> Answer:
        """Ask something that changes nothing until there is an answer."""
        while True:
            try:
                return await ask()
            except DoubtError as error:
                await self.wait(error, where)
