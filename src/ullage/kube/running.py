"""A process of ours on a cluster, from its start to its end: who it is, whether it is well, when it stops.

It is alive while its loop turns, and ready once it follows the cluster. One that waits to lead is ready too:
it has to be there when it is needed. It ends at a signal, or when it leads no more, and lets go of its lease.
Where the types of resources change it begins anew: every amount that it has read was read by them.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import uvloop

from ullage.kube.election import Election
from ullage.kube.events import Events
from ullage.kube.following import FOLLOWED, Following
from ullage.kube.metrics import Metrics
from ullage.kube.resource_types import types_of_cluster
from ullage.kube.serving import TEXT, Response, Served, serve
from ullage.model.errors import InputError
from ullage.model.policy import Layer
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.left_out import Unreadable
from ullage.sources.kubernetes.capacity_policies import DEFAULT_PROFILE
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.kubeconfig import Access, find_access

NAMESPACE: Final = "ullage-system"
WAITING_SECONDS: Final = 10.0
"""How long it is not said why the cluster is not followed yet."""
LEFT_OUT_SECONDS: Final = 5.0
"""How often it is looked whether there are objects that cannot be read and were not named yet."""
ANSWER_SECONDS: Final = 8.0
"""How long a process that ends waits for the server to answer: shorter than its lease lasts."""
ELECTION_CONNECTIONS: Final = 2
_OK: Final = 200
_UNAVAILABLE: Final = 503


class Options(NamedTuple):
    """How a process is started; a port of 0 serves nothing."""

    component: str
    kubeconfig: str = ""
    context: str = ""
    as_user: str = ""
    namespace: str = ""
    elects_leader: bool = True
    host: str = "0.0.0.0"  # noqa: S104 - kubelets and Prometheus ask from outside
    port: int = 8080
    profile: str = DEFAULT_PROFILE
    settings: Mapping[str, str] = {}
    identity: str = ""


class Process:
    """What every process has: a client, the cluster it follows, events, an election, what it answers."""

    def __init__(
        self,
        options: Options,
        access: Access,
        client: ApiClient,
        kinds: tuple[Kind, ...],
        types: ResourceTypes | None = None,
    ) -> None:
        self.options = options
        self.types = types or ResourceTypes()
        self.client = client
        self.namespace = options.namespace or access.namespace or NAMESPACE
        # no other process may have it: not one of a host of the same name, nor the one that ran here before
        self.identity = options.identity or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        named = f"ullage-{options.component}"
        layer = Layer("command line", cluster=dict(options.settings)) if options.settings else None
        self.following = Following(
            access, client, kinds=kinds, profile=options.profile, types=self.types, layer=layer
        )
        self.events = Events(client, component=named, identity=self.identity)
        self.election = Election(
            client.lane(ELECTION_CONNECTIONS),  # a lease is renewed whatever else there is to write
            namespace=self.namespace,
            name=named,
            identity=self.identity,
        )
        self.served = Served()
        self.served.add("GET", "/healthz", self._is_alive)
        self.served.add("GET", "/readyz", self._is_ready)
        self.metrics = Metrics()
        self.served.add("GET", "/metrics", self.metrics.answer)
        self._show_figures()
        self.is_ready = False
        self.unanswered: set[asyncio.Task[None]] = set()
        """What was asked of the server and must be known before another replica leads."""
        self.log = Log(options.component)

    def _show_figures(self) -> None:
        show, following = self.metrics, self.following
        show.gauge("leads", "Whether this replica leads.", lambda: float(self.election.leads))
        show.gauge("ready", "Whether the cluster is followed.", lambda: float(self.is_ready))
        show.counter("lists", "How often a kind of objects was listed.", lambda: following.lists)
        show.gauge(
            "watch_failures", "Kinds that cannot be followed at the moment.", lambda: len(following.failures)
        )
        show.gauge(
            "unreadable_objects", "Objects that are left out.", lambda: len(following.mirror.unreadable)
        )
        show.counter("events_dropped", "Events that came too fast.", lambda: self.events.dropped)

    async def _is_alive(self, _: bytes) -> Response:
        return Response(_OK, b"ok\n", TEXT)

    async def _is_ready(self, _: bytes) -> Response:
        if not self.is_ready:
            return Response(_UNAVAILABLE, b"the cluster is not read yet\n", TEXT)
        return Response(_OK, b"ok\n", TEXT)


class Log:
    """Lines of JSON on standard error: what happened, to what, and when."""

    def __init__(self, component: str) -> None:
        self._component = component

    def say(self, message: str, **facts: Any) -> None:
        """Write one line."""
        line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "component": self._component}
        sys.stderr.write(msgspec.json.encode({**line, "message": message, **facts}).decode() + "\n")
        sys.stderr.flush()


Work = Callable[[Process], Awaitable[None]]


def run(
    options: Options, work: Work, *, kinds: tuple[Kind, ...] = FOLLOWED, beside: Work | None = None
) -> None:
    """Run a process until it is told to end; raises an InputError.

    `work` is for the one that leads, `beside` for every replica.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(options, work, kinds, beside))


async def _run(options: Options, work: Work, kinds: tuple[Kind, ...], beside: Work | None) -> None:
    access = find_access(options.context, options.kubeconfig)
    if options.as_user:
        access = access._replace(user=msgspec.structs.replace(access.user, impersonate=options.as_user))
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    while await _begins_anew(options, access, work, kinds, beside, stopped):
        pass


async def _begins_anew(  # noqa: PLR0917 - all that a process is started with
    options: Options,
    access: Access,
    work: Work,
    kinds: tuple[Kind, ...],
    beside: Work | None,
    stopped: asyncio.Event,
) -> bool:
    """Run a process to its end; return whether it is to begin anew, because types of resources changed."""
    client = ApiClient(access)
    log = Log(options.component)
    try:
        found = await types_of_cluster(client)
    except InputError:
        await client.close()
        raise
    process = Process(options, access, client, kinds, found.types())
    for name, why in found.problems.items():
        log.say("leaves out a ResourceType", name=name, why=why)
    lasting = [process.events.run(), process.following.died(), _say_what_is_left_out(process)]
    if options.port:
        lasting.append(serve(process.served, host=options.host, port=options.port))
    tasks = [asyncio.create_task(each) for each in lasting]
    main = asyncio.create_task(_lead(process, work, beside))
    ended = asyncio.create_task(stopped.wait())
    outdated = asyncio.create_task(process.following.outdated.wait())
    try:
        await asyncio.wait((main, ended, outdated, *tasks), return_when=asyncio.FIRST_COMPLETED)
        for each in (main, *tasks):
            if each.done():
                each.result()
        log.say("begins anew: ResourceTypes have changed" if outdated.done() else "ends")
        return outdated.done() and not stopped.is_set()
    finally:
        await _stop(process, [main, ended, outdated, *tasks])


async def _lead(process: Process, work: Work, beside: Work | None) -> None:
    """Follow the cluster, wait to lead, and work for as long as this one leads."""
    process.log.say("starts", identity=process.identity)
    telling = asyncio.create_task(_say_what_is_missing(process))
    try:
        await process.following.start()
    finally:
        await _cancelled([telling])
    process.is_ready = True
    process.log.say("follows the cluster")
    together: list[Coroutine[Any, Any, None]] = [_awaited(beside(process))] if beside else []
    if process.options.elects_leader:
        together.append(_work_as_leader(process, work))
    else:
        together.append(_awaited(work(process)))
    tasks = [asyncio.create_task(each) for each in together]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        await _cancelled(tasks)


async def _say_what_is_missing(process: Process) -> None:
    """Say from time to time what cannot be listed: a right that is missing, or a server that is away."""
    while True:
        await asyncio.sleep(WAITING_SECONDS)
        process.log.say("waits for the cluster", failures=process.following.failures)


async def _say_what_is_left_out(process: Process) -> None:
    """Say of each object that cannot be read, once, what is wrong with it."""
    said: set[Unreadable] = set()
    while True:
        found = process.following.mirror.unreadable
        for each in found:
            if each not in said:
                process.log.say("leaves out an object", kind=each.kind.name, key=each.key, why=each.why)
        said = set(found)
        await asyncio.sleep(LEFT_OUT_SECONDS)


async def _awaited(work: Awaitable[None]) -> None:
    await work


async def _work_as_leader(process: Process, work: Work) -> None:
    await process.election.wait()
    process.log.say("leads")
    tasks = [asyncio.create_task(_awaited(work(process))), asyncio.create_task(process.election.keep())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
        process.log.say("leads no more")
    finally:
        await _cancelled(tasks)


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _stop(process: Process, tasks: list[asyncio.Task[Any]]) -> None:
    """End everything, and let go of the lease: unless something may still happen that was asked for."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if process.unanswered:
        await asyncio.wait(process.unanswered, timeout=ANSWER_SECONDS)
    if process.unanswered:  # the lease ends by itself, when those have ended too
        process.log.say("keeps its lease: bindings are not answered", bindings=len(process.unanswered))
        await _cancelled(list(process.unanswered))
    else:
        with contextlib.suppress(InputError):
            await process.election.release()
    await process.following.stop()
    await process.client.close()
