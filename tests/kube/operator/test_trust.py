"""Every replica serves with what the Secret holds; the leader makes it, renews it and has it trusted."""

import asyncio
import base64
import contextlib
import ssl
from datetime import UTC, datetime, timedelta

from ullage.kube.operator.certificates import VALID_DAYS, Certificate, is_good, make, service_names
from ullage.kube.operator.trust import CONFIGURATION, SECRET, Trust
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

FIELDS = ("tls.crt", "tls.key", "ca.crt")
HOOKS = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{CONFIGURATION}"


class Replica(Trust):
    """A replica that leads or not, at a time of its own."""

    def __init__(self, client: ApiClient, namespace: str, *, leads: bool) -> None:
        self.is_leader = leads
        self.at = datetime.now(UTC)
        super().__init__(client, namespace, leads=lambda: self.is_leader, now=lambda: self.at)

    def serves(self) -> Certificate | None:
        return self._loaded


class World:
    """A namespace, its Secret, the registration of the webhook, and two replicas."""

    def __init__(self, plane, namespace: str, client: ApiClient) -> None:
        self.plane, self.namespace = plane, namespace
        self.leader = Replica(client, namespace, leads=True)
        self.other = Replica(client, namespace, leads=False)
        self.secret_path = f"/api/v1/namespaces/{namespace}/secrets/{SECRET}"

    def secret(self) -> Certificate:
        data = self.plane.get(self.secret_path)["data"]
        return Certificate(*(base64.b64decode(data[name]) for name in FIELDS))

    def trusted(self) -> set[bytes]:
        hooks = self.plane.get(HOOKS)["webhooks"]
        return {base64.b64decode(each["clientConfig"].get("caBundle", "")) for each in hooks}

    def damage(self, **data: bytes) -> None:
        texts = {name.replace("_", "."): base64.b64encode(text).decode() for name, text in data.items()}
        self.plane.patch(self.secret_path, {"data": texts})


def registration(namespace: str) -> dict:
    hook = {
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "rules": [
            {
                "apiGroups": ["nobody.example"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["x"],
            }
        ],
        "clientConfig": {"service": {"name": "ullage-webhook", "namespace": namespace, "path": "/validate"}},
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": CONFIGURATION},
        "webhooks": [{**hook, "name": f"{name}.ullage.dev"} for name in ("quotas", "policies")],
    }


def run(plane, work) -> None:
    async def whole(namespace: str) -> None:
        client = ApiClient(find_access(kubeconfig=str(plane.kubeconfig())))
        try:
            await work(World(plane, namespace, client))
        finally:
            await client.close()

    with plane.scratch() as namespace:
        plane.create(registration(namespace))
        asyncio.run(whole(namespace))


def is_accepted(server: ssl.SSLContext, authorities: bytes, name: str) -> bool:
    """Whether a client that trusts these authorities shakes hands with a server."""
    client = ssl.create_default_context(cadata=authorities.decode())
    one, two = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [client.wrap_bio(one, two, server_hostname=name), server.wrap_bio(two, one, server_side=True)]
    for _ in range(6):
        for side in sides:
            with contextlib.suppress(ssl.SSLWantReadError):
                try:
                    side.do_handshake()
                except ssl.SSLCertVerificationError:
                    return False
    return sides[0].getpeercert() is not None


def test_the_leader_makes_it_once_and_every_replica_serves_it(plane):
    async def work(world: World) -> None:
        await world.other.look()
        assert not world.other.ready.is_set()
        await world.leader.look()
        assert world.leader.ready.is_set()
        made = world.secret()
        assert world.trusted() == {made.authorities}
        await world.other.look()
        assert world.other.ready.is_set()
        assert world.leader.serves() == world.other.serves() == made
        name = f"ullage-webhook.{world.namespace}.svc"
        assert is_accepted(world.other.context, made.authorities, name)
        assert not is_accepted(world.other.context, make((name,), datetime.now(UTC)).authorities, name)
        revision = world.plane.get(world.secret_path)["metadata"]["resourceVersion"]
        await world.leader.look()
        assert world.plane.get(world.secret_path)["metadata"]["resourceVersion"] == revision

    run(plane, work)


def test_it_is_renewed_before_it_ends_and_at_every_moment_what_is_served_is_trusted(plane):
    async def work(world: World) -> None:
        await world.leader.look()
        await world.other.look()
        old = world.secret()
        name = f"ullage-webhook.{world.namespace}.svc"

        def all_are_trusted() -> bool:
            (trusted,) = world.trusted()
            return all(is_accepted(each.context, trusted, name) for each in (world.leader, world.other))

        world.leader.at += timedelta(days=VALID_DAYS - 100)
        assert not is_good(old, service_names("ullage-webhook", world.namespace), world.leader.at)
        await world.leader.look()
        new = world.secret()
        assert new.certificate != old.certificate
        assert world.trusted() == {new.authorities}
        assert old.authorities in new.authorities
        assert world.leader.serves() == world.other.serves() == old
        assert all_are_trusted()
        await world.leader.look()
        assert (world.leader.serves(), world.other.serves()) == (new, old)
        await world.other.look()
        assert world.other.serves() == new

    run(plane, work)


def test_a_secret_that_is_damaged_is_replaced_and_what_is_served_meanwhile_stays_trusted(plane):
    async def work(world: World) -> None:
        await world.leader.look()
        await world.other.look()
        old = world.secret()
        for damage in (
            {"tls_crt": b"nonsense"},
            {"tls_key": b""},
            {"tls_crt": b"nonsense", "ca_crt": b"nonsense"},
            {"ca_crt": b""},
        ):
            world.damage(**damage)
            await world.other.look()
            assert world.other.serves() == old
            await world.leader.look()
            new = world.secret()
            assert is_good(new, service_names("ullage-webhook", world.namespace), world.leader.at)
            assert old.authorities.split(b"-----END")[0] in new.authorities
            for replica in (world.leader, world.other):
                await replica.look()
                assert replica.serves() == new
            old = new
        world.plane.patch(world.secret_path, {"data": {"tls.crt": None}})
        await world.leader.look()
        assert is_good(world.secret(), service_names("ullage-webhook", world.namespace), world.leader.at)
        world.plane.delete(world.secret_path)
        await world.leader.look()
        assert is_good(world.secret(), service_names("ullage-webhook", world.namespace), world.leader.at)

    run(plane, work)


def test_what_the_api_server_was_told_otherwise_is_put_right(plane):
    async def work(world: World) -> None:
        await world.leader.look()
        wrong = base64.b64encode(make(("x",), datetime.now(UTC)).authorities).decode()
        change = [{"op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": wrong}]
        world.plane.patch(HOOKS, change, "json")
        await world.other.look()
        assert len(world.trusted()) == 2
        await world.leader.look()
        assert world.trusted() == {world.secret().authorities}
        world.plane.delete(HOOKS)
        await world.leader.look()

    run(plane, work)
