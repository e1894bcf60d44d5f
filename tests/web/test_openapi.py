"""What the description says is so: tried with thousands of requests that it allows, and that it does not."""

import asyncio
import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

from ullage.model.quantity import INT64_MAX
from ullage.web import docs_page
from ullage.web.api import operations
from ullage.web.api.operations import description
from ullage.web.api.table import routes
from ullage.web.openapi import is_shown
from ullage.web.pages.shell import draw
from ullage.web.state import State
from ullage.web.tokens import add_token
from web_client import Started, ask, running, started, until_ready

SHOWN = [route for route in routes().all if is_shown(route)]


def test_every_route_for_programs_is_described_once():
    paths = description()["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == {(route.method, route.path) for route in SHOWN}
    names = [told["operationId"] for methods in paths.values() for told in methods.values()]
    assert len(names) == len(set(names))


def test_every_parameter_says_what_it_is():
    silent = [
        f"{method} {path}: {each['name']}"
        for path, methods in description()["paths"].items()
        for method, told in methods.items()
        for each in told.get("parameters", ())
        if not each.get("description")
    ]
    assert not silent


def test_a_token_may_be_sent_and_need_not_be_on_the_same_machine():
    paths = description()["paths"]
    told = [each["security"] for methods in paths.values() for each in methods.values() if "security" in each]
    assert told
    assert all(each == [{"token": []}, {}] for each in told)


def test_whatever_is_referred_to_is_there():
    text = json.dumps(description())
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert names == set(description()["components"]["schemas"])


@pytest.mark.parametrize("name", description()["components"]["schemas"])
def test_every_schema_is_one(name):
    jsonschema.Draft202012Validator.check_schema(description()["components"]["schemas"][name])


def test_records_are_described_as_they_are_read_and_written():
    schemas = description()["components"]["schemas"]
    problem = schemas["ProblemDetails"]
    assert problem["required"] == ["type", "title", "status"]
    assert problem["properties"]["status"] == {"type": "integer"}
    reserving = schemas["Reserving"]
    assert reserving["additionalProperties"] is False


def test_what_may_be_left_out_is_never_called_null():
    parameters = {
        each["name"]: each
        for each in description()["paths"]["/v1/clusters/{cluster}/fit"]["get"]["parameters"]
        if each["in"] == "query"
    }
    assert parameters["replicas"]["schema"] == {"type": "integer", "minimum": 0, "maximum": INT64_MAX}
    assert parameters["exactSeconds"]["schema"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 3600,
        "default": 2,
    }
    assert "null" not in msgspec.json.encode(parameters).decode()


def test_only_what_is_fetched_can_be_known_already():
    for path, methods in description()["paths"].items():
        for method, told in methods.items():
            names = {each["name"] for each in told.get("parameters", ())}
            assert ("If-None-Match" in names) == ("304" in told["responses"]), path
            assert method == "get" or "If-None-Match" not in names, path


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo", "--refresh", "0") as server:
        until_ready(server)
        yield server


def test_it_is_served_as_json_and_as_a_page_that_fetches_nothing_from_elsewhere(served: Started):
    async def both():
        return [await ask(served.address, "GET", path) for path in ("/openapi.json", "/docs")]

    told, page = asyncio.run(both())
    assert told.data == json.loads(msgspec.json.encode(description()))
    text = page.body.decode()
    for route in SHOWN:
        assert f"{route.method} {route.path}" in text
    assert not re.findall(r'(?:src|href|action)="(?!/|#)', text)
    assert "<style" not in text
    assert not re.findall(r"<script(?! src=\"/static/)", text)


def test_the_page_is_drawn_once_and_not_sent_to_who_has_it(monkeypatch, tmp_path):
    drawn = []

    def counted(template, *given, **values):
        drawn.append(template)
        return draw(template, *given, **values)

    monkeypatch.setattr(docs_page, "draw", counted)
    docs_page.page.cache_clear()

    async def work():
        async with running(tmp_path, *operations.ROUTES) as server:
            first, second = [await ask(server.address, "GET", "/docs") for _ in range(2)]
            known = {"If-None-Match": first.headers["etag"]}
            themed = await ask(server.address, "GET", "/docs", {"Cookie": "ullage_theme=dark"})
            return first, second, themed, await ask(server.address, "GET", "/docs", known)

    first, second, themed, kept = asyncio.run(work())
    assert first.body == second.body != themed.body
    assert (kept.status, kept.body, themed.headers["etag"] != first.headers["etag"]) == (304, b"", True)
    assert drawn.count("api") == 2


TRIED = """
[parameters]
"path.cluster" = "demo"

[checks]
positive_data_acceptance.expected-statuses = ["2xx", "304", "404", "409", "412", "414", "422", "431"]
negative_data_rejection.expected-statuses = [
    "400", "404", "405", "406", "409", "411", "412", "413", "414", "415", "422", "431",
]

[[operations]]
include-path = "/v1/clusters/{cluster}"
parameters = { "path.cluster" = "uploaded" }
"""
"""Requests are about a cluster that is there; a refusal with a reason is as good an answer as any."""


@pytest.mark.slow
def test_nothing_is_found_by_trying_all_of_it(tmp_path):
    (tmp_path / "tried.toml").write_text(TRIED, encoding="utf-8")
    with contextlib.closing(State(tmp_path / "data")) as state:
        token = add_token(state, "tries", "commit", 0)
    with started(tmp_path / "data", "-c", "demo", "--refresh", "0", "--require-token") as server:
        until_ready(server)
        words = ["--config-file", "tried.toml", "run", f"{server.address}/openapi.json"]
        words += ["-H", f"Authorization: Bearer {token}", "--exclude-path", "/v1/events"]
        words += ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "5", "--seed", "1"]
        words += ["--continue-on-failure", "--no-color", "--warnings", "off", "--generation-database", "none"]
        program = Path(sys.executable).with_name("st")
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        code, lines = server.stop()
    told = [str(line) for line in lines if line["message"] in {"met a defect", "no line of the log"}]
    assert done.returncode == 0, "\n".join([done.stdout[-20_000:], done.stderr, *told])
    assert "Tested: " in done.stdout
    assert (code, told) == (0, [])
