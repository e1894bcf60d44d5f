"""Names of reservations say kind, owner and number, and nothing else is read out of them."""

import pytest

from ullage.engine.ledger.naming import (
    Ordinal,
    ordinal_of,
    place_of_owner,
    request_of,
    reservation_name,
    volume_of,
)
from ullage.model.ledger import COMPUTE


@pytest.mark.parametrize("owner", ["web", "shop/web", "a/b/c"])
def test_a_name_is_read_as_it_was_written(owner):
    assert ordinal_of(reservation_name("Deployment", owner, 12), owner) == Ordinal("Deployment", 12)


@pytest.mark.parametrize(
    ("reservation", "owner"),
    [
        ("r-1", "shop/web"),
        ("shop/web/1", "shop/web"),
        ("/shop/web/1", "shop/web"),
        ("Pod/shop/web/x", "shop/web"),
        ("Pod/shop/web/¹", "shop/web"),
        ("Pod/shop/web", "shop/web"),
        ("Pod/shop/web/1", "shop/other"),
    ],
)
def test_other_names_say_nothing(reservation, owner):
    assert ordinal_of(reservation, owner) == Ordinal("", 0)


def test_an_owner_is_a_workload_of_a_namespace():
    assert place_of_owner("shop/web") == ("shop", "web")
    assert place_of_owner("web") == ("", "web")


@pytest.mark.parametrize("name", ["data", "compute", "compute-2"])
def test_no_volume_has_the_name_of_what_is_held_of_the_node(name):
    assert request_of(name) != COMPUTE
    assert volume_of(request_of(name)) == volume_of(name) == name
