"""The numbers behind rules between workloads."""

import pytest

from builders import claim, cluster, node, persistent_volume, pod, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.binding_rules import WORKLOADS_MAX, DomainCount, binding_rules
from ullage.engine.trial import Trial
from ullage.model.cluster import Volume
from ullage.model.constraints import (
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    TopologySpread,
)
from ullage.model.storage import StorageClass

ZONE = "zone"
HOST = "host"
WEB = LabelSelector({"app": "web"})


def machine(name, zone):
    return node(name, cpu="8", pods=10).labelled({ZONE: zone, HOST: name})


def away(label, selector=WEB):
    term = PodAffinityTerm(label, selector)
    return Constraints(affinity=Affinity(pod_anti_affinity=PodAffinity((term,))))


def near(label, selector=WEB):
    return Constraints(affinity=Affinity(pod_affinity=PodAffinity((PodAffinityTerm(label, selector),))))


def spread(label, *, skew=1, **fields):
    return Constraints(topology_spread=(TopologySpread(skew, label, label_selector=WEB, **fields),))


def web(name, constraints=None, **fields):
    more = {} if constraints is None else {"constraints": constraints}
    return pod(f"web/{name}", cpu="1", pods=1, labels={"app": "web"}, **more, **fields)


def told(snapshot, asked):
    trial = Trial(Columns(snapshot))
    return binding_rules(trial, trial.shape_of(asked))


def three(*extra):
    """Zone a has two web pods, b one, c none."""
    return cluster(
        machine("n1", "a").holding(web("w1"), web("w2")),
        machine("n2", "b").holding(web("w3")),
        machine("n3", "c"),
        *extra,
        policy=policy(),
    )


def asking(constraints, **fields):
    return waiting("web/new", cpu="1", pods=1, labels={"app": "web"}, constraints=constraints, **fields)


def test_a_spread_tells_its_counts_and_what_is_allowed():
    (rule,) = told(three(), asking(spread(ZONE)))
    assert (rule.kind, rule.reason, rule.nodes) == ("spread", "topology spread over zone", 2)
    assert rule.counts == (DomainCount(ZONE, "c", 0), DomainCount(ZONE, "b", 1), DomainCount(ZONE, "a", 2))
    assert rule.text == "c 0, b 1, a 2; the emptiest has 0, so one more may go where there are 0 at most"


@pytest.mark.parametrize(
    ("constraints", "text"),
    [
        (
            spread(ZONE, skew=2),
            "c 0, b 1, a 2; the emptiest has 0, so one more may go where there are 1 at most",
        ),
        (
            spread(ZONE, min_domains=4),
            (
                "c 0, b 1, a 2; counted from 0, as too few values take part, "
                "so one more may go where there are 0 at most"
            ),
        ),
        (spread("rack"), "no node with rack takes part; 3 without the label"),
    ],
)
def test_a_spread_says_from_where_it_counts(constraints, text):
    assert told(three(), asking(constraints))[0].text == text


def test_a_spread_counts_from_the_emptiest():
    filled = cluster(
        machine("n1", "a").holding(web("w1"), web("w2"), web("w3")),
        machine("n2", "b").holding(web("w4"), web("w5")),
        policy=policy(),
    )
    (rule,) = told(filled, asking(spread(ZONE)))
    assert rule.text == "b 2, a 3; the emptiest has 2, so one more may go where there are 2 at most"
    assert rule.nodes == 1


def test_two_spreads_keep_their_own_labels():
    both = Constraints(
        topology_spread=(
            TopologySpread(1, "rack", when_unsatisfiable="ScheduleAnyway", label_selector=WEB),
            TopologySpread(1, HOST, label_selector=WEB),
            TopologySpread(2, ZONE, label_selector=WEB),
        )
    )
    found = {rule.reason: rule.counts[0].label for rule in told(three(), asking(both))}
    assert found == {"topology spread over host": HOST, "topology spread over zone": ZONE}


def test_anti_affinity_names_whom_it_means():
    (rule, *_) = told(three(), asking(away(HOST)))
    assert (rule.kind, rule.nodes) == ("anti-affinity", 2)
    assert rule.text == "it must not share host with web/w1 on n1, web/w2 on n1, web/w3 on n2"
    assert rule.workloads == ("web/w1", "web/w2", "web/w3")


def test_anti_affinity_of_those_who_run_names_them():
    shy = cluster(
        machine("n1", "a").holding(web("shy", away(ZONE))),
        machine("n2", "a"),
        machine("n3", "b"),
        policy=policy(),
    )
    (rule,) = told(shy, asking(Constraints()))
    assert (rule.kind, rule.nodes) == ("anti-affinity of others", 2)
    assert rule.text == "web/shy on n1 does not share zone with it"


def test_more_workloads_than_are_named_are_counted():
    crowd = [web(f"w{number:03}") for number in range(WORKLOADS_MAX + 5)]
    full = cluster(node("n1", cpu="999", pods=999).labelled({HOST: "n1"}).holding(*crowd), policy=policy())
    (rule, *_) = told(full, asking(away(HOST)))
    assert (len(rule.workloads), rule.others) == (WORKLOADS_MAX, 5)
    assert rule.text.endswith("web/w002 on n1 and 102 more")


@pytest.mark.parametrize(
    ("selector", "labels", "text", "nodes"),
    [
        (WEB, {}, "it must share zone with workloads that have app=web: b 1, a 2", 1),
        (
            LabelSelector(
                match_expressions=(Requirement("app", "NotIn", ("a", "b")), Requirement("x", "Exists"))
            ),
            {},
            "it must share zone with workloads that have app notin (a,b),x, and none runs",
            3,
        ),
        (
            LabelSelector({"app": "db"}),
            {"app": "db"},
            "it may be the first that has app=db, on a node that has zone",
            0,
        ),
    ],
)
def test_affinity_says_where_those_are_whom_it_wants_near(selector, labels, text, nodes):
    asked = waiting("web/new", cpu="1", pods=1, labels=labels, constraints=near(ZONE, selector))
    (rule,) = told(three(), asked)
    assert (rule.kind, rule.text, rule.nodes) == ("affinity", text, nodes)


def test_a_port_names_who_has_it():
    port = Constraints(host_ports=(HostPort(8080),))
    taken = cluster(machine("n1", "a").holding(web("w1", port)), machine("n2", "b"), policy=policy())
    (rule,) = told(taken, asking(port))
    assert (rule.kind, rule.nodes, rule.text) == ("port", 1, "port 8080 of the node is taken by web/w1 on n1")


def test_a_workload_does_not_stand_in_its_own_way():
    port = Constraints(host_ports=(HostPort(8080),))
    running = web("w1", port)
    taken = cluster(machine("n1", "a").holding(running), machine("n2", "b"), policy=policy())
    trial = Trial(Columns(taken))
    itself = taken.workloads["web/w1"]
    trial.evict(itself)
    (rule,) = binding_rules(trial, trial.shape_of(itself), itself.key)
    assert (rule.nodes, rule.text, rule.workloads) == (0, "nobody stands against it", ())


def on_host(name):
    return NodeSelector((NodeSelectorTerm((Requirement(HOST, "In", (name,)),)),))


@pytest.mark.parametrize(
    ("extra", "reason", "text", "nodes"),
    [
        (
            (
                claim("web/data", "1Gi", bound=True, volume="pv1"),
                persistent_volume("pv1", "1Gi", node_affinity=on_host("n2")),
            ),
            "node affinity of volume pv1",
            "it is reached from n2 only",
            2,
        ),
        ((claim("web/data", "1Gi"),), "claim data waits for its volume", "no node can have it", 3),
        (
            (
                claim("web/data", "2Gi", storage_class="local"),
                StorageClass("local", "kubernetes.io/no-provisioner", binding="WaitForFirstConsumer"),
                persistent_volume("pv1", "5Gi", storage_class="local", node_affinity=on_host("n2")),
            ),
            "no volume for claim data",
            "claim data (2Gi, class local): a volume can be had on 1 of 3 nodes",
            2,
        ),
    ],
)
def test_volumes_tell_which_claim_and_where(extra, reason, text, nodes):
    asked = asking(Constraints(), volumes=(Volume("data", claim="data"),))
    (rule,) = told(three(*extra), asked)
    assert (rule.kind, rule.reason, rule.text, rule.nodes) == ("volume", reason, text, nodes)


def test_a_claim_for_one_pod_names_its_user():
    own = claim("web/data", "1Gi", bound=True, access_modes=("ReadWriteOncePod",))
    user = web("w1", volumes=(Volume("data", claim="data"),))
    taken = cluster(
        machine("n1", "a").holding(user, web("w2", volumes=(Volume("d", claim="data-2"),))),
        own,
        claim("web/data-2", "1Gi", bound=True),
        policy=policy(),
    )
    (rule,) = told(taken, asking(Constraints(), volumes=(Volume("data", claim="data"),)))
    assert (rule.kind, rule.text, rule.workloads) == ("volume", "used by web/w1", ("web/w1",))


def test_the_limit_of_attached_volumes_tells_the_nodes_that_are_full():
    disk = StorageClass("disk", "disk.example.com", binding="Immediate")
    claims = [
        claim(f"web/{name}", "1Gi", bound=True, volume=f"pv-{name}", storage_class="disk")
        for name in ("data", "other")
    ]
    volumes = [persistent_volume(f"pv-{each.name}", "1Gi", driver="disk.example.com") for each in claims]
    user = web("w1", volumes=(Volume("other", claim="other"),))
    full = cluster(
        machine("n1", "a").with_(attach_limits={"disk.example.com": 1}).holding(user),
        machine("n2", "b"),
        disk,
        *claims,
        *volumes,
        policy=policy(),
    )
    (rule,) = told(full, asking(Constraints(), volumes=(Volume("data", claim="data"),)))
    assert (rule.kind, rule.nodes) == ("volume", 1)
    assert rule.text == "n1 has 1 of 1 of disk.example.com"


def test_sizes_are_no_rules_between_workloads():
    assert told(three(), waiting("web/large", cpu="99", labels={"app": "x"})) == ()
