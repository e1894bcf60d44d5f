"""The extender as a process: every replica answers, the one that leads binds and evicts."""

import os
import socket
import ssl
from collections.abc import Sequence
from typing import NamedTuple

from ullage.kube.election import ALONE
from ullage.kube.extender.answers import Answers
from ullage.kube.extender.binding import Binder
from ullage.kube.extender.claiming import Claiming
from ullage.kube.extender.outlook import Outlook
from ullage.kube.extender.relay import identity, own_host, relay, trusting
from ullage.kube.extender.wire import BindingArgs
from ullage.kube.running import Options, Process, run
from ullage.kube.scheduler.actions import Actions
from ullage.kube.scheduler.volumes import Volumes
from ullage.kube.serving import Served, serve
from ullage.model.errors import InputError


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
    named = identity(
        f"{socket.gethostname()}-{os.getpid()}", listening.advertised or own_host(), listening.port
    )
    parts: list[_Parts] = []

    def of(process: Process) -> _Parts:
        if not parts:
            parts.append(_Parts(process, names))
        return parts[0]

    async def answer(process: Process) -> None:
        made = of(process)

        async def bind(key: str, uid: str, node: str) -> None:
            if made.actions.leading.leads:
                await made.binder.bind(key, uid, node)
                return
            namespace, _, name = key.partition("/")
            await relay(process.election.holder, BindingArgs(name, namespace, node, uid), trusted)

        answers = Answers(made.outlook, bind)
        served = Served()
        answers.serve(
            served, lambda verb: process.metrics.seconds(f"extender_{verb}", f"How long {verb} took.")
        )
        process.metrics.counter("extender_refused", "Pods that no node takes.", lambda: answers.refused)
        process.log.say("serves kube-scheduler", port=listening.port)
        await serve(served, host=listening.host, port=listening.port, tls=context)

    async def claim(process: Process) -> None:
        await of(process).claiming.run()

    run(options._replace(identity=named), claim, beside=answer)


class _Parts:
    """What answering and claiming share."""

    def __init__(self, process: Process, names: Sequence[str]) -> None:
        leading = process.election if process.options.elects_leader else ALONE
        self.actions = Actions(process.client, process.events, leading)
        self.outlook = Outlook(process.following, names)
        volumes = Volumes(process.client, process.following.mirror, leading)
        self.binder = Binder(self.outlook, self.actions, volumes)
        self.claiming = Claiming(self.outlook, self.actions)
        show = process.metrics
        show.counter("extender_bound", "Pods that were bound.", lambda: self.binder.bound)
        show.counter("extender_not_bound", "Pods that could not be bound.", lambda: self.binder.failed)
        show.counter("extender_evicted", "Pods evicted for quotas.", lambda: self.claiming.evicted)
