"""The operator as a process: look, write what is otherwise than it should be, and again."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final, Protocol

from ullage.engine.columns import Columns
from ullage.kube.election import ALONE, led
from ullage.kube.following import FOLLOWED, FOR_PLACING
from ullage.kube.node_capacities import NODE_CAPACITY
from ullage.kube.operator.advice import Room
from ullage.kube.operator.beside import Beside, listing
from ullage.kube.operator.capacity import CapacityKeeper
from ullage.kube.operator.figures import Looks, show_groups, show_nodes, show_quotas, show_work
from ullage.kube.operator.holds import HoldKeeper
from ullage.kube.operator.nodes import NodeKeeper
from ullage.kube.operator.quotas import QuotaKeeper
from ullage.kube.operator.reservations import ReservationKeeper
from ullage.kube.operator.statuses import Statuses
from ullage.kube.operator.trust import Trust
from ullage.kube.operator.webhook import Webhook
from ullage.kube.operator.writing import Writing
from ullage.kube.running import Options, Process, run
from ullage.kube.serving import Door, Served, serve
from ullage.model.delta import Delta
from ullage.service.ledger_cluster import ApiPlans
from ullage.sources.kubernetes.api.client import CONNECTIONS_MAX
from ullage.sources.kubernetes.items import POD

KINDS: Final = (*(kind for kind in FOLLOWED if kind not in FOR_PLACING), NODE_CAPACITY)
"""What the operator follows: all that is counted, and what it has written about nodes."""
VALIDATE_PATH: Final = "/validate"
TRUST_CONNECTIONS: Final = 2
GATHER_SECONDS: Final = 0.1
"""How long a change waits for others, so that they are written together."""
LOOK_SECONDS: Final = 5.0
"""After how long all is looked at, if nothing happens before."""


class Keeper(Protocol):
    """Whoever keeps something on the cluster as it should be."""

    @property
    def wait_seconds(self) -> float | None:
        """After how long there is something to write, if nothing happens; None for never."""

    def seen(self, columns: Columns, delta: Delta) -> None:
        """Take a change of the cluster into account."""

    async def write(self, columns: Columns) -> None:
        """Write what should be otherwise; what fails is left for the next time."""


def run_operator(
    options: Options,
    webhook_port: int = 0,
    webhook_names: tuple[str, ...] = (),
    *,
    node_capacity: bool = True,
) -> None:
    """Keep the cluster as it should be until told to end; raises an InputError.

    The webhook is served by every replica, on a port of its own; 0 for none. Without `node_capacity` nodes
    have no NodeCapacity, and those that are there are deleted.
    """

    async def keep(process: Process) -> None:
        await operate(process, node_capacity=node_capacity)

    door = Door(options.host, webhook_port)

    async def answer(process: Process) -> None:
        await serve_webhook(process, door, webhook_port, webhook_names)

    with contextlib.closing(door):
        run(options, keep, kinds=KINDS, beside=answer if webhook_port else None)


async def serve_webhook(process: Process, door: Door, port: int, names: tuple[str, ...]) -> None:
    """Answer what API servers ask, as soon as there is a certificate.

    Where the process begins anew, what is asked meanwhile waits at the door: a closed one is a refusal.
    """
    following, mirror = process.following, process.following.mirror
    leading = process.election if process.options.elects_leader else ALONE
    client = led(process.client, leading, TRUST_CONNECTIONS)
    trust = Trust(client, process.namespace, leads=lambda: leading.leads, names=names)
    room = Room(process.types, mirror.nodes, following.policies.policy)
    beside = Beside(process.types, mirror.quotas, listing(client, process.types))
    webhook = Webhook(process.types, beside, following.type_objects, room)
    process.metrics.counter("webhook_reviews", "What API servers asked.", lambda: webhook.asked)
    process.metrics.counter("webhook_refusals", "What was refused.", lambda: webhook.refused)
    served = Served()
    served.add("POST", VALIDATE_PATH, webhook.answer)
    async with asyncio.TaskGroup() as group:
        group.create_task(trust.run())
        await trust.ready.wait()

        def ready() -> None:
            process.log.say("serves the webhook", port=port)

        host = process.options.host
        await serve(served, host=host, port=port, tls=trust.context, ready=ready, door=door)


async def operate(process: Process, *, node_capacity: bool = True) -> None:
    """Keep the cluster as it should be for as long as this one leads."""
    following, metrics, types = process.following, process.metrics, process.types
    leading = process.election if process.options.elects_leader else ALONE
    client = led(process.client, leading, CONNECTIONS_MAX)
    writing = Writing(leading, lambda why: process.log.say("cannot write", why=why))
    statuses = Statuses(client, process.events)
    quotas = QuotaKeeper(client, following, statuses, writing, process.events)
    capacity = CapacityKeeper(following, statuses, writing)
    nodes = NodeKeeper(client, following, statuses, writing, is_wanted=node_capacity)
    reservations = ReservationKeeper(client, following.mirror)
    metrics.counter("reservations_deleted", "Reservations that nobody needed.", lambda: reservations.deleted)
    holds = HoldKeeper(
        ApiPlans(client),
        following.plans,
        leading,
        now=following.now_seconds,
        say=lambda why: process.log.say("cannot end promises", why=why),
        hears_pods=lambda: following.hears(POD),
    )
    metrics.counter("promises_ended", "Promises of the ledger that were over.", lambda: holds.ended)
    looks = Looks()
    show_work(metrics, quotas, statuses, writing, looks)
    show_quotas(metrics, quotas, types)
    show_groups(metrics, capacity, types)
    show_nodes(metrics, nodes)
    reconciling = metrics.seconds("reconcile", "How long it takes to look at a change and to write.")
    keepers: Sequence[Keeper] = (quotas, capacity, nodes)
    while leading.leads:
        following.changed.clear()
        failures = writing.failures
        with reconciling.time():
            delta = following.take()
            columns = following.advance(delta)
            for keeper in keepers:
                keeper.seen(columns, delta)
            for keeper in keepers:
                await keeper.write(columns)
            if leading.leads:
                await reservations.look(columns.snapshot)
                await holds.look(columns.snapshot)
        if writing.failures == failures:
            looks.succeeded()
        waits = [each.wait_seconds for each in keepers if each.wait_seconds is not None]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min((LOOK_SECONDS, *waits))):
                await following.changed.wait()
        await asyncio.sleep(GATHER_SECONDS)
