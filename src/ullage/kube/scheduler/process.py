"""The scheduler as it runs: take what has changed, judge all that waits, act, and again.

One cycle is one delta of the snapshot and one decision for the whole batch. Binding goes on while the next
cycle is judged: what is being done counts as done (assumptions) until the watch shows it or it fails. The
hard thing is to do nothing twice and nothing as a leader that is none any more: each act asks first.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.gangs import gang_key
from ullage.engine.placement.outcome import Evicted
from ullage.engine.placement.scheduling import Bound, Cycle, Nominated, explain, schedule
from ullage.kube.following import Following
from ullage.kube.scheduler.actions import Actions, NotDoneError
from ullage.kube.scheduler.assumptions import Assumptions
from ullage.kube.scheduler.holds import Holds
from ullage.kube.scheduler.messages import why_evicted, why_later, why_not
from ullage.kube.scheduler.waiting_line import WaitingLine
from ullage.model.cluster import Workload
from ullage.model.delta import Delta
from ullage.model.plan import Refusal
from ullage.model.policy import Policy
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

CYCLE_PODS_MAX: Final = 4000
"""Pods of one cycle: the first of them should not wait until all are judged."""
BINDERS: Final = 48
IDLE_SECONDS: Final = 5.0
GATHER_SECONDS: Final = 0.005
"""How long a change waits for others, so that they are judged together."""
EXPLAINED_MAX: Final = 20
"""Kinds of pods of one cycle of which it is looked for what would help."""


class Figures(NamedTuple):
    """What a scheduler has done so far."""

    cycles: int = 0
    bound: int = 0
    evicted: int = 0
    failed: int = 0


class _Binding(NamedTuple):
    """A pod as it was judged, what was decided, and which pod of its name that was."""

    workload: Workload
    bound: Bound
    uid: str


class Preparing(Protocol):
    """What must be done before a pod is bound: reservations and volumes."""

    async def prepare(self, workload: Workload, bound: Bound) -> None:
        """Do it; raises a NotDoneError where it cannot be done."""

    async def give_back(self, workload: Workload, bound: Bound) -> None:
        """Undo what was done of it, because the pod is not bound after all."""

    def done(self, workload: Workload, bound: Bound) -> None:
        """Take note that the pod is bound."""


class Scheduler:
    """The pods that name this scheduler, and the cluster they go to."""

    def __init__(
        self,
        following: Following,
        actions: Actions,
        *,
        names: Iterable[str],
        preparing: Preparing | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._following = following
        self._actions = actions
        self._preparing = preparing
        self._now = now
        self._assumptions = Assumptions(self._uid)
        self._holds = Holds(self._claim_uid, now)
        self._line = WaitingLine(tuple(names), self._assumptions.is_bound)
        self._policy: Policy | None = None
        self._nominated: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._binding: asyncio.Queue[_Binding] = asyncio.Queue()
        self._given_back: dict[str, Workload] = {}
        self._acts: set[asyncio.Task[None]] = set()
        self.figures = Figures()

    @property
    def waiting(self) -> tuple[int, int]:
        """How many pods wait for a place, and for how many of them room is being made."""
        return len(self._line), len(self._nominated)

    def is_binding(self) -> bool:
        """Whether pods wait to be bound that have a place."""
        return not self._binding.empty()

    # The loop

    async def run(self) -> None:
        """Schedule until cancelled, or until this process leads no more."""
        binders = [asyncio.create_task(self._bind_all()) for _ in range(BINDERS)]
        try:
            while self._actions.leading.leads:
                await self.cycle()
                await self._wait()
        finally:
            for task in (*binders, *self._acts):
                task.cancel()
            await asyncio.gather(*binders, *self._acts, return_exceptions=True)

    async def _wait(self) -> None:
        """Wait for something to do, and a moment more for what comes with it."""
        changed = self._following.changed
        wait = self._line.next_seconds(self._now())
        if not self._given_back and not self._line.ready(self._now()):
            try:
                async with asyncio.timeout(min(IDLE_SECONDS, wait if wait is not None else IDLE_SECONDS)):
                    await changed.wait()
            except TimeoutError:
                pass
        await asyncio.sleep(GATHER_SECONDS)
        changed.clear()

    async def cycle(self) -> Cycle:
        """Judge all that waits once, and begin to act on it."""
        columns = self._catch_up()
        waiting = self._line.ready(self._now())
        if not waiting or not self._actions.leading.leads:
            return Cycle()
        waiting += self._nominated_besides(waiting)
        columns, waiting = await self._keep_promises(columns, first_of(waiting, self._nominated))
        done = await self._judged(columns, waiting)
        self.figures = self.figures._replace(cycles=self.figures.cycles + 1)
        asked = {each.key: each for each in waiting}
        columns = self._assume(columns, done, asked)
        news = {
            each.workload: each.refusal
            for each in done.unplaced
            if self._told.get(each.workload) != each.refusal.reason
        }
        if news:
            await self._explain(columns, news, asked)
        return done

    def _nominated_besides(self, waiting: Iterable[Workload]) -> list[Workload]:
        """Return the pods that have a place later and no turn now: nobody else may have it meanwhile."""
        asked = {each.key for each in waiting}
        besides = (self._line.get(key) for key in self._nominated if key not in asked)
        return [each for each in besides if each is not None and not self._assumptions.is_bound(each.key)]

    async def _keep_promises(
        self, columns: Columns, waiting: list[Workload]
    ) -> tuple[Columns, list[Workload]]:
        """Bind pods for which the ledger holds room to where that is; return who waits besides.

        They alone may use it. Whoever cannot use it there is judged with all others, who then may, too.
        """
        places = dict(self._following.room.places)
        served = [each for each in waiting if each.key in places]
        if not served:
            return columns, waiting
        columns = self._lend(each.key for each in served)
        there = [msgspec.structs.replace(each, node=places[each.key]) for each in served]
        done = (await self._judged(columns, there))._replace(unplaced=())
        self._assume(columns, done, {each.key: each for each in served})
        decided = {each.workload for each in done.bound} | {each.workload for each in done.nominated}
        left = [each for each in waiting if each.key not in decided]
        return self._lend(each.key for each in left), left

    def _lend(self, keys: Iterable[str]) -> Columns:
        """Return the cluster in which nothing is held for these pods, which are judged next."""
        return self._following.advance(self._following.room.lifted(keys))

    def _advance(self, delta: Delta) -> Columns:
        """Return the cluster after a change, with what the ledger holds in it."""
        promised = self._following.promised(delta)
        if promised.dropped.get("workloads", ()) != delta.dropped.get("workloads", ()):
            self._line.moved()
        columns = self._following.advance(promised)
        if columns.snapshot.policy is not self._policy:  # who had no place under the one before may have one
            self._policy = columns.snapshot.policy
            self._line.moved()
        return columns

    async def _explain(
        self, columns: Columns, news: Mapping[str, Refusal], asked: Mapping[str, Workload]
    ) -> None:
        """Say why pods have no place that were not told so yet, and of the first of them what would help."""
        alone = [asked[key] for key in news if not asked[key].gang]
        refusals = {**news, **await asyncio.to_thread(explain, columns, alone, EXPLAINED_MAX)}
        for key, refusal in refusals.items():
            self._told[key] = news[key].reason
            self._begin(self._say_why_not(key, why_not(refusal, len(columns.nodes))))

    async def _judged(self, columns: Columns, waiting: list[Workload]) -> Cycle:
        """Judge in another thread, so that binding goes on; nothing is changed meanwhile."""
        nominated = frozenset(self._nominated)
        return await asyncio.to_thread(schedule, columns, waiting, nominated=nominated, names_remedies=False)

    def _catch_up(self) -> Columns:
        """Take what has changed into account, and what did not happen after all."""
        delta = self._holds.applied(self._assumptions.applied(self._following.take()))
        columns = self._advance(delta)
        fresh = {row.key for row in delta.workloads} | set(delta.dropped.get("workloads", ()))
        back = [row for key, row in self._given_back.items() if key not in fresh]
        self._given_back.clear()
        if back:
            columns = self._advance(Delta(workloads=tuple(back)))
        self._line.seen(delta)
        if back:  # the room of one who was not bound, or somebody who has to be asked to go again
            self._line.moved()
        for row in back:
            self._line.put_back(row, self._now())
        for row in delta.workloads:
            facts = self._facts(row.key) if row.key in self._line else None
            if facts is not None and facts.nominated_node:  # by the replica that led before, perhaps
                self._nominated.setdefault(row.key, facts.nominated_node)
        for known in (self._nominated, self._told):
            for key in [key for key in known if key not in self._line]:
                del known[key]
        return columns

    def _assume(self, columns: Columns, done: Cycle, asked: Mapping[str, Workload]) -> Columns:
        """Take for granted what was decided, begin to do it, and return the cluster after it."""
        changed = self._following.mirror.has_changed  # who is not any more as it was judged is judged anew
        gangs = {gang_key(each) for key, each in asked.items() if each.gang and changed(key)}
        bound = [
            each
            for each in done.bound
            if not changed(each.workload) and gang_key(asked[each.workload]) not in gangs
        ]
        rows = [self._assumptions.bind(asked[each.workload], each.node) for each in bound]
        self._line.take(each.workload for each in bound)
        for each in bound:
            self._nominated.pop(each.workload, None)
            binding = _Binding(asked[each.workload], each, self._uid(each.workload))
            if binding.workload.volumes:  # which may take long: it keeps no others waiting
                held = self._holds.hold(binding.workload, each, columns.snapshot)
                columns = self._advance(held)
                self._begin(self._bind(binding))
            else:
                self._binding.put_nowait(binding)
        for later in done.nominated:
            if changed(later.workload):
                continue
            self._line.has_place_later(later.workload, self._now())
            self._nominated[later.workload] = later.node
            victims = []
            for victim in later.evicted:
                running = columns.snapshot.workloads.get(victim.workload)
                is_other = self._following.mirror.is_renewed(victim.workload)
                if running is not None and not is_other and not self._assumptions.is_leaving(victim.workload):
                    rows.append(self._assumptions.evict(running))
                    victims.append(victim)
            self._begin(self._make_room(later, victims))
        for unplaced in done.unplaced:
            self._line.had_no_place(unplaced.workload, self._now())
            if self._nominated.pop(unplaced.workload, ""):
                self._begin(self._nominate(unplaced.workload, ""))
        return self._advance(Delta(workloads=tuple(rows)))

    # Acting

    def _begin(self, act: Coroutine[None, None, None]) -> None:
        """Do something beside all else."""
        task = asyncio.create_task(act)
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)

    async def _bind_all(self) -> None:
        """Bind one pod after the other."""
        while True:
            binding = await self._binding.get()
            await self._bind(binding)
            self._binding.task_done()

    async def _bind(self, binding: _Binding) -> None:
        workload, bound, uid = binding
        if self._uid(bound.workload) != uid:
            await self._give_back(binding, NotDoneError("the pod is gone", is_for_good=True))
            return
        try:
            if self._preparing is not None and workload.volumes:
                await self._preparing.prepare(workload, bound)
            await self._actions.bind(bound.workload, uid, bound.node)
        except NotDoneError as error:
            await self._give_back(binding, error)
        else:
            if self._preparing is not None:
                self._preparing.done(workload, bound)
            self._holds.settle(bound.workload)
            self.figures = self.figures._replace(bound=self.figures.bound + 1)
            note = f"assigned {bound.workload} to {bound.node}"
            self._actions.say(bound.workload, uid, "Scheduled", note)

    async def _give_back(self, binding: _Binding, error: NotDoneError) -> None:
        """Let a pod wait again that was not bound, with all that was held for it.

        Another one of its name may be on its way already: of that nothing is given back.
        """
        workload, bound, uid = binding
        self.figures = self.figures._replace(failed=self.figures.failed + 1)
        if self._preparing is not None and workload.volumes:
            await self._preparing.give_back(workload, bound)
        if self._assumptions.identifier(bound.workload) in {"", uid}:
            self._holds.let_go(bound.workload)
            self._take_back(bound.workload)
        facts = self._facts(bound.workload)
        if facts is not None and facts.uid == uid and not error.is_for_good:
            note = f"not bound to {bound.node}: {error}"
            with contextlib.suppress(NotDoneError):
                await self._actions.say_not_bound(bound.workload, facts, note)

    async def _make_room(self, later: Nominated, victims: Sequence[Evicted]) -> None:
        """Say where a pod will run, and evict those that are in its way."""
        facts = self._facts(later.workload)
        if facts is None:
            for victim in victims:
                self._take_back(victim.workload)
            return
        with contextlib.suppress(NotDoneError):
            await self._actions.nominate(later.workload, facts, later.node)
            self._actions.say(later.workload, facts.uid, "WaitingForRoom", why_later(later))
        for victim in victims:
            await self._evict(victim, later)

    async def _evict(self, victim: Evicted, later: Nominated) -> None:
        uid = self._assumptions.identifier(victim.workload)
        if not uid:  # it has gone by itself
            return
        try:
            await self._actions.evict(victim.workload, uid)
        except NotDoneError as error:
            self._take_back(victim.workload)
            note = f"not evicted for {later.workload}: {error}"
            self._actions.say(victim.workload, uid, "NotEvicted", note, is_warning=True)
        else:
            self.figures = self.figures._replace(evicted=self.figures.evicted + 1)
            note = why_evicted(victim.reason, later.workload, later.node)
            self._actions.say(victim.workload, uid, "Preempted", note, is_warning=True)

    def _take_back(self, key: str) -> None:
        """Show a pod as it was last seen: what was taken for granted of it has not happened."""
        seen = self._assumptions.forget(key)
        if seen is not None:
            self._given_back[key] = seen
            self._following.changed.set()

    async def _nominate(self, key: str, node: str) -> None:
        facts = self._facts(key)
        if facts is not None:
            with contextlib.suppress(NotDoneError):
                await self._actions.nominate(key, facts, node)

    async def _say_why_not(self, key: str, message: str) -> None:
        facts = self._facts(key)
        if facts is not None:
            with contextlib.suppress(NotDoneError):
                await self._actions.say_why_not(key, facts, message)

    def _facts(self, key: str) -> PodFacts | None:
        return self._following.mirror.facts(key)

    def _claim_uid(self, key: str) -> str:
        facts = self._following.mirror.claim(key)
        return facts.uid if facts else ""

    def _uid(self, key: str) -> str:
        facts = self._facts(key)
        return facts.uid if facts else ""


def first_of(
    waiting: list[Workload], nominated: Collection[str], pods_max: int = CYCLE_PODS_MAX
) -> list[Workload]:
    """Return those whose turn is first, with all of their gangs."""
    if len(waiting) <= pods_max:
        return waiting
    ordered = sorted(
        waiting,
        key=lambda each: (each.key not in nominated, -each.priority, each.created_seconds or 0, each.key),
    )
    chosen = ordered[:pods_max]
    gangs = {(each.namespace, each.gang) for each in chosen if each.gang}
    rest = (each for each in ordered[pods_max:] if each.gang and (each.namespace, each.gang) in gangs)
    return [*chosen, *rest]
