"""Where files are sent along, they are all there are: nothing of the machine is opened."""

import gzip

import pytest

from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.catalog import read_catalog
from ullage.sources.documents import read_documents
from ullage.sources.given import given, giving, is_there, of_our_own
from ullage.sources.opening import open_source
from ullage.sources.policies import load_policy
from ullage.sources.traces import trace_of

POLICY = b"apiVersion: ullage.dev/v1\nkind: Policy\ninherits: zos\ncluster: {memory-ratio: 2}\n"
SNAPSHOT = b'{"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "x", "nodes": [{"name": "n"}]}'
TRACE = b"name,namespace,start,cpu\na,b,0,1\n"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.yaml"
    path.write_bytes(POLICY)
    return path


def test_what_was_sent_is_read_by_its_name():
    with giving({"-": b"a: 1", "policy": POLICY, "trace": TRACE, "cluster": SNAPSHOT}):
        assert [each.source for each in read_documents("-")] == ["standard input"]
        assert load_policy("policy", ResourceTypes()).name == "policy"
        assert len(trace_of("trace", ResourceTypes()).arrivals) == 1
        assert open_source("cluster").read().name == "x"


def test_what_was_sent_may_be_compressed():
    with giving({"-": gzip.compress(SNAPSHOT)}):
        assert open_source("-").read().name == "x"


@pytest.mark.parametrize(
    "read",
    [
        lambda path: list(read_documents(path)),
        lambda path: load_policy(path, ResourceTypes()),
        lambda path: read_catalog(path, ResourceTypes()),
        open_source,
    ],
)
@pytest.mark.parametrize("what", ["file", "folder", "standard input", "profile"])
def test_a_file_of_the_machine_is_refused(secret, read, what):
    path = {"file": secret, "folder": secret.parent, "standard input": "-", "profile": "../zos"}[what]
    with giving({"policy": POLICY}), pytest.raises(InputError):
        read(str(path))


@pytest.mark.parametrize(
    "word", ["kube", "demo", "synthetic:nodes=3", "ganeti:http://localhost", "csv:a.csv"]
)
def test_no_other_source_is_opened_either(word):
    with giving({}), pytest.raises(InputError, match="was not sent along"):
        open_source(word)


def test_a_policy_that_was_sent_inherits_no_file_of_the_machine(secret):
    sent = f"apiVersion: ullage.dev/v1\nkind: Policy\ninherits: {secret}\n".encode()
    assert load_policy(str(secret), ResourceTypes())
    with giving({"policy": sent}), pytest.raises(InputError, match="neither a profile nor a file"):
        load_policy("policy", ResourceTypes())


def test_of_a_file_of_the_machine_nobody_hears_whether_it_is_there(secret):
    with giving({}):
        assert not is_there(str(secret))
        assert trace_of(str(secret), ResourceTypes()) is None
    assert is_there(str(secret))
    assert given(str(secret)) is None


def test_what_we_were_told_to_use_ourselves_is_opened_and_nothing_else_before_or_after(secret):
    with giving({}):
        with of_our_own():
            assert [each.source for each in read_documents(str(secret))] == [str(secret)]
        with pytest.raises(InputError, match="was not sent along"):
            list(read_documents(str(secret)))
