"""One ledger that a server asks, wherever it is kept, with the capacities that it knows.

Whatever a command is about is told to the ledger before it, if that is news: what a cluster offers is looked
at by a worker, once for every revision of it. The hard thing is that this must not count as others being
quicker: who plans on a revision has the step on the one that the news make of it.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from ullage.model.ledger import Capacity, Command, Decision, Outcome, Reserve, Supply
from ullage.service.clock import now_seconds
from ullage.web.http import Problem
from ullage.web.offers import Offers
from ullage.web.problems import busy

if TYPE_CHECKING:
    from ullage.stores.kubernetes import KubernetesLedger


class Kept(Protocol):
    """A ledger that somebody keeps, for tasks of this loop."""

    is_gone: bool
    """Whether it can be asked nothing more, and is to be opened again."""

    async def submit_async(
        self, command: Command, *, at_seconds: int, key: str, revision: int | None, exact: bool
    ) -> Outcome:
        """Have a command decided; see LedgerStore."""

    async def due(self, now_seconds: int) -> tuple[int, bool]:
        """Return the revision of the ledger, and whether the time of a promise has come."""

    async def close(self) -> None:
        """Answer what was asked already, and let go of it."""


class InCluster:
    """A ledger that is kept in its cluster itself, where a step takes as long as the network does."""

    is_gone = False

    def __init__(self, store: "KubernetesLedger") -> None:
        self.store = store
        self.submit_async = store.submit_async

    async def due(self, now_seconds: int) -> tuple[int, bool]:
        """See Kept."""
        return await asyncio.to_thread(
            self.store.ask, lambda state: (state.revision, bool(state.due(now_seconds)))
        )

    async def close(self) -> None:
        """See Kept."""
        await asyncio.to_thread(self.store.close)


class ClusterLedger:
    """One ledger with the capacities that it knows, and what is known of the cluster beside it."""

    def __init__(
        self,
        kept: Kept,
        revision: int,
        capacities: Iterable[Capacity],
        offered: Callable[[], Awaitable[tuple[Capacity, ...]]],
    ) -> None:
        self.kept = kept
        self.revision = revision
        self.asked: Counter[str] = Counter()
        """How many wait for a step of it, by who has asked."""
        self._known = {each.name: each for each in capacities}
        self._offered = offered
        self._offers: Offers | None = None
        self._looking: asyncio.Task[None] | None = None

    async def submit(self, command: Command, *, key: str, revision: int | None, exact: bool) -> Outcome:
        """Tell the ledger what is news in a command, and take the step."""
        if self._offers is None and isinstance(command, Reserve):
            looking = self.look_again()
            await asyncio.wait((looking,))
            if looking.cancelled():
                raise busy("the ledger of the cluster is being closed")
            looking.result()
        news = self._offers.news(command) if self._offers is not None else None
        at_seconds = now_seconds()
        if news is not None:
            done = await self._supply(news, at_seconds)
            revision = done.revision if revision == done.revision - 1 else revision
        outcome = await self.kept.submit_async(
            command, at_seconds=at_seconds, key=key, revision=revision, exact=exact
        )
        self.revision = max(self.revision, outcome.revision)
        decision = outcome.decision
        if decision.accepted and (decision.capacities or decision.gone) and not outcome.repeated:
            self._learn(decision)  # a plan tells what there is itself: room of those that it evicts, too
            if self._offers is not None:
                self._offers.untold(decision)
        return outcome

    @property
    def has_looked(self) -> bool:
        """Whether anybody has wanted to know what the cluster offers; the first who does has it looked up."""
        return self._offers is not None or self._looking is not None

    async def is_due(self, at_seconds: int) -> bool:
        """Whether the time of a promise has come by then; and take note of where the ledger is."""
        self.revision, due = await self.kept.due(at_seconds)
        return due

    def look_again(self) -> "asyncio.Task[None]":
        """Have it told what the cluster offers; until then what is known counts."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return self._looking

    async def close(self) -> None:
        """Let go of the ledger."""
        if self._looking is not None:
            self._looking.cancel()
        await self.kept.close()

    async def _look(self) -> None:
        try:
            capacities = await self._offered()
        except Problem:
            if self._offers is None:
                raise
            return  # what was offered last counts until the next revision
        self._offers = Offers(capacities, self._known)

    async def _supply(self, news: Supply, at_seconds: int) -> Outcome:
        """Tell the ledger what there is, whatever anybody has planned on: others count on it from here on."""
        offers = self._offers
        try:
            done = await self.kept.submit_async(
                news, at_seconds=at_seconds, key="", revision=None, exact=False
            )
        except BaseException:
            if offers is not None:
                offers.untold(news)
            raise
        self._learn(news)
        return done

    def _learn(self, told: Supply | Decision) -> None:
        """Take note of what the ledger knows now."""
        self._known.update((each.name, each) for each in told.capacities)
        for name in told.gone:
            self._known.pop(name, None)
