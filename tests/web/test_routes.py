"""Which route answers a path."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.web import routes
from ullage.web.routes import SEGMENTS_MAX, Route, Routes, allowed


def route(path, method="GET"):
    return Route(method, path, None, "read", f"{method} {path}")


TABLE = Routes(
    [
        route("/"),
        route("/health"),
        route("/v1/clusters"),
        route("/v1/clusters/{cluster}"),
        route("/v1/clusters/{cluster}", "PUT"),
        route("/v1/clusters/{cluster}/status"),
        route("/v1/clusters/{cluster}/plans/{plan}"),
        route("/v1/clusters/own/plans"),
        route("/explain/{kind}/{name}"),
    ]
)


@pytest.mark.parametrize(
    ("path", "found", "values"),
    [
        ("/", "/", {}),
        ("/health", "/health", {}),
        ("/v1/clusters", "/v1/clusters", {}),
        ("/v1/clusters/demo", "/v1/clusters/{cluster}", {"cluster": "demo"}),
        ("/v1/clusters/a%2Fb/status", "/v1/clusters/{cluster}/status", {"cluster": "a/b"}),
        ("/explain/pod/shop%2Fweb", "/explain/{kind}/{name}", {"kind": "pod", "name": "shop/web"}),
        ("/v1/clusters/own/plans", "/v1/clusters/own/plans", {}),
        # a literal part leads nowhere here, so that the named one counts
        ("/v1/clusters/own/plans/7", "/v1/clusters/{cluster}/plans/{plan}", {"cluster": "own", "plan": "7"}),
        ("/he%61lth", "/health", {}),
    ],
)
def test_a_path_leads_to_its_route_with_the_values_it_names(path, found, values):
    answer = TABLE.find(path)
    assert answer is not None
    assert answer.methods["GET"].path == found
    assert answer.values == values


@pytest.mark.parametrize(
    "path",
    [
        "",
        "health",
        "/health/",
        "/v1/clusters/",
        "/v1/clusters//status",
        "/v1/clusters/a/b",
        "/v1/clusters/%00/status",
        f"/v1/clusters/{'x' * 600}",
        "/" * 1000,
        "/a" * (SEGMENTS_MAX + 1),
    ],
)
def test_other_paths_lead_nowhere(path):
    assert TABLE.find(path) is None


def test_paths_that_are_remembered_are_not_too_many(monkeypatch):
    monkeypatch.setattr(routes, "FOUND_MAX", 3)
    for number in range(20):
        path = f"/v1/clusters/c{number}"
        assert [dict(TABLE.find(path).values) for _ in range(2)] == [{"cluster": f"c{number}"}] * 2
        assert len(TABLE._found) <= 3


@given(cluster=st.text(min_size=1, max_size=40), plan=st.text(min_size=1, max_size=40))
def test_any_value_that_can_be_printed_comes_back_as_it_was_sent(cluster, plan):
    sendable = all(each.isprintable() for each in (cluster, plan))
    sendable = sendable and not any("\ud800" <= letter <= "\udfff" for letter in cluster + plan)
    if not sendable:
        return
    path = f"/v1/clusters/{quote(cluster, safe='')}/plans/{quote(plan, safe='')}"
    found = TABLE.find(path)
    assert found is not None
    assert dict(found.values) == {"cluster": cluster, "plan": plan}


@pytest.mark.parametrize(
    "table",
    [
        [route("/a"), route("/a")],
        [route("/a/{b}"), route("/a/{b}")],
        [route("/a/{b}"), route("/a/{c}", "PUT")],
        [route("a")],
        [route("/a" * (SEGMENTS_MAX + 1))],
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(table):
    with pytest.raises(ValueError, match=r"twice|no path"):
        Routes(table)


def test_whatever_can_be_fetched_can_be_asked_about():
    found = TABLE.find("/v1/clusters/demo")
    assert allowed(found.methods) == "GET, HEAD, OPTIONS, PUT"
