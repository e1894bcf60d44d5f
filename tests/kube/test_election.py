"""One of several leads: never two at a moment, whatever clocks say, and soon another when one is gone."""

import asyncio
import contextlib
import json

import pytest

from plane.proxy import Proxy
from ullage.kube.election import ALONE, Election
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

LEASE = {"lease_seconds": 3, "renew_seconds_max": 2, "retry_seconds": 0.1}


class Clock:
    """A clock of one replica: it goes as time goes, and says what it likes."""

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset

    def __call__(self) -> float:
        return asyncio.get_running_loop().time() + self.offset


@contextlib.asynccontextmanager
async def replicas(plane, namespace: str, *clocks: Clock, kubeconfig: str = ""):
    access = find_access(kubeconfig=kubeconfig or str(plane.kubeconfig()))
    clients = [ApiClient(access, tries_max=1) for _ in clocks]
    try:
        yield [
            Election(client, namespace=namespace, name="work", identity=f"r{number}", now=clock, **LEASE)
            for number, (client, clock) in enumerate(zip(clients, clocks, strict=True))
        ]
    finally:
        for client in clients:
            await client.close()


def run(plane, work) -> None:
    """Do something with a namespace of its own."""
    with plane.scratch() as namespace:
        asyncio.run(work(namespace))


def lease(plane, namespace: str) -> dict:
    return plane.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/work")["spec"]


def test_one_of_many_leads_and_no_other_while_it_renews(plane):
    async def work(namespace: str) -> None:
        # clocks that are years apart, one of which counts from below zero
        async with replicas(plane, namespace, Clock(), Clock(1e9), Clock(-1e9)) as all_of_them:
            waits = [asyncio.create_task(each.wait()) for each in all_of_them]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            (leader,) = [each for each, wait in zip(all_of_them, waits, strict=True) if wait.done()]
            keeping = asyncio.create_task(leader.keep())
            for _ in range(50):
                assert [each.leads for each in all_of_them].count(True) == 1
                assert leader.leads
                await asyncio.sleep(0.1)
            assert (await asyncio.to_thread(lease, plane, namespace))["holderIdentity"] == leader.identity
            for task in (keeping, *waits):
                task.cancel()
            await asyncio.gather(keeping, *waits, return_exceptions=True)

    run(plane, work)


def test_one_that_does_not_renew_stops_well_before_another_begins(plane):
    async def work(namespace: str) -> None:
        async with replicas(plane, namespace, Clock(500), Clock(-500)) as (first, second):
            await first.wait()
            assert first.leads
            gap = 0
            waiting = asyncio.create_task(second.wait())
            while not waiting.done():
                assert not second.leads
                gap += not first.leads
                await asyncio.sleep(0.02)
            assert gap > 10
            assert second.leads
            assert not first.leads
            assert not await first._try()
            assert not first.leads
            spec = await asyncio.to_thread(lease, plane, namespace)
            assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("r1", 1)

    run(plane, work)


def test_one_that_lets_go_is_followed_at_once(plane):
    async def work(namespace: str) -> None:
        async with replicas(plane, namespace, Clock(), Clock()) as (first, second):
            await first.wait()
            assert not await second._try()
            await second.release()
            assert first.leads
            await first.release()
            assert not first.leads
            assert await second._try()
            await first.release()
            assert (await asyncio.to_thread(lease, plane, namespace))["holderIdentity"] == "r1"

    run(plane, work)


def test_one_that_is_cut_off_keeps_the_lead_no_longer_than_it_may(plane):
    async def work(namespace: str) -> None:
        with Proxy(plane) as proxy:
            path = str(proxy.kubeconfig())
            async with replicas(plane, namespace, Clock(), kubeconfig=path) as (first,):
                await first.wait()
                with proxy.silence():
                    async with asyncio.timeout(20):
                        await first.keep()
                    assert not first.leads

    run(plane, work)


@pytest.mark.parametrize("status", [409, 500, 403])
def test_a_renewal_that_is_refused_takes_no_lead_and_loses_none_at_once(plane, status):
    async def work(namespace: str) -> None:
        with Proxy(plane) as proxy:
            path = str(proxy.kubeconfig())
            async with replicas(plane, namespace, Clock(), kubeconfig=path) as (first,):
                proxy.refuse(status, "POST", "/leases", times=1)
                assert not await first._try()
                assert await first._try()
                proxy.refuse(status, "PUT", "/leases", times=1)
                assert await first._try()
                assert await first._try()

    run(plane, work)


def test_a_lease_that_was_taken_by_somebody_else_is_no_more_ours(plane):
    async def work(namespace: str) -> None:
        async with replicas(plane, namespace, Clock()) as (first,):
            await first.wait()
            path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/work"
            await asyncio.to_thread(plane.patch, path, {"spec": {"holderIdentity": "somebody"}})
            assert not await first._try()
            assert not first.leads
            assert first.holder == "somebody"

    run(plane, work)


def test_only_who_made_the_lease_and_waited_for_nobody_knows_that_none_led_before(plane):
    async def work(namespace: str) -> None:
        async with replicas(plane, namespace, Clock(), Clock(), Clock()) as (first, second, third):
            await first.wait()
            assert not first.took_over
            waiting = asyncio.create_task(second.wait())
            await asyncio.sleep(2 * LEASE["retry_seconds"])
            await first.release()
            await waiting
            assert second.took_over
            await second.release()
            await third.wait()  # it finds the lease free at its first try, as in a rolling update
            assert third.took_over

    run(plane, work)


def test_who_waited_for_another_took_over_though_it_made_the_lease_anew(plane):
    async def work(namespace: str) -> None:
        async with replicas(plane, namespace, Clock(), Clock()) as (first, second):
            await first.wait()
            waiting = asyncio.create_task(second.wait())
            await asyncio.sleep(2 * LEASE["retry_seconds"])
            path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/work"
            await asyncio.to_thread(plane.delete, path)
            await waiting
            assert second.took_over

    run(plane, work)


def test_a_process_that_is_alone_leads():
    assert ALONE.leads


def test_what_is_written_is_a_lease_as_components_of_kubernetes_write_it(plane):
    async def work(namespace: str) -> None:
        async with replicas(plane, namespace, Clock()) as (first,):
            await first.wait()
            spec = await asyncio.to_thread(lease, plane, namespace)
            assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("r0", 3)
            taken = spec["acquireTime"]
            await first._try()
            again = await asyncio.to_thread(lease, plane, namespace)
            assert again["acquireTime"] == taken
            assert again["renewTime"] > spec["renewTime"]
            assert json.dumps(again["leaseTransitions"]) == "0"

    run(plane, work)
