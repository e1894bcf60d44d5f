"""The extender as a process: every replica answers, the one that leads binds, evicts and tells of room."""

import contextlib
import os
import socket
import ssl
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ullage.kube.election import ALONE
from ullage.kube.extender.answers import Answers, Leader, answering
from ullage.kube.extender.binding import Binder
from ullage.kube.extender.claiming import Claiming
from ullage.kube.extender.gang_places import GangPlaces
from ullage.kube.extender.judging import Judging
from ullage.kube.extender.outlook import Outlook
from ullage.kube.extender.relay import identity, leader_path, own_host, relay, trusting
from ullage.kube.extender.telling import Conditions, Telling
from ullage.kube.extender.wire import BINDING_RESULT, BindingArgs
from ullage.kube.running import Options, Process, run
from ullage.kube.scheduler.actions import Actions, NotDoneError
from ullage.kube.scheduler.volumes import Volumes
from ullage.kube.serving import Door, Served, serve
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts


class Listening(NamedTuple):
    """Where the extender is asked; with a certificate and its key over TLS."""

    host: str = "0.0.0.0"  # noqa: S104 - kube-scheduler may ask from another host
    port: int = 8888
    advertised: str = ""
    certificate: str = ""
    key: str = ""

    def context(self) -> ssl.SSLContext | None:
        """Return what TLS is spoken with, if it is; raises an InputError."""
        if not self.certificate and not self.key:
            return None
        try:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self.certificate, self.key or None)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"certificate {self.certificate!r} with key {self.key!r} cannot be used: {error}",
                remedy="give --tls-certificate and --tls-key as PEM files that belong together",
            ) from None
        return context


def run_extender(options: Options, names: Sequence[str], listening: Listening) -> None:
    """Answer what kube-scheduler asks until told to end; raises an InputError."""
    context = listening.context()
    trusted = trusting(listening.certificate) if context is not None else None
    host = listening.advertised or own_host()
    named = identity(f"{socket.gethostname()}-{os.getpid()}", host, listening.port)
    made: list[_Extender] = []
    door = Door(listening.host, listening.port)  # kube-scheduler's questions wait while this begins anew

    def of(process: Process) -> _Extender:
        """Return what answers and claims for a process; one that begins anew has its own."""
        if not made or made[0].process is not process:
            made[:] = [_Extender(process, names, trusted)]
        return made[0]

    async def answer(process: Process) -> None:
        served = of(process).served()

        def ready() -> None:
            process.log.say("serves kube-scheduler", port=listening.port)

        await serve(served, host=listening.host, port=listening.port, tls=context, ready=ready, door=door)

    async def claim(process: Process) -> None:
        await of(process).lead()

    with contextlib.closing(door):
        run(options._replace(identity=named), claim, beside=answer)


class _Extender:
    """What answering and claiming share."""

    def __init__(self, process: Process, names: Sequence[str], trusted: ssl.SSLContext | None) -> None:
        self.process = process
        self._trusted = trusted
        leading = process.election if process.options.elects_leader else ALONE
        self._actions = Actions(process.client, process.events, leading, process.unanswered)
        self._outlook = Outlook(process.following, names)
        volumes = Volumes(process.client, process.following.mirror, leading)
        gangs = GangPlaces(self._outlook)
        self._judging = Judging(self._outlook, gangs)
        self._binder = Binder(self._outlook, self._actions, volumes, self._judging)
        self._telling = Telling(self._outlook, Conditions(process.client, leading).write)
        self._claiming = Claiming(
            self._outlook, self._actions, self._telling, gangs=gangs, make_way=self._binder.make_way
        )
        self._has_begun = False
        show = process.metrics
        show.counter("extender_bound", "Pods that were bound.", lambda: self._binder.bound)
        show.counter("extender_not_bound", "Pods that could not be bound.", lambda: self._binder.failed)
        show.counter("extender_evicted", "Pods that we evicted.", lambda: self._claiming.evicted)
        show.gauge("extender_held", "Pods for which a place is held.", lambda: len(self._outlook.held))
        show.counter("extender_told", "Times that room was told of.", lambda: self._telling.told)

    def served(self) -> Served:
        """Return what kube-scheduler asks, and other replicas."""
        metrics, served = self.process.metrics, Served()
        leader = Leader(self._judging, self._binder.make_way, self._bind, self._ask_leader, self._renounce)
        answers = Answers(self._outlook, leader)
        answers.serve(served, lambda verb: metrics.seconds(f"extender_{verb}", f"How long {verb} took."))
        metrics.counter("extender_refused", "Pods that no node takes.", lambda: answers.refused)
        here = Answers(self._outlook, leader._replace(bind=self._bind_here, ask=self._answers_here))
        for verb, answer in here.verbs().items():
            served.add("POST", leader_path(verb), answering(answer))
        return served

    async def lead(self) -> None:
        """Bind, evict and tell, for as long as this one leads."""
        if self.process.election.took_over:
            # what the one before did last may not have been seen yet, and room be given away twice
            await self.process.following.look_again()
        self._has_begun = True
        await self._claiming.run()

    async def _bind(self, key: str, uid: str, node: str) -> None:
        """Bind a pod, or have it bound by the replica that leads."""
        namespace, _, name = key.partition("/")
        told = await self._ask_leader("bind", msgspec.json.encode(BindingArgs(name, namespace, node, uid)))
        if told is None:
            await self._bind_here(key, uid, node)
        elif error := BINDING_RESULT.decode(told).error:
            raise NotDoneError(error)

    async def _ask_leader(self, verb: str, body: bytes) -> bytes | None:
        """Return what the replica that leads answers, nothing where that is this one."""
        if self._actions.leading.leads:
            self._require_begun()
            return None
        return await relay(self.process.election.holder, verb, body, self._trusted)

    async def _answers_here(self, verb: str, body: bytes) -> None:
        """Pass nothing on; raises a NotDoneError where this one does not lead after all."""
        del verb, body
        self._require_begun()

    async def _renounce(self, key: str, facts: PodFacts) -> None:
        await self._actions.nominate(key, facts, "")

    def _require_begun(self) -> None:
        if not self._has_begun or not self._actions.leading.leads:
            raise NotDoneError("no replica leads yet")

    async def _bind_here(self, key: str, uid: str, node: str) -> None:
        self._require_begun()
        await self._binder.bind(key, uid, node)
