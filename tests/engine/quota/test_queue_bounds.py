"""Changes of what Kueue's queues may use: each is of an object that is there."""

import msgspec
import pytest

from builders import batch, cluster, node, pod, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.quota.book import QUEUE_LABEL
from ullage.engine.quota.queue_bounds import called, can_change
from ullage.model.cluster import Quota, Snapshot

GPU = "nvidia.com/gpu"
NONE = resources({GPU: "0"})
IN_QUEUE = {QUEUE_LABEL: "lq"}


def queue(name: str, nominal: int, cohort: str = "cohort/co", **limits: object) -> Quota:
    if not cohort:
        limits = {"borrowing_limit": NONE, "lending_limit": NONE}
    return quota(name, {GPU: str(nominal)}, namespaces=(), queues=(f"{name}/lq",), parent=cohort, **limits)


def cohort(name: str, total: int, parent: str = "", **limits: object) -> Quota:
    limits = limits if parent else {"borrowing_limit": NONE, "lending_limit": NONE}
    return quota(f"cohort/{name}", {GPU: str(total)}, namespaces=(), parent=parent, **limits)


def world(*quotas: Quota, used: int = 0) -> Snapshot:
    held = [pod("b/x", {GPU: str(used)}, labels=IN_QUEUE)] if used else []
    return cluster(node("n", {GPU: "8"}).holding(*held), *quotas)


@pytest.mark.parametrize(
    ("quotas", "used", "told"),
    [
        ([queue("a", 2), cohort("co", 2)], 0, ["raise the nominalQuota of quota a: nvidia.com/gpu to 3"]),
        (
            [queue("a", 2), queue("b", 2), cohort("co", 4)],
            2,
            ["raise the nominalQuota of quota a: nvidia.com/gpu to 3"],
        ),
        ([queue("a", 2, "")], 0, ["raise the nominalQuota of quota a: nvidia.com/gpu to 3"]),
        (
            [queue("a", 2, borrowing_limit=NONE), queue("b", 2), cohort("co", 4)],
            0,
            [
                "raise the borrowingLimit of quota a: nvidia.com/gpu to 1",
                "raise the nominalQuota of quota a: nvidia.com/gpu to 3",
            ],
        ),
    ],
)
def test_what_is_named_is_written_in_a_queue(quotas, used, told):
    asked = batch(3, waiting("a/job", {GPU: "1"}, labels=IN_QUEUE), atomic=True)
    (outcome,) = fit(Columns(world(*quotas, used=used)), [asked]).outcomes
    assert [each.text for each in outcome.refusal.remedies] == told
    for remedy in outcome.refusal.remedies:
        after = [
            msgspec.structs.replace(each, **{remedy.bound: remedy.bounds}) if each.name == "a" else each
            for each in quotas
        ]
        total = sum((each.min for each in after if each.queues), resources({}))
        after = [each if each.queues else msgspec.structs.replace(each, min=total) for each in after]
        assert fit(Columns(world(*after, used=used)), [asked]).fits


@pytest.mark.parametrize(
    ("changed", "bounds"),
    [
        (cohort("co", 4), []),
        (cohort("inner", 4, "cohort/co", borrowing_limit=NONE), ["borrowing_limit"]),
        (queue("a", 2), ["borrowing_limit", "min"]),
        (queue("a", 2, ""), ["min"]),
        (quota("a", {GPU: "2"}), ["max", "borrowing_limit", "min"]),
        (quota("a", {GPU: "2"}, queues=("a/lq",), borrowing_limit=NONE), ["max", "borrowing_limit", "min"]),
    ],
)
def test_only_what_an_object_says_can_be_changed(changed, bounds):
    assert [each for each in ("max", "borrowing_limit", "min") if can_change(changed, each)] == bounds


def test_a_min_of_a_queue_is_called_as_kueue_does():
    assert [called(each, "min") for each in (queue("a", 1), quota("a"))] == ["nominalQuota", "min"]
