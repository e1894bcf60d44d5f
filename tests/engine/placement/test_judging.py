"""Batches judged on one trial: those before stay placed, those that are only looked at leave nothing."""

from builders import batch, cluster, node, pod, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.judging import Judging
from ullage.engine.trial import Trial
from ullage.model.admission import ResourceQuota
from ullage.model.settings import rules_for

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
