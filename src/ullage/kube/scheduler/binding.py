"""Pods that are being bound: several at a time, those that wait for volumes beside.

Whatever goes wrong with one of them gives it back, with all that was held for it: nobody is bound who makes
way for another pod, or whose node is gone, and nobody is forgotten. Of a gang with volumes nobody is bound
before enough can be.
"""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from ullage.engine.placement.scheduling import Bound
from ullage.kube.scheduler.actions import Actions, NotDoneError, Preparing
from ullage.kube.scheduler.acts import Acts
from ullage.kube.scheduler.gang_gate import GangGate
from ullage.model.cluster import Workload

BINDERS: Final = 48
WAITS_SECONDS: Final = 10.0
"""How long volumes or others of a gang may be waited for before a pod is told so."""
MAKES_WAY: Final = "it makes way for another pod"


class Binding(NamedTuple):
    """A pod as it was judged, what was decided, which pod of its name that was, and whom it waits for."""

    workload: Workload
    bound: Bound
    uid: str
    gate: GangGate | None = None


class Hooks(NamedTuple):
    """Who has a name now, which nodes there are, and what becomes of a pod.

    It is `done`, or `given_back` with why it is not bound; one that `waits` is still to become either.
    """

    uid: Callable[[str], str]
    has_node: Callable[[str], bool]
    done: Callable[[Binding], None]
    given_back: Callable[[Binding, NotDoneError], None]
    waits: Callable[[Binding], None]


class Binders:
    """The bindings of a scheduler."""

    def __init__(self, actions: Actions, preparing: Preparing | None, hooks: Hooks, acts: Acts) -> None:
        self._actions = actions
        self._preparing = preparing
        self._hooks = hooks
        self._acts = acts
        self._waiting: asyncio.Queue[Binding] = asyncio.Queue()
        self._unwanted: dict[str, str] = {}
        self._at_gates: dict[str, GangGate] = {}

    @property
    def is_busy(self) -> bool:
        """Whether pods wait to be bound that have a place."""
        return not self._waiting.empty()

    def begin(self, binding: Binding) -> None:
        """Bind a pod as soon as its turn comes; one with volumes, which may take long, keeps none waiting."""
        if binding.workload.volumes or binding.gate is not None:
            self._acts.begin(self._bind(binding))
        else:
            self._waiting.put_nowait(binding)

    def make_way(self, key: str, uid: str) -> None:
        """Do not bind a pod after all, unless that is done already: it waits for nothing any more."""
        self._unwanted[key] = uid
        if self._preparing is not None:
            self._preparing.stop(key, MAKES_WAY)
        if key in self._at_gates:
            self._at_gates[key].look()

    def forget(self, is_bound: Callable[[str], bool]) -> None:
        """Forget who was to make way and is not being bound any more."""
        for key in [key for key in self._unwanted if not is_bound(key)]:
            del self._unwanted[key]

    async def work(self) -> None:
        """Bind one pod after the other until cancelled."""
        while True:
            await self._bind(await self._waiting.get())

    async def _bind(self, binding: Binding) -> None:
        workload, bound, uid, _ = binding
        try:
            self._check(binding)
            if workload.volumes or binding.gate is not None:
                await self._made_ready(binding)
                self._check(binding)
            await self._actions.bind(bound.workload, uid, bound.node)
        except NotDoneError as error:
            await self._give_back(binding, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the pod and its room are not lost
            await self._give_back(binding, NotDoneError(f"{type(error).__name__}: {error}"))
        else:
            if self._preparing is not None:
                self._preparing.done(workload, bound)
            self._hooks.done(binding)

    def _check(self, binding: Binding) -> None:
        """Raise a NotDoneError where a pod is not to be bound any more."""
        key, node = binding.bound.workload, binding.bound.node
        if self._hooks.uid(key) != binding.uid:
            raise NotDoneError("the pod is gone", is_for_good=True)
        if not self._hooks.has_node(node):
            raise NotDoneError(f"node {node} is gone")
        if self._unwanted.get(key) == binding.uid:
            raise NotDoneError(MAKES_WAY)

    async def _made_ready(self, binding: Binding) -> None:
        """Wait for volumes, and for those of the gang; raises a NotDoneError where that is for nothing."""
        key, gate = binding.bound.workload, binding.gate
        tell = asyncio.get_running_loop().call_later(WAITS_SECONDS, self._hooks.waits, binding)
        try:
            if gate is not None:
                gate.refuse_failed()
            if self._preparing is not None and binding.workload.volumes:
                await self._preparing.prepare(binding.workload, binding.bound)
            if gate is not None:
                self._at_gates[key] = gate
                await gate.passed(key, lambda: self._check(binding))
        finally:
            self._at_gates.pop(key, None)
            tell.cancel()

    async def _give_back(self, binding: Binding, error: NotDoneError) -> None:
        key, gate = binding.bound.workload, binding.gate
        if self._unwanted.get(key) == binding.uid:
            del self._unwanted[key]
        if gate is not None:
            for other in gate.lost(key, str(error)):
                if self._preparing is not None:
                    self._preparing.stop(other, gate.why)
        try:
            if self._preparing is not None and binding.workload.volumes:
                await self._preparing.give_back(binding.workload, binding.bound)
        finally:
            if gate is not None:
                gate.leave(key, lambda: self._hooks.given_back(binding, error))
            else:
                self._hooks.given_back(binding, error)
