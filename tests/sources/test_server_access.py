"""How servers are reached: what is said counts as long as a command runs."""

import pytest

from ullage.sources.server_access import Access, is_server, reached, reaching


def test_what_is_said_and_learned_counts_while_it_lasts():
    with reaching(Access("token", "ca")):
        reached().revisions["http://a:80", "demo"] = 3
        assert reached().access == ("token", "ca")
        with reaching(Access()):
            assert (reached().access, reached().revisions) == (Access(), {})
        assert reached().revisions == {("http://a:80", "demo"): 3}
    assert (reached().access, reached().revisions) == (Access(), {})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("http://a", True),
        ("https://a:1/v1/clusters/b", True),
        ("http", False),
        ("dump.json", False),
        ("", False),
    ],
)
def test_a_server_is_named_by_its_address(spec, expected):
    assert is_server(spec) is expected
