"""What is being done counts as done until the watch shows it, or it turns out not to have happened."""

from ullage.engine.placement.scheduling import Bound


def takes(watched, key: str, *names: str) -> list[str]:
    verdicts = watched.outlook.catch_up()
    found = verdicts.reasons(watched.outlook.pod(key), names, watched.outlook.held)
    return [name for name, reason in found.items() if not reason]


def test_a_pod_that_is_being_bound_takes_its_room_before_the_watch_shows_it(watched):
    watched.node("n1", cpu="1")
    watched.pod("a/first", cpu="1")
    watched.pod("a/second", cpu="1")
    assert takes(watched, "a/second", "n1") == ["n1"]
    watched.outlook.bind(watched.outlook.pod("a/first"), Bound("a/first", "n1"))
    assert takes(watched, "a/second", "n1") == []
    watched.pod("a/first", cpu="1", on="n1")
    assert takes(watched, "a/second", "n1") == []


def test_what_did_not_happen_is_given_back(watched):
    watched.node("n1", cpu="1")
    watched.pod("a/first", cpu="1")
    watched.pod("a/second", cpu="1")
    watched.outlook.catch_up()
    watched.outlook.bind(watched.outlook.pod("a/first"), Bound("a/first", "n1"))
    watched.outlook.give_back("a/first")
    assert takes(watched, "a/second", "n1") == ["n1"]
    assert "a/first" in watched.outlook.line


def test_whoever_is_evicted_is_evicted_once(watched):
    watched.node("n1", cpu="1")
    watched.pod("a/old", cpu="1", on="n1")
    watched.outlook.catch_up()
    assert watched.outlook.evict("a/old")
    assert watched.outlook.pod("a/old").terminating
    assert not watched.outlook.evict("a/old")
    watched.outlook.give_back("a/old")
    watched.outlook.catch_up()
    assert not watched.outlook.pod("a/old").terminating


def test_a_place_is_held_until_the_pod_has_a_node_or_is_gone(watched):
    watched.node("n1", cpu="1")
    for name in ("first", "second", "third"):
        watched.pod(f"a/{name}", cpu="1")
    watched.outlook.catch_up()
    watched.outlook.held.update({"a/first": "n1", "a/second": "n1"})
    assert takes(watched, "a/third", "n1") == []
    watched.pod("a/first", cpu="1", on="n1")
    watched.gone("a/second")
    watched.outlook.catch_up()
    assert watched.outlook.held == {}


def test_the_copy_of_the_cluster_stays_as_it_is(watched):
    watched.node("n1", cpu="1")
    before = watched.outlook.columns()
    watched.node("n2", cpu="1")
    watched.outlook.catch_up()
    assert len(before.nodes) == 1
    assert before.free.shape[0] == 1
