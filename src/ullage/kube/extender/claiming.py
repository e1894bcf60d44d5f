"""Quotas that claim back what is theirs, beside a scheduler that does not know quotas.

kube-scheduler evicts by priority alone, and asks nobody about a pod that has the same priority as all others.
So a pod that it has found unschedulable, and whose quota gives it a right to the place of others, gets that
place here: they are evicted, and it is held for the pod until kube-scheduler has bound it. So does a gang,
which kube-scheduler does not know either, whether by a quota or by priority; and so does a pod of higher
priority for which a gang has to go that runs on several nodes: kube-scheduler evicts on one node only. Where
a look finds that a pod has a place without that, kube-scheduler is told (see telling).
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.gangs import gang_key
from ullage.engine.placement.outcome import Evicted
from ullage.engine.placement.scheduling import Cycle, Nominated, Unplaced, explain, schedule
from ullage.engine.quota.book import NO_QUOTA, Book
from ullage.engine.quota.validation import in_force
from ullage.kube.extender.gang_places import GangPlaces
from ullage.kube.extender.outlook import Outlook
from ullage.kube.extender.telling import Telling
from ullage.kube.scheduler.actions import SCHEDULED, UNSCHEDULABLE, Actions, NotDoneError
from ullage.kube.scheduler.explaining import KINDS_MAX
from ullage.kube.scheduler.messages import why_evicted, why_later, why_not
from ullage.kube.scheduler.waiting_line import first_of
from ullage.model.cluster import Workload
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

GATHER_SECONDS: Final = 0.1
"""How long a change waits for others, so that they are judged together."""
AGAIN_SECONDS: Final = 2.0
"""After how long it is looked again, if nothing happens before."""
CLAIMS_MAX: Final = 200
"""Pods of one look."""
NO_RIGHT: Final = "NoRightToRoom"
"""The event of a pod of a quota for which nobody goes."""
NO_ROOM: Final = "NoRoomForGang"
"""The event of a gang that no quota counts, and for which nobody goes."""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str = ""


_CONDITIONS: Final = msgspec.json.Decoder(list[_Condition])


class Claiming:
    """Evictions by quotas, for the replica that leads."""

    def __init__(
        self,
        outlook: Outlook,
        actions: Actions,
        telling: Telling,
        *,
        gangs: GangPlaces,
        now: Callable[[], float] = time.monotonic,
        make_way: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`make_way` has a pod that is only being bound wait again."""
        self._make_way = make_way
        self._gangs = gangs
        self._outlook = outlook
        self._actions = actions
        self._telling = telling
        self._now = now
        self.evicted = 0

    async def run(self) -> None:
        """Claim until cancelled, or until this process leads no more."""
        changed = self._outlook.following.changed
        while self._actions.leading.leads:
            changed.clear()
            await self.look()
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS):
                    await changed.wait()
            await asyncio.sleep(GATHER_SECONDS)

    async def look(self) -> None:
        """Look once at all who wait in vain: claim what quotas give them, and tell who has a place."""
        outlook = self._outlook
        columns = outlook.columns()
        book = Book(in_force(columns.snapshot.quotas))
        self._gangs.sweep()
        gathering = self._gangs.waited_for()
        waiting = {each.key: each for each in outlook.line.ready(self._now()) if self._was_tried(each.key)}
        waiting |= {each.key: each for each in self._telling.due()}
        waiting |= {each.key: each for each in self._others_of_gangs(waiting.values())}
        waiting = {key: each for key, each in waiting.items() if key not in gathering}
        in_turn = bool(len(columns.snapshot.quotas))
        asked = first_of(list(waiting.values()), outlook.held, CLAIMS_MAX, in_turn=in_turn)
        claims = [each for each in asked if self._may_claim(each, book)]
        claiming = {each.key for each in claims}
        counted = {each.key for each in claims if _is_counted(each, book)}
        places = await self._claim(columns, claims, counted) if claims else {}
        others = [each for each in asked if each.key not in claiming]
        if others and self._actions.leading.leads:
            places |= await self._telling.places(columns, others)
        if not self._actions.leading.leads:
            return
        for each in others:
            if each.key in outlook.line:
                outlook.line.had_no_place(each.key, self._now())
        await self._telling.tell([each.key for each in asked], places)
        refused = {key: node for key, node in self._gangs.waited_for().items() if self._was_tried(key)}
        await self._telling.tell_at_once(refused)

    def _others_of_gangs(self, waiting: Iterable[Workload]) -> list[Workload]:
        """Return all of the gangs of pods, whether they were tried or not: a gang is judged as a whole."""
        line = self._outlook.line
        gangs = {(each.namespace, each.gang) for each in waiting if each.gang}
        found = (line.get(key) for gang in sorted(gangs) for key in line.gang(*gang))
        return [each for each in found if each is not None]

    async def _claim(
        self, columns: Columns, waiting: list[Workload], counted: Collection[str]
    ) -> dict[str, str]:
        """Make room for pods, and return where those could run that need none to be made.

        Those whom a quota has `counted`, and gangs, are told where they have no right to any.
        """
        outlook = self._outlook
        asked = {each.key for each in waiting}
        judged = [*waiting, *outlook.held_besides(asked)]
        answered = outlook.nominations.answered
        cycle = _of_those(
            asked, await asyncio.to_thread(schedule, columns, judged, nominated=dict(outlook.held))
        )
        if not self._actions.leading.leads:
            return {}
        for later in cycle.nominated:
            if outlook.nominations.answered != answered:  # others go meanwhile: all is to be judged anew
                outlook.following.changed.set()
                return {}
            outlook.line.had_no_place(later.workload, self._now())
            await self._make_room(later)
        for unplaced in cycle.unplaced:
            outlook.line.had_no_place(unplaced.workload, self._now())
            outlook.let_go(unplaced.workload)
        await self._say_why(columns, cycle.unplaced, {each.key: each for each in waiting}, counted)
        for bound in cycle.bound:
            outlook.line.had_no_place(bound.workload, self._now())
            if bound.workload in outlook.held:
                outlook.held[bound.workload] = bound.node
        return {each.workload: each.node for each in cycle.bound}

    async def _say_why(
        self,
        columns: Columns,
        refused: Sequence[Unplaced],
        waiting: Mapping[str, Workload],
        counted: Collection[str],
    ) -> None:
        """Tell pods why there is no room for them and what would help: those of a gang what lets it run."""
        gangs = {gang_key(waiting[each.workload]) for each in refused} - {None}
        of_gangs = [each for each in waiting.values() if gang_key(each) in gangs]
        told = await asyncio.to_thread(explain, columns, of_gangs, KINDS_MAX) if of_gangs else {}
        for each in refused:
            facts, key = self._outlook.facts(each.workload), each.workload
            if facts is not None and (key in counted or waiting[key].gang):
                reason = NO_RIGHT if key in counted else NO_ROOM
                note = why_not(told.get(key) or each.refusal, len(columns.nodes))
                self._actions.say(key, facts.uid, reason, note, is_warning=True)

    def _was_tried(self, key: str) -> bool:
        facts = self._outlook.facts(key)
        return facts is not None and _was_tried_in_vain(facts)

    def _may_claim(self, workload: Workload, book: Book) -> bool:
        """Whether room is made here for a pod, of a quota or a gang or because kube-scheduler cannot."""
        facts = self._outlook.facts(workload.key)
        if facts is None or facts.nominated_node or workload.admitted:
            return False
        if self._outlook.nominations.unfinished(workload.key) is not None:
            return False
        if self._outlook.promised_to(workload.key):
            return False
        if workload.key in self._outlook.makes_room_for:
            return True
        return _is_counted(workload, book) or bool(workload.gang)

    async def _make_room(self, later: Nominated) -> None:
        """Hold a place for a pod, and evict those that are in it."""
        facts = self._outlook.facts(later.workload)
        if facts is None:
            return
        self._outlook.held[later.workload] = later.node
        self._actions.say(later.workload, facts.uid, "WaitingForRoom", why_later(later))
        for victim in later.evicted:
            if self._outlook.is_being_bound(victim.workload):
                self._make_way(victim.workload)
        left = [victim for victim in later.evicted if self._outlook.evict(victim.workload)]
        try:
            if len(left) > 1 and not await self._go(later, facts.uid, list(left), is_trial=True):
                return
            await self._go(later, facts.uid, left)
        finally:
            for victim in left:
                self._outlook.give_back(victim.workload)

    async def _go(
        self, later: Nominated, uid: str, victims: list[Evicted], *, is_trial: bool = False
    ) -> bool:
        """Evict pods one after the other, or try it; return whether all go. `victims` are those left."""
        while victims:
            now = self._outlook.facts(later.workload)
            if now is None or now.uid != uid:  # nobody goes for a pod that has gone
                return False
            if not await self._evict(victims[0], later, is_trial=is_trial):
                self._outlook.let_go(later.workload)
                return False
            victims.pop(0)
        return True

    async def _evict(self, victim: Evicted, later: Nominated, *, is_trial: bool) -> bool:
        """Evict one of those who are in the place of a pod; return whether that is not in vain."""
        facts = self._outlook.facts(victim.workload)
        if facts is None:  # it has gone by itself
            return True
        try:
            await self._actions.evict(victim.workload, facts.uid, is_trial=is_trial)
        except NotDoneError as error:
            if error.is_for_good:
                self._outlook.stays(victim.workload)
            else:
                self._outlook.give_back(victim.workload)
            note = f"not evicted for {later.workload}: {error}"
            self._actions.say(victim.workload, facts.uid, "NotEvicted", note, is_warning=True)
            return False
        if is_trial:
            return True
        self.evicted += 1
        note = why_evicted(victim.reason, later.workload, later.node)
        self._actions.say(victim.workload, facts.uid, "Preempted", note, is_warning=True)
        return True


def _is_counted(workload: Workload, book: Book) -> bool:
    return bool(book.quotas) and book.place_of(workload.namespace, workload.labels) != NO_QUOTA


def _of_those(asked: Collection[str], cycle: Cycle) -> Cycle:
    """Return what is to be done for those alone who have their turn."""
    return Cycle(
        tuple(each for each in cycle.bound if each.workload in asked),
        tuple(each for each in cycle.nominated if each.workload in asked),
        tuple(each for each in cycle.unplaced if each.workload in asked),
    )


def _was_tried_in_vain(facts: PodFacts) -> bool:
    """Whether a scheduler has said that there is no place for a pod."""
    if not facts.conditions:
        return False
    try:
        found = _CONDITIONS.decode(facts.conditions)
    except msgspec.DecodeError:
        return False
    return any((each.type, each.status, each.reason) == (SCHEDULED, "False", UNSCHEDULABLE) for each in found)
