"""ResourceTypes are read before all else, and one that is wrong does not stop the others."""

import asyncio
import json

import pytest

from sources.kubernetes.api.raw_server import answer, serving
from ullage.kube.resource_types import TypeObjects, types_of_cluster
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api.client import ApiClient

LICENCES = "example.com/licences"


def document(name: str, /, **spec) -> dict:
    return {"metadata": {"name": name}, "spec": spec}


def objects(**specs: dict) -> TypeObjects:
    found = TypeObjects()
    for name, spec in specs.items():
        found.put(json.dumps(document(name, **spec)).encode())
    return found


def test_a_type_says_how_amounts_are_read():
    found = objects(a={"name": LICENCES, "internalScaleExponent": 3, "units": "seat", "defaultRequest": 2})
    kind = found.types()[LICENCES]
    assert (kind.parse("1500m"), kind.units, kind.default_amount()) == (1500, "seat", 2000)
    assert not found.problems


WRONG = {
    "another one that contradicts it": ({"name": LICENCES, "internalScaleExponent": 2}, "twice"),
    "one that contradicts what is built in": ({"name": "cpu", "internalScaleExponent": 0}, "cpu"),
    "one without a domain": ({"name": "seats"}, "domain"),
    "one without a name": ({"units": "seat"}, "name"),
    "one of another form": ({"name": LICENCES, "quantization": "much"}, "quantization"),
}


@pytest.mark.parametrize(("spec", "word"), WRONG.values(), ids=WRONG)
def test_one_that_is_wrong_is_left_out_and_named(spec, word):
    found = objects(a={"name": LICENCES, "internalScaleExponent": 3}, b=spec)
    assert [each.name for each in found.types().added()] == [LICENCES]
    assert list(found.problems) == ["b"]
    assert word in found.problems["b"]
    found.drop("b")
    assert found.names() == {"a"}
    assert found.types()
    assert not found.problems


def read(*script) -> TypeObjects:
    async def work() -> TypeObjects:
        async with serving(*script) as server:
            client = ApiClient(server.access(), tries_max=1)
            try:
                return await types_of_cluster(client)
            finally:
                await client.close()

    return asyncio.run(work())


def test_those_of_a_cluster_are_listed():
    listed = json.dumps({"items": [document("a", name=LICENCES, internalScaleExponent=3)]}).encode()
    assert read([answer(200, listed)]).types()[LICENCES].internal_scale_exponent == 3


def test_all_pages_of_them_are_read_but_not_without_end(monkeypatch):
    monkeypatch.setattr("ullage.sources.kubernetes.api.watching.PAGES_MAX", 3)

    def page(name: str, more: str) -> bytes:
        items = [document(name, name=f"example.com/{name}", internalScaleExponent=3)]
        return answer(200, json.dumps({"metadata": {"continue": more}, "items": items}).encode())

    assert read([page("a", "t1")], [page("b", "")]).names() == {"a", "b"}
    with pytest.raises(InputError, match="more than 3 pages"):
        read([page("a", "t1")])


def test_a_cluster_that_does_not_know_the_kind_has_none():
    assert read([answer(404, b"{}")]).types() == ResourceTypes()


@pytest.mark.parametrize("acts", [answer(403, b"{}"), answer(200, b"[]"), b"nonsense"])
def test_what_cannot_be_read_is_one_clear_line(acts):
    with pytest.raises(InputError, match="ResourceTypes cannot be read"):
        read([acts])
