"""Addresses of servers and of their clusters."""

import pytest

from ullage.model.errors import InputError
from ullage.sources.server_address import Address, cluster_path, parse_address


@pytest.mark.parametrize(
    ("text", "expected", "name"),
    [
        ("http://a:8480", Address("http", "a", 8480), "http://a:8480"),
        ("https://a/", Address("https", "a", 443), "https://a:443"),
        ("http://[::1]:8480/v1/clusters/prod/", Address("http", "::1", 8480, "prod"), "http://[::1]:8480"),
        ("https://a:1/v1/clusters/p%20q", Address("https", "a", 1, "p q"), "https://a:1"),
    ],
)
def test_an_address_is_that_of_a_server_or_of_a_cluster(text, expected, name):
    assert parse_address(text) == expected
    assert parse_address(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "http://a:port",
        "http://a:99999",
        "http://[::1",
        "ftp://a",
        "http://a/v1",
        "http://a/v1/clusters/",
        "http://a/v1/clusters/b/status",
        "http://a/v1/clusters/b%2Fc",
        "http://a?token=hidden",
        "http://a#b",
    ],
)
def test_anything_else_is_no_address(text):
    with pytest.raises(InputError, match=r"no address of a server; write http://HOST:PORT"):
        parse_address(text)


def test_a_secret_has_no_place_in_an_address_and_is_not_shown():
    with pytest.raises(InputError, match=r"\$ULLAGE_TOKEN") as raised:
        parse_address("https://me:hidden@a:8480")
    assert "hidden" not in str(raised.value)


def test_the_name_of_a_cluster_is_one_part_of_a_path():
    assert cluster_path("a/b c") == "/v1/clusters/a%2Fb%20c"
