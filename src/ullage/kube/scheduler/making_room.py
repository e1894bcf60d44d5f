"""Making room for a pod: its place is said to be its own, and those in it are evicted one after the other.

Nobody is evicted in vain: not for a pod that is gone meanwhile, nobody before all of them were tried, and
nobody more once one of them stays.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ullage.engine.placement.outcome import Evicted
from ullage.engine.placement.scheduling import Nominated
from ullage.kube.scheduler.actions import Actions, NotDoneError
from ullage.kube.scheduler.messages import why_evicted, why_later
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts


class Hooks(NamedTuple):
    """What becomes of those who do not go: `spared` go on as they were, `stays` is one who cannot be evicted.

    `given_up` is a pod that will not have its place, and why.
    """

    facts: Callable[[str], PodFacts | None]
    spared: Callable[[str], None]
    stays: Callable[[str, str], None]
    given_up: Callable[[str, str], None]


class MakingRoom:
    """The evictions of a scheduler."""

    def __init__(self, actions: Actions, hooks: Hooks) -> None:
        self._actions = actions
        self._hooks = hooks
        self.evicted = 0

    async def make(self, later: Nominated, victims: Sequence[tuple[Evicted, str]]) -> None:
        """Say where a pod will run, and evict those that are in its way; these come with their identifiers.

        Where one of them would stay, all do; where one stays all the same, those after it do too.
        """
        facts = self._hooks.facts(later.workload)
        left = list(victims)
        try:
            if facts is not None and await self._is_told(later, facts) and await self._would_go(left, later):
                while left and self._is_there(later.workload, facts.uid):
                    if not await self._evict(*left[0], later):
                        break
                    left.pop(0)
        finally:
            for victim, _ in left:
                self._hooks.spared(victim.workload)

    def _is_there(self, key: str, uid: str) -> bool:
        facts = self._hooks.facts(key)
        return facts is not None and facts.uid == uid

    async def _is_told(self, later: Nominated, facts: PodFacts) -> bool:
        """Say where a pod will run; return whether it is still there."""
        why = why_later(later)
        try:
            await self._actions.nominate(later.workload, facts, later.node, why)
        except NotDoneError as error:
            return not error.is_for_good
        self._actions.say(later.workload, facts.uid, "WaitingForRoom", why)
        return True

    async def _would_go(self, victims: Sequence[tuple[Evicted, str]], later: Nominated) -> bool:
        """Try whether all would go; of one alone its eviction tells."""
        if len(victims) > 1:
            for victim, uid in victims:
                if not await self._evict(victim, uid, later, is_trial=True):
                    return False
        return True

    async def _evict(self, victim: Evicted, uid: str, later: Nominated, *, is_trial: bool = False) -> bool:
        """Evict one, or try it; return whether it goes."""
        try:
            await self._actions.evict(victim.workload, uid, is_trial=is_trial)
        except NotDoneError as error:
            note = f"not evicted for {later.workload}: {error}"
            self._actions.say(victim.workload, uid, "NotEvicted", note, is_warning=True)
            if error.is_for_good:
                self._hooks.stays(victim.workload, uid)
                self._hooks.given_up(later.workload, f"{victim.workload} is not evicted for it: {error}")
            return False
        if is_trial:
            return True
        self.evicted += 1
        note = why_evicted(victim.reason, later.workload, later.node)
        self._actions.say(victim.workload, uid, "Preempted", note, is_warning=True)
        return True
