"""A plane that comes back to a moment: what came since is gone, what went is there again."""

import pytest

from plane.client import ApiError
from plane.plane import Plane

MAP = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def running(plane_program):
    with Plane(plane_program, ()) as started:
        yield started


def configuration(name, finalizers=(), **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "finalizers": list(finalizers)},
        "data": data,
    }


def test_all_is_as_it_was(running):
    running.create(configuration("kept", word="first"))
    running.create(configuration("deleted", word="first"))
    moment = running.moment()
    running.patch(f"{MAP}/kept", {"data": {"word": "second"}})
    running.delete(f"{MAP}/deleted")
    running.create(configuration("new", finalizers=["example.com/held"]))
    running.delete(f"{MAP}/new")  # which waits for somebody who is not there
    assert moment.come_back()
    assert running.get(f"{MAP}/kept")["data"] == {"word": "first"}
    assert running.get(f"{MAP}/deleted")["data"] == {"word": "first"}
    with pytest.raises(ApiError, match="not found"):
        running.get(f"{MAP}/new")


def test_more_than_one_transaction_takes_is_gone_and_the_names_are_free(running):
    moment = running.moment()
    many = [configuration(f"many-{number}") for number in range(250)]
    running.create_many(many)
    assert moment.come_back()
    running.create_many(many)
    assert moment.come_back()
    assert not [each for each in running.items(MAP) if each["metadata"]["name"].startswith("many-")]
