"""The ledger of a cluster, in its API server, for threads and tasks of any loop; see LedgerStore.

All that talks to the server runs in one thread with a loop of its own, so that callers may be of any kind,
and who gives up waiting takes nothing back: the request is on its way.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Command, JournalRow, Outcome
from ullage.model.verdict import Finding
from ullage.stores.kubernetes_chain import Chain
from ullage.stores.kubernetes_objects import OBJECT_BYTES_MAX, PlanObjects
from ullage.stores.kubernetes_verify import verify_objects
from ullage.stores.kubernetes_writing import PATIENCE_SECONDS, PlanLedger
from ullage.stores.protocol import Asked, asked_for
from ullage.stores.reading import names_in
from ullage.stores.writing import Decide

COMMAND_CHARACTERS_MAX: Final = OBJECT_BYTES_MAX
Answer = TypeVar("Answer")


class KubernetesLedger:
    """A ledger in the objects of a cluster; `connect` is called in the thread that uses them."""

    def __init__(
        self,
        connect: Callable[[], PlanObjects],
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        decide: Decide = decide,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ledger", daemon=True)
        self._thread.start()
        self._closed = False
        try:
            self._objects, self._ledger = self._run(_opened(connect, patience_seconds, decide))
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def submit(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Decide a command, and return once the decision is stored."""
        return self._run(self._submitted(_asked(command, at_seconds, key, revision, exact=exact)))

    async def submit_async(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Do the same for a task, without holding up others of its loop."""
        begun = self._begin(self._submitted(_asked(command, at_seconds, key, revision, exact=exact)))
        return await asyncio.shield(asyncio.wrap_future(begun))

    def ask(self, question: Callable[[LedgerState], Answer]) -> Answer:
        """Return the answer to a question about the state now, which is not copied for it."""
        return self._run(self._asked_of(lambda chain: question(chain.state)))

    def state(self) -> LedgerState:
        """Return the state now; it is the caller's own and changes no more."""
        return self._run(self._asked_of(lambda chain: chain.state.copy()))

    def at(self, revision: int) -> LedgerState:
        """Return the state after a step of the past, as far back as steps are kept."""
        return self._run(self._asked_of(lambda chain: chain.at(revision)))

    def earliest(self) -> int:
        """Return the first revision of which the state can be told."""
        return self._run(self._asked_of(lambda chain: chain.earliest))

    def journal(self, after: int = 0) -> Iterator[JournalRow]:
        """Yield the steps after a revision that are kept, in order, up to the one that is last now."""
        yield from self._run(self._asked_of(lambda chain: list(chain.rows(after))))

    def history(self, *, reservation: str = "", owner: str = "", capacity: str = "") -> Iterator[JournalRow]:
        """Yield the steps that are kept and name all of what is given."""
        wanted = {"reservation": reservation, "owner": owner, "capacity": capacity}
        given = {kind: name for kind, name in wanted.items() if name}
        if not given:
            raise InputError("nothing to look for", remedy="name a reservation, an owner or a capacity")
        for row in self.journal():
            if all(name in names_in(kind, row) for kind, name in given.items()):
                yield row

    def row_of_key(self, key: str) -> JournalRow | None:
        """Return the step that was asked for under a key; None where none is kept."""
        return self._run(self._asked_of(lambda chain: chain.row_of_key(key)))

    def verify(self) -> list[Finding]:
        """Prove that the ledger is what it says, as far back as it is kept."""
        return verify_objects(self._run(self._objects.read_all()))

    def close(self) -> None:
        """Answer what was asked already, and let go of the cluster."""
        if not self._closed:
            self._closed = True
            asyncio.run_coroutine_threadsafe(self._finished(), self._loop).result()
            self._end()

    # In the thread

    async def _submitted(self, asked: Asked) -> Outcome:
        outcome = await self._ledger.submit(asked)
        await self._ledger.compact_if_due()
        return outcome

    async def _asked_of(self, question: Callable[[Chain], Answer]) -> Answer:
        return question(await self._ledger.read())

    async def _finished(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self._objects.close()

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self._begin(work).result()

    def _begin(self, work: Coroutine[Any, Any, Answer]) -> concurrent.futures.Future[Answer]:
        if self._closed:
            work.close()
            raise InputError("the ledger is closed", remedy="open it again")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _end(self) -> None:
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        with suppress(RuntimeError):
            self._loop.close()


async def _opened(
    connect: Callable[[], PlanObjects], patience_seconds: float, decide: Decide
) -> tuple[PlanObjects, PlanLedger]:
    objects = connect()
    return objects, PlanLedger(objects, patience_seconds=patience_seconds, decide=decide)


def _asked(command: Command, at_seconds: int, key: str, revision: int | None, *, exact: bool) -> Asked:
    return asked_for(command, at_seconds, key, revision, COMMAND_CHARACTERS_MAX, exact=exact)
