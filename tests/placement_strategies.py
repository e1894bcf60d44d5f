"""Small clusters with rules between workloads, in which everything is likely to touch everything else."""

from hypothesis import strategies as st

from builders import NodeBuilder, cluster, node, pod, waiting
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import (
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    TopologySpread,
)

HOSTNAME = "kubernetes.io/hostname"
APPS = ("a", "b")
KEYS = (HOSTNAME, "zone", "rack")

selectors = st.one_of(
    st.none(),
    st.just(LabelSelector()),
    st.sampled_from(APPS).map(lambda app: LabelSelector({"app": app})),
    st.sampled_from(APPS).map(
        lambda app: LabelSelector(match_expressions=(Requirement("app", "NotIn", (app,)),))
    ),
)
terms = st.builds(
    PodAffinityTerm,
    topology_key=st.sampled_from(KEYS),
    label_selector=selectors,
    namespaces=st.sampled_from([(), ("web",), ("ml",)]),
    namespace_selector=st.sampled_from([None, None, LabelSelector()]),
)
affinities = st.builds(PodAffinity, required=st.lists(terms, max_size=2).map(tuple), preferred=st.just(()))
spreads = st.builds(
    TopologySpread,
    max_skew=st.integers(1, 2),
    topology_key=st.sampled_from(KEYS),
    label_selector=selectors,
    min_domains=st.sampled_from([None, None, 2, 3]),
    node_affinity_policy=st.sampled_from(["Honor", "Ignore"]),
    node_taints_policy=st.sampled_from(["Honor", "Ignore"]),
)
constraints = st.builds(
    Constraints,
    affinity=st.one_of(
        st.none(),
        st.builds(Affinity, pod_affinity=affinities),
        st.builds(Affinity, pod_anti_affinity=affinities),
    ),
    topology_spread=st.lists(spreads, max_size=2).map(tuple),
    host_ports=st.sampled_from([(), (), (HostPort(80),), (HostPort(80, host_ip="10.0.0.1"),)]),
    node_selector=st.sampled_from([{}, {}, {}, {"zone": "x"}]),
)


@st.composite
def workloads(draw: st.DrawFn, name: str) -> Workload:
    """A workload that waits."""
    return waiting(
        f"{draw(st.sampled_from(('web', 'ml')))}/{name}",
        memory=str(draw(st.integers(0, 3))),
        pods="1",
        labels={"app": draw(st.sampled_from(APPS))},
        constraints=draw(constraints),
    )


@st.composite
def machines(draw: st.DrawFn, name: str) -> NodeBuilder:
    """A node that may lack labels, and may be tainted."""
    labels = {HOSTNAME: name}
    for key in ("zone", "rack"):
        value = draw(st.sampled_from(["x", "y", ""]))
        if value:
            labels[key] = value
    built = node(name, memory=str(draw(st.integers(1, 6))), pods="4").labelled(labels)
    return built.tainted("dedicated") if draw(st.integers(0, 5)) == 0 else built


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    """Up to five nodes and six running workloads, some of them terminating."""
    nodes = [draw(machines(f"n{number}")) for number in range(draw(st.integers(1, 5)))]
    for number in range(draw(st.integers(0, 6))):
        asked = draw(workloads(f"p{number}"))
        where = draw(st.integers(0, len(nodes) - 1))
        running = pod(
            asked.key,
            memory=str(asked.requests.of("memory")),
            pods="1",
            labels=asked.labels,
            constraints=asked.constraints,
            terminating=draw(st.integers(0, 4)) == 0,
        )
        nodes[where] = nodes[where].holding(running)
    return cluster(*nodes)
