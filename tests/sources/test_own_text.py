import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod
from object_strategies import OBJECT_ROWS
from strategies import TYPES, deltas, nodes, quotas, snapshots, texts, workloads
from ullage.model.checks import unique
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.documents import documents_of
from ullage.sources.limits import DEFAULT_LIMITS
from ullage.sources.own_format import read_own
from ullage.sources.own_records import PolicyDocument
from ullage.sources.own_text import (
    delta_text,
    policy_text,
    resource_types_text,
    snapshot_text,
    yaml_text,
)
from ullage.sources.yaml_text import iter_yaml_values

FORMS = pytest.mark.parametrize("form", ["yaml", "json"])


def read_back(text, types=None):
    (document,) = documents_of(text, "written")
    return read_own(document, types or ResourceTypes())


@FORMS
@settings(max_examples=10)
@given(snapshot=snapshots())
def test_a_snapshot_comes_back_exactly(form, snapshot):
    assert read_back(snapshot_text(snapshot, form)) == snapshot


@FORMS
@settings(max_examples=20)
@given(node=nodes())
def test_a_node_comes_back_exactly(form, node):
    delta = Delta(nodes=(node,))
    assert read_back(delta_text(delta, form, TYPES)) == delta


@FORMS
@settings(max_examples=20)
@given(workload=workloads())
def test_a_workload_comes_back_exactly(form, workload):
    delta = Delta(workloads=(workload,))
    assert read_back(delta_text(delta, form, TYPES)) == delta


@FORMS
@settings(max_examples=20)
@given(quota=quotas())
def test_a_quota_comes_back_exactly(form, quota):
    delta = Delta(quotas=(quota,))
    assert read_back(delta_text(delta, form, TYPES)) == delta


@pytest.mark.parametrize("table", OBJECT_ROWS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_row_of_any_other_table_comes_back_exactly(table, data):
    delta = Delta(**{table: (data.draw(OBJECT_ROWS[table]),)})
    assert read_back(delta_text(delta, "json", TYPES)) == delta


@FORMS
@settings(max_examples=8)
@given(delta=deltas())
def test_a_delta_comes_back_exactly(form, delta):
    assert read_back(delta_text(delta, form, TYPES)) == delta


@FORMS
def test_resource_types_come_back_exactly(form):
    assert read_back(resource_types_text(TYPES, form)) == TYPES


@FORMS
@settings(max_examples=30)
@given(cluster_settings=st.dictionaries(texts, texts, max_size=3))
def test_a_policy_file_comes_back_exactly(form, cluster_settings):
    policy = PolicyDocument(
        api_version="ullage.dev/v1",
        kind="Policy",
        name="ours",
        inherits="zos",
        cluster=cluster_settings,
        groups={"gpu": {"memory-ratio": "1.5"}},
        nodes={"n1": {"swap": "8Gi"}},
    )
    assert read_back(policy_text(policy, form)) == policy


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(texts, plain_values, min_size=1, max_size=3))
def test_what_is_written_as_yaml_is_read_as_the_same_values(value):
    assert list(iter_yaml_values(yaml_text(value), "written", DEFAULT_LIMITS)) == [(0, value)]


def test_equal_values_are_written_in_full_each_time():
    shared = ["x"]
    assert b"&" not in yaml_text({"a": shared, "b": shared})


def test_the_first_lines_say_what_the_document_is():
    assert snapshot_text(Snapshot()).startswith(b"apiVersion: ullage.dev/v1\nkind: Snapshot\n")
    assert snapshot_text(Snapshot(), "json").startswith(b'{\n  "apiVersion": "ullage.dev/v1",\n  "kind"')


def test_amounts_are_canonical_quantities_and_defaults_are_left_out():
    snapshot = cluster(node("n1", cpu="2500m", memory="40Mi").holding(pod("web/a", memory="1073741824")))
    assert snapshot_text(snapshot).decode() == (
        "apiVersion: ullage.dev/v1\nkind: Snapshot\npolicy: {}\n"
        "nodes:\n- name: n1\n  capacity:\n    cpu: 2500m\n    memory: 40Mi\n"
        "groups:\n- name: default\n"
        "workloads:\n- name: a\n  namespace: web\n  node: n1\n  requests:\n    memory: 1Gi\n"
    )


def test_half_a_character_cannot_be_written():
    broken = Snapshot(workloads=unique([pod("a", owner="\ud800")], "workload"))
    for form in ("yaml", "json"):
        with pytest.raises(InputError, match="half of a character"):
            snapshot_text(broken, form)
