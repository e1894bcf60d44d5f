"""Batches judged on one trial: those before stay placed, those that are only looked at leave nothing."""

import pytest

from builders import batch, cluster, node, pod, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.judging import Judging
from ullage.engine.trial import Trial
from ullage.model.admission import ResourceQuota
from ullage.model.cluster import MEMBERS_UNSAID
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm
from ullage.model.settings import rules_for

APART = PodAffinity((PodAffinityTerm("only", LabelSelector({"app": "a"})),))

ONE = batch(1, waiting("web/a", cpu="3"))


def judging(*, names_remedies=False, **fields):
    snapshot = cluster(node("x", cpu="4"), policy=policy(), **fields)
    rules = rules_for(snapshot.policy, snapshot.resource_types)
    return Judging(Trial(Columns(snapshot)), rules, 0, names_remedies=names_remedies)


def test_what_is_judged_together_stays_and_what_is_judged_alone_does_not():
    judge = judging()
    assert [judge.judge_alone([ONE])[0].placed for _ in range(2)] == [1, 1]
    assert [judge.judge_together([ONE])[0].placed for _ in range(2)] == [1, 0]


def test_judged_alone_no_quota_is_charged():
    quota = ResourceQuota("q", "web", {"pods": "1"}, {"pods": "0"})
    judge = judging(resource_quotas=[quota])
    assert [judge.judge_alone([ONE])[0].placed for _ in range(2)] == [1, 1]
    assert [judge.judge_together([ONE])[0].placed for _ in range(2)] == [1, 0]


def test_remedies_are_looked_for_only_where_they_are_wanted():
    large = batch(1, waiting("web/a", cpu="5"))
    assert not judging().judge_together([large])[0].refusal.remedies
    assert judging(names_remedies=True).judge_together([large])[0].refusal.remedies


def gang_judging(cpu, running=(), *, names_remedies=False, labels=None):
    snapshot = cluster(node("x", cpu=cpu).labelled(labels or {}).holding(*running), policy=policy())
    rules = rules_for(snapshot.policy, snapshot.resource_types)
    return Judging(Trial(Columns(snapshot)), rules, 0, names_remedies=names_remedies)


class TestGang:
    @staticmethod
    def placed(*batches, running=(), cpu="4"):
        snapshot = cluster(node("x", cpu=cpu).holding(*running), policy=policy())
        rules = rules_for(snapshot.policy, snapshot.resource_types)
        judge = Judging(Trial(Columns(snapshot)), rules, 2, names_remedies=False)
        return [(each.placed, each.certificate) for each in judge.judge_together(batches)]

    def test_a_gang_of_one_batch_is_all_or_none(self):
        assert self.placed(batch(5, waiting("web/a", cpu="1", gang="g"))) == [(0, "impossible")]
        assert self.placed(batch(4, waiting("web/a", cpu="1", gang="g"))) == [(4, "greedy")]

    def test_where_some_are_enough_the_others_go_as_far_as_they_can(self):
        assert self.placed(batch(5, waiting("web/a", cpu="1", gang="g", gang_min=4)))[0][0] == 4
        assert self.placed(batch(6, waiting("web/a", cpu="1", gang="g", gang_min=5))) == [(0, "unknown")]

    def test_members_that_run_already_are_counted(self):
        runs = pod("web/r", cpu="1", gang="g")
        more = batch(4, waiting("web/a", cpu="1", gang="g", gang_min=4))
        assert self.placed(more, running=[runs])[0][0] == 3
        elsewhere = pod("other/r", cpu="1", gang="g")
        assert self.placed(more, running=[elsewhere])[0][0] == 0

    def test_two_batches_of_a_gang_count_together(self):
        first = batch(3, waiting("web/a", cpu="1", gang="g", gang_min=4))
        second = batch(3, waiting("web/b", cpu="1", gang="g", gang_min=4))
        assert [count for count, _ in self.placed(first, second)] == [3, 1]

    def test_of_a_gang_whose_group_is_not_there_yet_none_is_placed(self):
        asked = waiting("web/a", cpu="1", gang="g", gang_min=MEMBERS_UNSAID)
        (found,) = gang_judging("5").judge_together([batch(3, asked)])
        assert found.placed == 0
        assert found.refusal.reason.startswith("its PodGroup g is not there yet")
        assert found.refusal.remedy == "create the PodGroup g"

    @pytest.mark.parametrize(
        ("cpu", "running", "remedy"),
        [
            ("5", 0, "ask for 2 more of its gang, or lower the minimum of its gang to 3"),
            ("4", 0, "lower the minimum of its gang to 3"),
            ("2", 0, "give its gang 2 more members, and room for all of them"),
            ("5", 1, "ask for 1 more of its gang, or lower the minimum of its gang to 4"),
        ],
    )
    def test_of_too_few_none_is_placed_and_what_helps_was_tried(self, cpu, running, remedy):
        runs = [pod(f"web/r{index}", cpu="1", gang="g") for index in range(running)]
        judge = gang_judging(cpu, runs)
        asked = [batch(count, waiting(f"web/{count}", cpu="1", gang="g", gang_min=5)) for count in (2, 1, 0)]
        found = judge.judge_together(asked)
        assert [(each.placed, each.certificate) for each in found[:2]] == [(0, "impossible")] * 2
        has = f"{3 + running}, of which {running} run" if running else "3"
        assert {each.refusal.reason for each in found[:2]} == {f"its gang g needs 5 and has {has}"}
        assert {each.refusal.remedy for each in found[:2]} == {remedy}
        assert [each.refusal.count for each in found[:2]] == [2, 1]
        assert found[2].refusal is None
        assert judge.judge_together([batch(int(cpu) - running, waiting("web/x", cpu="1"))])[0].placed

    def test_a_short_gang_beside_others_is_refused_for_itself(self):
        short = batch(1, waiting("web/a", cpu="1", gang="g", gang_min=5))
        found = gang_judging("4").judge_together([short, batch(1, waiting("web/b", cpu="1"))])
        assert [bool(each.refusal) for each in found] == [True, False]

    @pytest.mark.parametrize(("cpu", "least", "advised"), [("4", 5, []), ("4", 4, [4]), ("4", 0, [4])])
    def test_nobody_is_told_to_ask_for_fewer_than_the_gang_needs(self, cpu, least, advised):
        asked = batch(6, waiting("web/a", cpu="1", gang="g", gang_min=least))
        (found,) = gang_judging(cpu, names_remedies=True).judge_together([asked])
        assert [each.replicas for each in found.refusal.remedies if each.kind == "replicas"] == advised
        assert found.refusal.remedies
        assert ("replicas only" in found.refusal.remedy) == bool(advised)

    def test_members_of_other_batches_and_those_that_run_count_for_what_is_enough(self):
        runs = [pod("web/r", cpu="1", gang="g")]
        first = batch(2, waiting("web/a", cpu="1", gang="g", gang_min=5))
        second = batch(4, waiting("web/b", cpu="1", gang="g", gang_min=5))
        for cpu, advised in (("5", [2]), ("4", [])):
            found = gang_judging(cpu, runs, names_remedies=True).judge_together([first, second])[1]
            assert [each.replicas for each in found.refusal.remedies if each.kind == "replicas"] == advised

    def test_where_only_fewer_would_have_helped_room_is_asked_for(self):
        constraints = Constraints(node_selector={"only": "x"}, affinity=Affinity(pod_anti_affinity=APART))
        asked = waiting("web/a", labels={"app": "a"}, constraints=constraints, gang="g", gang_min=2)
        judge = gang_judging("4", names_remedies=True, labels={"only": "x"})
        (found,) = judge.judge_together([batch(2, asked)])
        assert not found.refusal.remedies
        assert found.refusal.remedy == "make room for 1 more: its gang g needs 2 and 1 has a place"
