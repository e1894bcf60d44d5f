"""What quotas have against one more, as others come and go."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, quota, waiting
from quota_worlds import crowded_cluster
from ullage.engine.columns import Columns
from ullage.engine.quota.admitted_use import NOTHING_AGAINST, AdmittedUse
from ullage.model.delta import Delta, apply

TEAM = quota("team", {"cpu": "1"}, {"cpu": "2"})
ASKED = waiting("team/new", cpu=1)


def use_of(*parts) -> AdmittedUse:
    return AdmittedUse(Columns(cluster(*parts)))


def test_who_enters_and_leaves_counts_and_counts_no_more():
    use = use_of(node("n1", cpu="8"), TEAM)
    assert use.refusals(ASKED).everywhere == ""
    old = pod("team/old", cpu=2, node="n1")
    use.replace(old.key, old)
    assert use.refusals(ASKED).everywhere.startswith("quota team would use more than its max")
    use.replace(old.key, msgspec.structs.replace(old, terminating=True))
    assert use.refusals(ASKED).everywhere, "who is on the way out counts until gone"
    use.replace(old.key, None)
    assert use.refusals(ASKED).everywhere == ""


def test_those_of_no_quota_and_those_let_in_already_are_not_asked_about():
    full = pod("team/old", cpu=2, node="n1")
    use = use_of(node("n1", cpu="8"), TEAM, full)
    assert use.refusals(waiting("other/p", cpu=1)) == NOTHING_AGAINST
    assert use.refusals(msgspec.structs.replace(ASKED, admitted=True)) == NOTHING_AGAINST


@settings(max_examples=40)
@given(st.integers(0, 1 << 20), st.data())
def test_what_is_kept_says_what_is_counted_anew(seed, data):
    snapshot, asked = crowded_cluster(seed)
    use = AdmittedUse(Columns(snapshot))
    gone = (
        data.draw(st.sets(st.sampled_from([each.key for each in snapshot.workloads])))
        if len(snapshot.workloads)
        else set()
    )
    for key in sorted(gone):
        use.replace(key, None)
    after = apply(snapshot, Delta(dropped={"workloads": tuple(sorted(gone))}))
    assert use.refusals(asked) == AdmittedUse(Columns(after)).refusals(asked)
