"""Pods bound on the word of kube-scheduler, each judged once more by the cluster as it is now.

Between its filter and its bind others may have come: what does not hold any more is refused, and the pod is
scheduled anew. Of a gang nobody is bound before enough can be. The hard thing is the same bind asked for
twice, because an answer came too late: whoever asks again waits for the one that is under way.
"""

import asyncio
from functools import partial
from typing import NamedTuple

from ullage.kube.extender.gang_places import Lost
from ullage.kube.extender.judging import Decided, Judging
from ullage.kube.extender.outlook import Outlook
from ullage.kube.scheduler.actions import Actions, NotDoneError, Preparing
from ullage.kube.scheduler.binding import MAKES_WAY
from ullage.kube.scheduler.gang_gate import GangGate
from ullage.model.cluster import Workload


class _UnderWay(NamedTuple):
    """A bind that is being done."""

    node: str
    uid: str
    gate: GangGate | None
    task: asyncio.Task[None]


class Binder:
    """Binds pods, for the replica that leads."""

    def __init__(self, outlook: Outlook, actions: Actions, preparing: Preparing, judging: Judging) -> None:
        self._outlook = outlook
        self._judging = judging
        self._actions = actions
        self._preparing = preparing
        self._under_way: dict[str, _UnderWay] = {}
        self._unwanted: set[str] = set()
        self.bound = 0
        self.failed = 0

    async def bind(self, key: str, uid: str, node: str) -> None:
        """Bind a pod to a node; raises a NotDoneError where it is not."""
        known = self._under_way.get(key)
        if known is None:
            task = self._begin(key, uid, node)
            if task is None:
                return
        elif (known.node, known.uid) == (node, uid):
            task = known.task
        else:
            raise NotDoneError(f"it is being bound to {known.node}")
        await asyncio.shield(task)

    def make_way(self, key: str) -> None:
        """Do not bind a pod after all, unless that is done already; its volumes are not waited for."""
        if key in self._under_way:
            self._unwanted.add(key)
            self._preparing.stop(key, MAKES_WAY)
            gate = self._under_way[key].gate
            if gate is not None:
                gate.look()

    def _begin(self, key: str, uid: str, node: str) -> asyncio.Task[None] | None:
        """Judge a pod, take it for bound and begin to do it; nothing where it is bound there already."""
        self._outlook.catch_up()
        workload, facts = self._outlook.pod(key), self._outlook.facts(key)
        if workload is None or facts is None or facts.uid != uid:
            raise NotDoneError("there is no such pod", is_for_good=True)
        if workload.node == node:
            return None
        if workload.node or workload.state != "init":
            raise NotDoneError("it does not wait for a node", is_for_good=True)
        decided = self._judging.bound(workload, node)
        if isinstance(decided, str):
            self.failed += 1
            raise NotDoneError(decided)
        self._outlook.bind(workload, decided.bound)
        task = asyncio.create_task(self._bind(workload, uid, decided))
        self._under_way[key] = _UnderWay(node, uid, decided.gate, task)
        return task

    async def _bind(self, workload: Workload, uid: str, decided: Decided) -> None:
        key, (bound, gate) = workload.key, decided
        try:
            if workload.volumes:
                await self._preparing.prepare(workload, bound)
            check = partial(self._check, key, uid, bound.node)
            if gate is not None:
                await gate.passed(key, check)
            check()
            await self._actions.bind(key, uid, bound.node)
        except BaseException as error:
            self.failed += 1
            try:
                if workload.volumes and isinstance(error, Exception):
                    await self._preparing.give_back(workload, bound)
            finally:
                self._give_back(workload, decided, str(error))
            if isinstance(error, Exception) and not isinstance(error, NotDoneError):
                raise NotDoneError(f"{type(error).__name__}: {error}") from error
            raise
        else:
            self.bound += 1
            self._preparing.done(workload, bound)
            self._outlook.is_bound(key)
            self._end(key)

    def _check(self, key: str, uid: str, node: str) -> None:
        """Raise a NotDoneError where a pod is not to be bound any more."""
        facts = self._outlook.facts(key)
        if facts is None or facts.uid != uid:
            raise NotDoneError("the pod is gone", is_for_good=True)
        if not self._outlook.following.mirror.has_node(node):
            raise NotDoneError(f"node {node} is gone")
        if key in self._unwanted:
            raise NotDoneError(MAKES_WAY)

    def _give_back(self, workload: Workload, decided: Decided, why: str) -> None:
        """Let a pod wait again, and all of its gang that are not bound where too few of them can be."""
        given_back = partial(self._wait_again, workload.key)
        if decided.gate is None:
            given_back()
            return
        gone = Lost(workload, decided.bound.node, why, given_back)
        for other in self._judging.gangs.failed(decided.gate, gone):
            self._preparing.stop(other, decided.gate.why)

    def _wait_again(self, key: str) -> None:
        self._outlook.give_back(key)
        self._end(key)

    def _end(self, key: str) -> None:
        """Take note that nothing is being done for a pod any more: it is bound, or waits again."""
        del self._under_way[key]
        self._unwanted.discard(key)
