from builders import cluster, node, persistent_volume, pod
from ullage.model.cluster import Snapshot
from ullage.model.constraints import (
    UNCONSTRAINED,
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
from ullage.sources.redact_constraints import ConstraintRedactor, numeric_keys
from ullage.sources.redact_names import Pseudonyms


def redactor(numeric=()):
    return ConstraintRedactor(Pseudonyms("s"), frozenset(numeric))


def wanting(*requirements, preferred=False):
    term = NodeSelectorTerm(requirements)
    affinity = (
        NodeAffinity(None, (PreferredNodeTerm(1, term),))
        if preferred
        else NodeAffinity(NodeSelector((term,)))
    )
    return Constraints(affinity=Affinity(affinity))


def test_labels_that_are_compared_as_numbers_are_found_everywhere():
    snapshot = cluster(
        pod("a", constraints=wanting(Requirement("generation", "Gt", ("3",)))),
        pod("b", constraints=wanting(Requirement("disks", "Lt", ("3",)), preferred=True)),
        pod("c", constraints=wanting(Requirement("team", "In", ("ml",)))),
        pod("d"),
        persistent_volume(
            "pv",
            "1",
            node_affinity=NodeSelector((NodeSelectorTerm((Requirement("speed", "Gt", ("1",)),)),)),
        ),
    )
    assert numeric_keys(snapshot) == {"generation", "disks", "speed"}
    assert numeric_keys(Snapshot()) == frozenset()


def test_a_compared_number_stays_and_so_does_the_label_it_is_compared_with():
    redacted = redactor(["generation"])
    assert list(redacted.labels({"generation": "12"}).values()) == ["12"]
    assert list(redacted.labels({"generation": "twelve"}).values()) != ["twelve"]
    kept = redacted.constraints(wanting(Requirement("generation", "Gt", ("3",))))
    assert kept.affinity.node_affinity.required.node_selector_terms[0].match_expressions[0].values == ("3",)


def test_every_reference_has_the_pseudonym_of_what_it_refers_to():
    names = Pseudonyms("s")
    key, value = names.of("key", "app"), names.of("value", "shop")
    selector = LabelSelector({"app": "shop"}, (Requirement("app", "In", ("shop",)),))
    redacted_selector = LabelSelector({key: value}, (Requirement(key, "In", (value,)),))
    term = PodAffinityTerm("rack", selector, ("web",), selector, ("app",), ("app",))
    redacted_term = PodAffinityTerm(
        names.of("key", "rack"),
        redacted_selector,
        (names.of("namespace", "web"),),
        redacted_selector,
        (key,),
        (key,),
    )
    by_name = NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n1",)),))
    original = Constraints(
        {"app": "shop"},
        Affinity(
            NodeAffinity(NodeSelector((by_name,))),
            PodAffinity((term,)),
            PodAffinity((), (WeightedPodAffinityTerm(5, term),)),
        ),
        (Toleration("app", "Equal", "shop", "NoSchedule"),),
        (TopologySpread(1, "rack", label_selector=selector, match_label_keys=("app",)),),
        (HostPort(80), HostPort(81, "UDP", "10.0.0.1")),
        ("hold",),
        ("gpu",),
    )
    redacted_by_name = NodeSelectorTerm(
        match_fields=(Requirement("metadata.name", "In", (names.of("node", "n1"),)),)
    )
    assert redactor().constraints(original) == Constraints(
        {key: value},
        Affinity(
            NodeAffinity(NodeSelector((redacted_by_name,))),
            PodAffinity((redacted_term,)),
            PodAffinity((), (WeightedPodAffinityTerm(5, redacted_term),)),
        ),
        (Toleration(key, "Equal", value, "NoSchedule"),),
        (
            TopologySpread(
                1, names.of("key", "rack"), label_selector=redacted_selector, match_label_keys=(key,)
            ),
        ),
        (HostPort(80), HostPort(81, "UDP", names.of("address", "10.0.0.1"))),
        (names.of("gate", "hold"),),
        (names.of("device-claim", "gpu"),),
    )


def test_shared_constraints_stay_shared():
    shared = Constraints({"app": "shop"})
    one = redactor()
    assert one.constraints(shared) is one.constraints(shared)
    assert one.constraints(UNCONSTRAINED) is UNCONSTRAINED


def test_nodes_without_constraints_need_nothing():
    assert numeric_keys(cluster(node("n1").holding(pod("a")))) == frozenset()
