"""Hypothesis strategies for what rows are made of: texts, names, sizes, resource maps and constraints."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from ullage.model.constraints import (
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredNodeTerm,
    Requirement,
    Toleration,
    TopologySpread,
    WeightedPodAffinityTerm,
)
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import GPU_MEMORY, GPU_MILLI, Resources, ResourceType, ResourceTypes

LICENCES = ResourceType("example.com/licences", "licence")
BANDWIDTH = ResourceType("example.com/bandwidth", "byte per second", 6, is_compressible=True, quantization=7)
TYPES = ResourceTypes((LICENCES, BANDWIDTH))
RESOURCE_NAMES = (
    "cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "attachable-volumes-csi", "nvidia.com/gpu",
    GPU_MEMORY, GPU_MILLI, LICENCES.name, BANDWIDTH.name,
)  # fmt: skip

# Words that YAML or a careless reader may take for something else come up often.
TRICKY = (
    "0", "1e3", "0o17", "0x1F", "0b1", "1_000", "12:30", "2001-01-01", "yes", "No", "on", "null", "~", "true",
    ".5", "-", "- a", "a: b", "#a", "{}", "[", "*a", "&a", "!a", "%a", "'", '"', "<<", "=", "y", "é", "日本",
    "\u2028", " a", "a ", "a\tb",
)  # fmt: skip
plain_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
texts = st.one_of(st.sampled_from(TRICKY), plain_text, st.text("abc-./_09", max_size=8))
NAME_CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))
names = st.one_of(
    st.text("abcxyz-.0123", min_size=1, max_size=8), st.text(NAME_CHARACTERS, min_size=1, max_size=6)
)
label_maps = st.dictionaries(texts, texts, max_size=3)
sizes = st.one_of(st.integers(0, 1 << 44), st.integers(0, INT64_MAX))
seconds = st.none() | st.integers(0, 1 << 40)
fractions = st.builds(Fraction, st.integers(1, 999), st.integers(1, 999))


def optional(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | inner


def tuples_of(inner: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(inner, max_size=most).map(tuple)


def resource_maps(amounts: st.SearchStrategy[int] = sizes, most: int = 4) -> st.SearchStrategy[Resources]:
    return st.dictionaries(st.sampled_from(RESOURCE_NAMES), amounts, max_size=most).map(Resources)


resources = resource_maps()

operators = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
requirements = st.builds(Requirement, texts, operators, tuples_of(texts))
selector_terms = st.builds(NodeSelectorTerm, tuples_of(requirements), tuples_of(requirements, 1))
label_selectors = st.builds(LabelSelector, label_maps, tuples_of(requirements, 1))
node_selectors = st.builds(NodeSelector, tuples_of(selector_terms))
weights = st.integers(1, 100)
node_affinities = st.builds(
    NodeAffinity,
    optional(node_selectors),
    tuples_of(st.builds(PreferredNodeTerm, weights, selector_terms), 1),
)
pod_terms = st.builds(
    PodAffinityTerm,
    texts,
    optional(label_selectors),
    tuples_of(texts),
    optional(label_selectors),
    tuples_of(texts, 1),
    tuples_of(texts, 1),
)
pod_affinities = st.builds(
    PodAffinity, tuples_of(pod_terms, 1), tuples_of(st.builds(WeightedPodAffinityTerm, weights, pod_terms), 1)
)
affinities = st.builds(
    Affinity, optional(node_affinities), optional(pod_affinities), optional(pod_affinities)
)
spreads = st.builds(
    TopologySpread,
    st.integers(1, 5),
    texts,
    st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
    optional(label_selectors),
    optional(st.integers(1, 5)),
    st.sampled_from(("Honor", "Ignore")),
    st.sampled_from(("Honor", "Ignore")),
    tuples_of(texts, 1),
)
tolerations = tuples_of(st.builds(Toleration, texts, st.sampled_from(("Equal", "Exists")), texts, texts), 1)
constraints = st.one_of(
    st.just(Constraints()),
    st.builds(
        Constraints,
        label_maps,
        optional(affinities),
        tolerations,
        tuples_of(spreads, 1),
        tuples_of(st.builds(HostPort, st.integers(1, 65535), st.sampled_from(("TCP", "UDP")), texts), 1),
        tuples_of(texts, 1),
        tuples_of(texts, 1),
    ),
)
