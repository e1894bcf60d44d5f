"""Certificates: found, proven impossible or unknown with its reason, compared with trying everything."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, node, policy, volume, waiting, workload
from ullage.engine.columns import Columns
from ullage.engine.placement import exact
from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.exact import prove, replay
from ullage.engine.trial import Trial
from ullage.model.constraints import (
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    TopologySpread,
)

SECONDS = 10
ZONE, HOST = "zone", "kubernetes.io/hostname"
SELECTORS = {name: LabelSelector({"app": name}) for name in "abc"}


def site(name, zone, **amounts):
    return node(name, **amounts).labelled({ZONE: zone, HOST: name})


def away(label, whom="a"):
    return Constraints(
        affinity=Affinity(pod_anti_affinity=PodAffinity((PodAffinityTerm(label, SELECTORS[whom]),)))
    )


def near(label, whom="a"):
    return Constraints(
        affinity=Affinity(pod_affinity=PodAffinity((PodAffinityTerm(label, SELECTORS[whom]),)))
    )


def spread(label, skew=1, whom="a", **fields):
    return Constraints(
        topology_spread=(TopologySpread(skew, label, label_selector=SELECTORS[whom], **fields),)
    )


def app(name, constraints=None, **parts):
    return waiting(name, labels={"app": name}, constraints=constraints or Constraints(), **parts)


def trial_of(*parts):
    return Trial(Columns(cluster(*parts, policy=policy())))


def ask(trial, *batches, seconds=SECONDS):
    return prove(trial, [(trial.shape_of(each.workload), each.replicas) for each in batches], seconds)


def on_nodes(trial, counts):
    return [{trial.nodes[row].name: count for row, count in each} for each in counts]


def test_several_shapes_that_fit_only_in_one_way_are_found():
    trial = trial_of(node("x", cpu="10"), node("y", cpu="9"))
    wanted = (batch(2, app("a", cpu="3")), batch(2, app("b", cpu="4")), batch(1, app("c", cpu="5")))
    assert not all(
        sum(place_replicas(trial, trial.shape_of(each.workload), each.replicas).values()) == each.replicas
        for each in wanted
    ), "greedy placement is to fail here"
    trial = trial_of(node("x", cpu="10"), node("y", cpu="9"))
    found = ask(trial, *wanted)
    assert found.verdict == "placed"
    assert on_nodes(trial, found.counts) == [{"x": 2}, {"x": 1, "y": 1}, {"y": 1}]
    assert trial.room.free.tolist() == [[0, 0]]


def test_equal_nodes_are_taken_one_by_one_where_their_sum_deceives():
    trial = trial_of(*(node(name, cpu="10") for name in "xyz"))
    found = ask(trial, batch(4, app("a", cpu="6")), batch(1, app("b", cpu="1")))
    assert (found.verdict, found.note) == (
        "impossible",
        "the nodes take at most 3 of 4 of a, each node for itself",
    )
    found = ask(trial, batch(2, app("a", cpu="6")), batch(3, app("b", cpu="5")))
    assert (found.verdict, found.note) == ("impossible", "no placement of all of them exists")


def test_sums_over_all_nodes_prove_without_a_search():
    trial = trial_of(node("x", cpu="4"), node("y", cpu="4"))
    found = ask(trial, batch(2, app("a", cpu="3")), batch(2, app("b", cpu="2")), seconds=0)
    assert (found.verdict, found.note) == ("impossible", "10 of cpu is asked for and 8 is free")


def test_all_of_one_zone_are_found_where_the_best_node_is_in_another():
    parts = (site("x", "one", cpu="8"), site("y", "two", cpu="6"), site("z", "two", cpu="6"))
    wanted = batch(6, app("a", near(ZONE), cpu="2"))
    trial = trial_of(*parts)
    assert sum(place_replicas(trial, trial.shape_of(wanted.workload), 6).values()) == 4
    trial = trial_of(*parts)
    found = ask(trial, wanted)
    assert found.verdict == "placed"
    assert on_nodes(trial, found.counts) == [{"y": 3, "z": 3}]


def test_a_spread_leaves_nobody_more_than_its_skew_above_the_emptiest_zone():
    parts = (site("x", "one", cpu="8"), site("y", "two", cpu="2"))
    assert ask(trial_of(*parts), batch(5, app("a", spread(ZONE), cpu="1"))).verdict == "placed"
    assert ask(trial_of(*parts), batch(6, app("a", spread(ZONE), cpu="1"))).verdict == "impossible"


def test_one_for_each_zone():
    parts = (site("x", "one", cpu="8"), site("y", "two", cpu="2"), site("z", "two", cpu="2"))
    assert ask(trial_of(*parts), batch(2, app("a", away(ZONE), cpu="1"))).verdict == "placed"
    found = ask(trial_of(*parts), batch(3, app("a", away(ZONE), cpu="1")))
    assert (found.verdict, found.note) == ("impossible", "no placement of all of them exists")


def test_rules_that_are_left_out_are_named_where_they_decide():
    port = Constraints(host_ports=(HostPort(80),))
    trial = trial_of(node("x", cpu="8"))
    before = trial.room.free.copy()
    found = ask(trial, batch(1, app("a", port, cpu="1")), batch(1, app("b", port, cpu="2")))
    assert (found.verdict, found.note) == ("unknown", "the exact search leaves out: host port 80")
    assert (trial.room.free == before).all()
    assert not trial.log


def test_nothing_is_claimed_without_time_solver_or_space(monkeypatch):
    wanted = batch(2, app("a", near(ZONE), cpu="2"))
    trial = trial_of(site("x", "one", cpu="2"), site("y", "one", cpu="2"))
    assert ask(trial, wanted, seconds=0).note == "no time is given for an exact search"
    monkeypatch.setattr(exact, "UNKNOWNS_MAX", 0)
    assert "too many" in ask(trial, wanted).note
    monkeypatch.setattr(exact, "can_solve", lambda: False)
    found = ask(trial, wanted)
    assert (found.verdict, found.note) == ("unknown", "highspy is not installed: pip install 'ullage[solve]'")


def test_amounts_beyond_the_solver_s_reach_are_loosened_and_replayed():
    odd = (1 << 40) + 1
    trial = trial_of(node("x", memory=str(3 * odd)), node("y", memory=str(3 * odd - 1)))
    found = ask(trial, batch(3, app("a", memory=str(odd))), batch(2, app("b", memory=str(odd - 1))))
    assert found.verdict in {"placed", "unknown"}
    assert (
        ask(trial_of(node("x", memory=str(odd - 1))), batch(1, app("a", memory=str(odd)))).verdict
        == "impossible"
    )


def test_what_a_rule_refuses_is_not_replayed():
    trial = trial_of(site("x", "one", cpu="8"))
    shape = trial.shape_of(app("a", away(HOST), cpu="1"))
    assert not replay(trial, [(shape, 2)], [((0, 2),)])
    assert not trial.log
    assert replay(trial, [(shape, 1)], [((0, 1),)])


def test_volumes_are_left_to_the_replay():
    trial = trial_of(node("x", cpu="8"))
    wanted = app("a", near(ZONE, "b"), cpu="1", volumes=(volume("data", "1Gi", claim="unknown-claim"),))
    assert ask(trial, batch(1, wanted)).verdict == "impossible"


RULES = (
    Constraints(),
    away(ZONE),
    away(HOST),
    away(ZONE, "b"),
    near(ZONE),
    near(ZONE, "b"),
    near(HOST),
    spread(ZONE),
    spread(ZONE, 2),
    spread(ZONE, whom="b"),
    spread(ZONE, min_domains=3),
)
sites = st.lists(
    st.tuples(st.sampled_from(("one", "two", "")), st.integers(0, 5), st.sampled_from(("", "a", "b"))),
    min_size=1,
    max_size=3,
)
asked = st.lists(
    st.tuples(st.sampled_from(RULES), st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=2
)


def possible(trial, left):
    """Whether some order of placing puts everything somewhere, by trying all of them."""
    seen = set()

    def search(state, counts):
        if not any(state):
            return True
        key = (tuple(state), tuple(sorted(counts.items())))
        if key in seen:
            return False
        seen.add(key)
        for place, (shape, _) in enumerate(left):
            if not state[place]:
                continue
            for row in trial.feasible(shape).nonzero()[0].tolist():
                mark = trial.mark()
                trial.place(shape, row)
                fewer = [*state[:place], state[place] - 1, *state[place + 1 :]]
                more = {**counts, (place, row): counts.get((place, row), 0) + 1}
                if search(fewer, more):
                    trial.undo(mark)
                    return True
                trial.undo(mark)
        return False

    return search([replicas for _, replicas in left], {})


@settings(max_examples=80, deadline=None)
@given(sites, asked)
def test_certificates_agree_with_trying_everything(places, workloads):
    nodes = []
    for number, (zone, cpu, runs) in enumerate(places):
        labels = {HOST: f"n{number}", **({ZONE: zone} if zone else {})}
        made = node(f"n{number}", cpu=str(cpu + 1)).labelled(labels)
        running = workload(f"run-{number}", cpu="1", labels={"app": runs})
        nodes.append(made.holding(running) if runs else made)
    batches = [
        batch(replicas, app("ab"[number], rule, cpu=str(cpu)))
        for number, (rule, cpu, replicas) in enumerate(workloads)
    ]
    trial = trial_of(*nodes)
    truth = possible(trial, [(trial.shape_of(each.workload), each.replicas) for each in batches])
    found = ask(trial_of(*nodes), *batches)
    if found.verdict == "unknown":
        assert found.note.startswith("the exact search leaves out: ")
        assert len(batches) > 1
    else:
        assert (found.verdict == "placed") == truth


@pytest.mark.parametrize("replicas", [0, 1])
def test_nothing_asked_for_is_placed_at_once(replicas):
    trial = trial_of(node("x", cpu="1"))
    found = ask(trial, batch(replicas, app("a", cpu="1")))
    assert found.verdict == "placed"
