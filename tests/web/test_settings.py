"""What a command line of `ullage serve` means."""

from pathlib import Path

import pytest

from ullage.model.errors import InputError
from ullage.web.settings import Listed, Settings, data_folder, settings_of


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("demo", Listed("demo", "demo")),
        ("kube", Listed("kube", "kube")),
        ("kube:Prod_1", Listed("prod-1", "kube", "Prod_1")),
        ("prod=kube:a/b@c", Listed("prod", "kube", "a/b@c")),
        ("dumps/My Cluster.json", Listed("my-cluster", "dumps/My Cluster.json")),
        ("lab=ganeti:https://lab:5080", Listed("lab", "ganeti:https://lab:5080")),
        ("a=b=c.yaml", Listed("a", "b=c.yaml")),
    ],
)
def test_a_cluster_is_called_after_its_source_unless_it_is_named(text, listed):
    assert settings_of([text], "8480", "d").clusters == (listed,)


@pytest.mark.parametrize("text", ["", "-", "x=-", "x=", "///"])
def test_what_cannot_be_served_is_refused(text):
    with pytest.raises(InputError, match="names no cluster that can be served"):
        settings_of([text], "8480", "d")


@pytest.mark.parametrize(
    ("listen", "host", "port", "is_local"),
    [
        ("8480", "127.0.0.1", 8480, True),
        (":0", "127.0.0.1", 0, True),
        ("localhost:1", "localhost", 1, True),
        ("127.0.0.2:1", "127.0.0.2", 1, True),
        ("[::1]:1", "::1", 1, True),
        ("0.0.0.0:1", "0.0.0.0", 1, False),  # noqa: S104 - nothing is bound
        ("[::]:1", "::", 1, False),
        ("192.0.2.1:1", "192.0.2.1", 1, False),
        ("127.0.0.1.example:1", "127.0.0.1.example", 1, False),
    ],
)
def test_only_loopback_addresses_are_of_this_machine_alone(listen, host, port, is_local):
    settings = settings_of([], listen, "d")
    assert (settings.host, settings.port, settings.is_local) == (host, port, is_local)


def test_state_lies_in_the_users_folder_for_data(monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert data_folder("") == Path("/data/ullage/server")
    assert data_folder("here") == Path("here")
    assert Settings(Path("x")).is_local


def test_a_source_of_use_is_of_the_cluster_that_it_names_or_of_the_only_one():
    alone = settings_of(["demo"], "0", "d", usage=["prometheus:http://x?a=b"])
    assert alone.usage == (("demo", "prometheus:http://x?a=b"),)
    both = settings_of(["a=demo", "b=kube"], "0", "d", usage=["b=metrics", "a=host"])
    assert both.usage == (("b", "metrics"), ("a", "host"))


@pytest.mark.parametrize(
    ("clusters", "usage"),
    [
        (["a=demo", "b=demo"], ["metrics"]),
        ([], ["metrics"]),
        (["a=demo"], ["a="]),
        (["a=demo"], ["-"]),
        (["a=demo"], ["metrics", "a=host"]),
        (["a=demo", "b=demo"], ["c=metrics"]),
    ],
)
def test_a_source_of_use_that_is_of_no_cluster_or_none_is_refused(clusters, usage):
    with pytest.raises(InputError):
        settings_of(clusters, "0", "d", usage=usage)
