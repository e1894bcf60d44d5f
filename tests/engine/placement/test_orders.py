"""Other orders: each has all batches, and begins with those that may have had too little choice."""

from builders import batch, cluster, node, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.orders import other_orders
from ullage.engine.trial import Trial
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm


def beside(name, cpu, app):
    term = PodAffinityTerm("host", LabelSelector({"app": app}))
    constraints = Constraints(affinity=Affinity(pod_affinity=PodAffinity((term,))))
    return batch(1, waiting(name, cpu=cpu, labels={"app": name}, constraints=constraints))


def alone(name, cpu):
    return batch(1, waiting(name, cpu=cpu, labels={"app": name}))


def orders(*batches, refused=()):
    trial = Trial(Columns(cluster(node("x", cpu="8"))))
    return ["".join(each.key for each in order) for order in other_orders(trial, batches, refused)]


def test_what_was_refused_comes_first_then_the_largest():
    assert orders(alone("a", "1"), alone("b", "3"), alone("c", "2"), refused={"c"}) == ["cab", "bca"]


def test_those_that_others_must_be_near_come_before_these_and_these_before_the_rest():
    batches = [alone("a", "1"), beside("b", "1", "c"), alone("c", "1"), beside("d", "1", "d")]
    assert orders(*batches)[1] == "cbad"


def test_where_nobody_must_be_near_others_there_is_no_such_order():
    assert len(orders(alone("a", "1"), beside("d", "1", "d"))) == 2
