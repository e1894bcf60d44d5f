"""The scheduler as it runs: take what has changed, judge all that waits, act, and again.

One cycle is one delta of the snapshot and one decision for the whole batch. Binding goes on while the next
cycle is judged: what is being done counts as done (assumptions) until the watch shows it or it fails. The
hard thing is to do nothing twice and nothing as a leader that is none any more: each act asks first.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.gangs import gang_key
from ullage.engine.placement.scheduling import Cycle, Nominated, schedule
from ullage.kube.following import Following
from ullage.kube.scheduler.actions import Actions, NotDoneError, Preparing
from ullage.kube.scheduler.acts import Acts
from ullage.kube.scheduler.assumptions import Assumptions
from ullage.kube.scheduler.binding import BINDERS, Binders, Binding
from ullage.kube.scheduler.binding import Hooks as BindingHooks
from ullage.kube.scheduler.explaining import Explaining
from ullage.kube.scheduler.gang_gate import Gates
from ullage.kube.scheduler.holds import Holds
from ullage.kube.scheduler.kept_room import KeptRoom
from ullage.kube.scheduler.making_room import Hooks, MakingRoom
from ullage.kube.scheduler.messages import why_waits
from ullage.kube.scheduler.reasons import WRITERS, Reason, Reasons
from ullage.kube.scheduler.staying import Staying
from ullage.kube.scheduler.waiting_line import WaitingLine, first_of
from ullage.model.cluster import Workload
from ullage.model.delta import Delta
from ullage.model.policy import Policy
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

IDLE_SECONDS: Final = 5.0
GATHER_SECONDS: Final = 0.005
"""How long a change waits for others, so that they are judged together."""
GANG_TRIES_MAX: Final = 5
"""How often in a row the room of a pod is kept whose gang runs already, while it cannot be bound."""


class Figures(NamedTuple):
    """What a scheduler has done so far; those it has evicted are counted beside."""

    cycles: int = 0
    bound: int = 0
    failed: int = 0


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
        self._now = now
        self._acts = Acts()
        hooks = BindingHooks(
            self._uid, following.mirror.has_node, self._is_bound, self._is_not_bound, self._waits_long
        )
        self._binders = Binders(actions, preparing, hooks, self._acts)
        self._gates = Gates()
        self._reasons = Reasons(self._tell, self.is_binding)
        self._assumptions = Assumptions(self._uid)
        self._holds = Holds(self._claim_uid, now)
        self._staying = Staying()
        self._room = MakingRoom(actions, Hooks(self._facts, self._take_back, self._stays, self._gives_up))
        self._line = WaitingLine(tuple(names), self._assumptions.is_bound)
        self._policy: Policy | None = None
        self._nominated: dict[str, str] = {}
        self._kept_room = KeptRoom(now)
        self._explaining = Explaining(self._say_why_not)
        self._given_back: dict[str, Workload] = {}
        self.figures = Figures()

    @property
    def waiting(self) -> tuple[int, int]:
        """How many pods wait for a place, and for how many of them room is being made."""
        return len(self._line), len(self._nominated)

    @property
    def evicted(self) -> int:
        """How many pods made room for others."""
        return self._room.evicted

    def is_binding(self) -> bool:
        """Whether pods wait to be bound that have a place."""
        return self._binders.is_busy

    # The loop

    async def run(self) -> None:
        """Schedule until cancelled, or until this process leads no more; raises what goes wrong beside."""
        for _ in range(BINDERS):
            self._acts.begin(self._binders.work())
        for _ in range(WRITERS):
            self._acts.begin(self._reasons.write())
        tasks = [asyncio.create_task(each) for each in (self._schedule(), self._acts.died())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._acts.stop()

    async def _schedule(self) -> None:
        while self._actions.leading.leads:
            await self.cycle()
            await self._wait()

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
        waiting = first_of(waiting, self._nominated, in_turn=bool(len(columns.snapshot.quotas)))
        columns, waiting, served = await self._keep_promises(columns, waiting)
        waiting = [self._kept_room.judged(each) for each in waiting]
        done = await self._judged(columns, waiting)
        self.figures = self.figures._replace(cycles=self.figures.cycles + 1)
        asked = {each.key: each for each in waiting}
        columns = self._assume(columns, done, asked)
        told = done._replace(nominated=(*served, *done.nominated))
        await self._explaining.tell(columns, told, asked)
        return done

    def _nominated_besides(self, waiting: Iterable[Workload]) -> list[Workload]:
        """Return the pods that have a place later and no turn now: nobody else may have it meanwhile."""
        asked = {each.key for each in waiting}
        besides = (self._line.get(key) for key in self._nominated if key not in asked)
        return [each for each in besides if each is not None and not self._assumptions.is_bound(each.key)]

    async def _keep_promises(
        self, columns: Columns, waiting: list[Workload]
    ) -> tuple[Columns, list[Workload], Sequence[Nominated]]:
        """Bind pods for which the ledger holds room to where that is; return who waits besides, or there.

        They alone may use it. Whoever cannot use it there is judged with all others, who then may, too.
        """
        places = dict(self._following.room.places)
        served = [each for each in waiting if each.key in places]
        if not served:
            return columns, waiting, ()
        columns = self._lend(each.key for each in served)
        there = [msgspec.structs.replace(each, node=places[each.key]) for each in served]
        done = (await self._judged(columns, there))._replace(unplaced=())
        self._assume(columns, done, {each.key: each for each in served})
        decided = {each.workload for each in done.bound} | {each.workload for each in done.nominated}
        left = [each for each in waiting if each.key not in decided]
        return self._lend(each.key for each in left), left, done.nominated

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

    async def _judged(self, columns: Columns, waiting: list[Workload]) -> Cycle:
        """Judge in another thread, so that binding goes on; nothing is changed meanwhile."""
        nominated = dict(self._nominated)
        return await asyncio.to_thread(schedule, columns, waiting, nominated=nominated, names_remedies=False)

    def _catch_up(self) -> Columns:
        """Take what has changed into account, and what did not happen after all."""
        seen = self._holds.applied(self._assumptions.applied(self._following.take()))
        delta = self._staying.applied(seen, self._now())
        columns = self._advance(delta)
        fresh = {row.key for row in delta.workloads} | set(delta.dropped.get("workloads", ()))
        given_back = ((key, row) for key, row in self._given_back.items() if key not in fresh)
        back = [self._staying.shown(row, self._now()) for _, row in given_back]
        self._given_back.clear()
        if back:
            columns = self._advance(Delta(workloads=tuple(back)))
        self._line.seen(delta)
        if back:  # the room of one who was not bound, or somebody who has to be asked to go again
            self._line.moved()
        for row in back:
            self._line.put_back(row, self._now())
        self._keep_room_of_gangs(back, columns)
        kept = [row for row in back if row.key in self._line and self._kept_room.is_kept(row.key)]
        for row in (*delta.workloads, *kept):
            facts = self._facts(row.key) if row.key in self._line else None
            if facts is None or self._kept_room.is_spent(row.key):
                continue
            if facts.nominated_node:  # by the replica that led before, perhaps
                self._nominated.setdefault(row.key, facts.nominated_node)
        self._kept_room.forget(lambda key: key in self._line or self._assumptions.is_bound(key))
        self._binders.forget(self._assumptions.is_bound)
        for key in [key for key in self._nominated if key not in self._line]:
            del self._nominated[key]
        self._explaining.keep(lambda key: key in self._line)
        return columns

    def _keep_room_of_gangs(self, back: Iterable[Workload], columns: Columns) -> None:
        """Let those who were not bound keep their room while others of their gang run."""
        again = [
            each
            for each in back
            if each.gang and each.key in self._line and self._line.tries(each.key) <= GANG_TRIES_MAX
        ]
        everybody = columns.snapshot.workloads if again else ()
        running = {gang_key(each) for each in everybody if each.gang and each.node}
        for each in again:
            if gang_key(each) in running:
                self._nominated[each.key] = ""
                self._line.has_place_later(each.key, self._now())

    def _assume(self, columns: Columns, done: Cycle, asked: Mapping[str, Workload]) -> Columns:
        """Take for granted what was decided, begin to do it, and return the cluster after it."""
        changed = self._following.mirror.has_changed  # who is not any more as it was judged is judged anew
        late = self._without_room(columns, done, asked)
        gangs = {gang_key(each) for key, each in asked.items() if each.gang and (changed(key) or key in late)}
        bound = [
            each
            for each in done.bound
            if not changed(each.workload)
            and each.workload not in late
            and gang_key(asked[each.workload]) not in gangs
        ]
        taken = {each.workload for each in bound}
        for each in done.bound:
            if each.workload not in taken and asked[each.workload].volumes:
                self._holds.give_room_back(each.workload)
        gates = self._gates.joined([asked[each.workload] for each in bound], columns.snapshot)
        rows = [self._assumptions.bind(asked[each.workload], each.node) for each in bound]
        self._line.take(each.workload for each in bound)
        for each in bound:
            self._nominated.pop(each.workload, None)
            gate = gates.get(gang_key(asked[each.workload]))
            binding = Binding(asked[each.workload], each, self._uid(each.workload), gate)
            if binding.workload.volumes:
                held = self._holds.hold(binding.workload, each, columns.snapshot)
                columns = self._advance(held)
            self._binders.begin(binding)
        for later in done.nominated:
            if changed(later.workload):
                continue
            self._line.has_place_later(later.workload, self._now())
            self._nominated[later.workload] = later.node
            self._reasons.drop(later.workload)
            rows += self._begin_to_make_room(later, columns)
        for unplaced in done.unplaced:
            self._line.had_no_place(unplaced.workload, self._now())
            if self._nominated.pop(unplaced.workload, ""):
                self._acts.begin(self._nominate(unplaced.workload, ""))
        return self._advance(Delta(workloads=tuple(rows)))

    def _without_room(self, columns: Columns, done: Cycle, asked: Mapping[str, Workload]) -> set[str]:
        """Return who was to have what others of the same cycle have of a published capacity: judged anew."""
        late: set[str] = set()
        for each in done.bound:
            workload = asked[each.workload]
            if workload.volumes and not self._holds.take_room(workload, each, columns.snapshot):
                late.add(each.workload)
        return late

    # Acting

    def _is_bound(self, binding: Binding) -> None:
        key, node = binding.bound.workload, binding.bound.node
        self._holds.settle(key)
        self.figures = self.figures._replace(bound=self.figures.bound + 1)
        self._actions.say(key, binding.uid, "Scheduled", f"assigned {key} to {node}")

    def _is_not_bound(self, binding: Binding, error: NotDoneError) -> None:
        """Let a pod wait again that was not bound, with all that was held for it.

        Another one of its name may be on its way already: of that nothing is given back.
        """
        key, uid = binding.bound.workload, binding.uid
        self.figures = self.figures._replace(failed=self.figures.failed + 1)
        if self._assumptions.identifier(key) in {"", uid}:
            self._holds.let_go(key)
            self._take_back(key)
        if not error.is_for_good:
            note = f"not bound to {binding.bound.node}: {error}"
            self._reasons.say(key, Reason(uid, note, has_place=True))

    def _waits_long(self, binding: Binding) -> None:
        self._acts.begin(self._say_waits(binding))

    async def _say_waits(self, binding: Binding) -> None:
        facts = self._facts(binding.bound.workload)
        if facts is not None and facts.uid == binding.uid:
            with contextlib.suppress(NotDoneError):
                message = why_waits(binding.workload, binding.bound.node)
                await self._actions.say_waits(binding.bound.workload, facts, message)

    def _begin_to_make_room(self, later: Nominated, columns: Columns) -> list[Workload]:
        """Evict those who are in the way of a pod, and return them as they count from now on.

        Who is only being bound is not deleted for it: it waits again, unless it is bound first.
        """
        rows, victims = [], []
        for victim in later.evicted:
            key = victim.workload
            running = columns.snapshot.workloads.get(key)
            if running is None or self._following.mirror.is_renewed(key):
                continue
            if self._assumptions.is_bound(key):
                self._binders.make_way(key, self._assumptions.identifier(key))
            elif not self._assumptions.is_leaving(key):
                rows.append(self._assumptions.evict(running))
                victims.append((victim, self._assumptions.identifier(key)))
        self._acts.begin(self._room.make(later, victims))
        return rows

    def _stays(self, key: str, uid: str) -> None:
        """Take note that a pod cannot be evicted."""
        seen = self._assumptions.seen(key)
        if seen is not None:
            self._staying.refuse(seen, uid, self._now())

    def _gives_up(self, key: str, why: str) -> None:
        """Let a pod wait for another place than the one that it was to have."""
        if key in self._line:
            self._line.had_no_place(key, self._now())
        self._nominated.pop(key, None)
        self._explaining.forget(key)
        self._acts.begin(self._nominate(key, "", why))

    def _take_back(self, key: str) -> None:
        """Show a pod as it was last seen: what was taken for granted of it has not happened."""
        seen = self._assumptions.forget(key)
        if seen is not None:
            self._given_back[key] = seen
            self._following.changed.set()

    async def _nominate(self, key: str, node: str, why: str = "") -> None:
        facts = self._facts(key)
        if facts is not None:
            with contextlib.suppress(NotDoneError):
                await self._actions.nominate(key, facts, node, why)

    def _say_why_not(self, key: str, message: str) -> bool:
        return self._reasons.say(key, Reason(self._uid(key), message))

    async def _tell(self, key: str, reason: Reason) -> None:
        """Tell a pod why it has no node, if it still waits for one."""
        facts = self._facts(key)
        waits = key in self._line or key in self._given_back
        if facts is None or facts.uid != reason.uid or not waits:
            return
        say = self._actions.say_not_bound if reason.has_place else self._actions.say_why_not
        try:
            await say(key, facts, reason.message)
        except NotDoneError:
            self._explaining.forget(key)

    def _facts(self, key: str) -> PodFacts | None:
        return self._following.mirror.facts(key)

    def _claim_uid(self, key: str) -> str:
        facts = self._following.mirror.claim(key)
        return facts.uid if facts else ""

    def _uid(self, key: str) -> str:
        facts = self._facts(key)
        return facts.uid if facts else ""
