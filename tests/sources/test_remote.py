"""A cluster of a server as a source: its snapshot, and what is wrong with one that cannot be read."""

import pytest

from raw_answers import answering, problem
from ullage.model.errors import InputError
from ullage.sources.demo import DemoSource
from ullage.sources.remote import remote_snapshot
from ullage.sources.server_access import Access, reached, reaching
from ullage.sources.snapshot_file import snapshot_bytes

DEMO = DemoSource().read()
NO_DESCRIPTION = problem(404, "{}")


def sent(data, headers=""):
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\n{headers}\r\n".encode() + data


def test_a_cluster_is_read_and_its_revision_is_known_from_then_on():
    with (
        answering(sent(snapshot_bytes(DEMO), "Ullage-Revision: 7\r\n")) as (address, heard),
        reaching(Access()),
    ):
        assert remote_snapshot(f"{address}/v1/clusters/demo") == DEMO
        assert reached().revisions == {(address, "demo"): 7}
    assert heard[0].startswith(b"GET /v1/clusters/demo/snapshot?form=compact HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"<html>", "this is no snapshot"),
        (snapshot_bytes(DEMO)[:-1], "its snapshot cannot be read: the compact snapshot is cut off at byte"),
        (snapshot_bytes(DEMO)[:-9] + b"\0" * 9, "its snapshot cannot be read: the compact snapshot is"),
    ],
)
def test_a_snapshot_that_cannot_be_read_is_told_in_one_line(data, what):
    with answering(sent(data), NO_DESCRIPTION) as (address, _), pytest.raises(InputError) as raised:
        remote_snapshot(f"{address}/v1/clusters/demo")
    assert str(raised.value).startswith(f"{address}: {what}")
