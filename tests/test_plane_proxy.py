"""The proxy before the test plane does what it is told, and otherwise changes nothing."""

import contextlib
import gc
import http.client
import json
import socket
import time
import warnings
from collections.abc import Iterator

import pytest

from plane.client import ApiError, Client
from plane.plane import Plane
from plane.proxy import Proxy
from plane.settings import API

pytestmark = pytest.mark.slow
NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(scope="module")
def bare(plane_program) -> Iterator[Plane]:
    with Plane(plane_program, parts=()) as running:
        yield running


@pytest.fixture
def proxy(bare) -> Iterator[Proxy]:
    with Proxy(bare) as running:
        yield running


@pytest.fixture
def client(bare, proxy) -> Iterator[Client]:
    found = Client(proxy.server, bare.token(), str(bare.folder / "proxy.pem"))
    with contextlib.closing(found):
        yield found


def namespace(name: str) -> dict:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def names(bare: Plane) -> set[str]:
    return {each["metadata"]["name"] for each in bare.items(NAMESPACES)}


def test_what_passes_is_what_the_plane_says(bare, proxy, client):
    assert client.get("/version") == bare.get("/version")
    large = client.create(
        {**namespace("large"), "metadata": {"name": "large", "annotations": {"a": "x" * 200_000}}}
    )
    assert client.get(f"{NAMESPACES}/large")["metadata"] == large["metadata"]
    assert client.delete(f"{NAMESPACES}/large")["kind"]
    assert ("GET", "/version", 200) in proxy.asked
    assert proxy.count("GET", "/version") == 1


def test_a_request_is_refused_as_often_as_told_and_only_it(bare, proxy, client):
    rule = proxy.refuse(409, "POST", r"/namespaces$", times=2, headers={"Retry-After": "1"})
    for _ in range(2):
        with pytest.raises(ApiError, match="409"):
            client.create(namespace("refused"))
    client.get(NAMESPACES)
    assert rule.used == 2
    assert "refused" not in names(bare)
    client.create(namespace("refused"))
    assert "refused" in names(bare)


def test_a_request_may_be_refused_though_it_was_done(bare, proxy, client):
    proxy.refuse(504, "POST", done=True)
    with pytest.raises(ApiError, match="504"):
        client.create(namespace("done"))
    assert "done" in names(bare)


@pytest.mark.parametrize("done", [True, False])
def test_a_connection_ends_before_or_after_the_plane_was_asked(bare, proxy, client, done):
    client.collection(namespace(""))
    proxy.cut("POST", done=done, times=2)
    with pytest.raises((OSError, http.client.HTTPException)):
        client.create(namespace(f"cut-{done}".lower()))
    assert (f"cut-{done}".lower() in names(bare)) == done
    assert ("POST", NAMESPACES, 0) in proxy.asked


def test_a_connection_ends_within_an_answer(proxy, client):
    proxy.cut("GET", after_bytes=100)
    with pytest.raises((OSError, http.client.HTTPException)):
        client.get(NAMESPACES)
    assert client.get(NAMESPACES)


def test_a_rule_may_be_taken_back(proxy, client):
    proxy.refuse(503, times=None)
    with pytest.raises(ApiError, match="503"):
        client.get(NAMESPACES)
    proxy.clear()
    assert client.get(NAMESPACES)


def test_a_watch_passes_event_by_event_until_all_is_cut(bare, proxy):
    connection = http.client.HTTPSConnection(
        proxy.server.removeprefix("https://"),
        context=Client(proxy.server, "", str(bare.folder / "proxy.pem"))._context,
    )
    connection.request("GET", f"{NAMESPACES}?watch=true", headers={"Authorization": f"Bearer {bare.token()}"})
    watch = connection.getresponse()
    bare.create(namespace("watched"))
    while json.loads(watch.readline())["object"]["metadata"]["name"] != "watched":
        pass
    proxy.cut_all()
    with contextlib.suppress(OSError, http.client.HTTPException):
        assert not watch.readline()
    connection.close()


def test_in_silence_an_answer_is_late_and_in_absence_there_is_none(proxy, client):
    impatient = http.client.HTTPSConnection(client._address, context=client._context, timeout=0.2)
    impatient.connect()
    with contextlib.closing(impatient), proxy.silence():
        impatient.request("GET", "/version")
        with pytest.raises(TimeoutError):
            impatient.getresponse()
        assert not proxy.asked
    with proxy.absence(), pytest.raises(ConnectionRefusedError):
        Client(proxy.server, "", str(proxy._certificate)).get("/version")
    assert client.get("/version")


def test_a_delay_is_one(proxy, client):
    proxy.delay(0.2, "GET", "/version")
    began = time.monotonic()
    assert client.get("/version")
    assert time.monotonic() - began >= 0.2


@pytest.mark.faults
def test_a_part_of_the_plane_can_be_stopped_and_started_again(bare, client):
    bare.create(namespace("stays"))
    bare.stop_part(API)
    with pytest.raises((OSError, http.client.HTTPException)):
        client.get("/version")
    bare.start_part(API)
    assert "stays" in names(bare)
    assert client.get("/version")


def test_at_its_end_every_connection_is_closed_whatever_its_client_does(bare):
    with warnings.catch_warnings(record=True) as seen, contextlib.ExitStack() as clients:
        warnings.simplefilter("always")
        with Proxy(bare) as proxy:
            address = ("127.0.0.1", int(proxy.server.rpartition(":")[2]))
            silent = [clients.enter_context(socket.create_connection(address, 5)) for _ in range(5)]
            asking = clients.enter_context(
                contextlib.closing(Client(proxy.server, bare.token(), str(bare.folder / "proxy.pem")))
            )
            assert asking.get("/version")
        for each in silent:
            with contextlib.suppress(ConnectionResetError):
                assert each.recv(1) == b""
        del proxy
        gc.collect()
    assert [str(each.message) for each in seen if issubclass(each.category, ResourceWarning)] == []
