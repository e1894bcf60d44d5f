"""A placement decides open claims, for all who share them, until it is taken back."""

import numpy as np
import pytest

from builders import cluster, node, persistent_volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.attachments import Attachments
from ullage.engine.placement.node_columns import NodeColumns
from ullage.engine.placement.rules import EVERY
from ullage.engine.placement.volume_binding import (
    Attached,
    Binding,
    ClaimUse,
    Offer,
    OpenClaim,
    SinglePod,
    VolumeHold,
)
from ullage.engine.placement.volume_places import Places
from ullage.engine.placement.volume_pools import Pool, Wanted
from ullage.engine.trial import Trial
from ullage.model.constraints import NodeSelector, NodeSelectorTerm, Requirement

HOST = "kubernetes.io/hostname"
SNAPSHOT = cluster(
    *(
        node(name, cpu="1").labelled({HOST: name}).with_(attach_limits={"d": 9, "e": 9})
        for name in ("n0", "n1")
    )
)
SHAPE = Trial(Columns(SNAPSHOT)).shape_of(waiting("new", cpu="1"))
PLACES = Places(SNAPSHOT, NodeColumns(list(SNAPSHOT.nodes)))
NONE = np.zeros(2, np.bool_)


def disk(name, amount, where):
    terms = (NodeSelectorTerm((Requirement(HOST, "In", (where,)),)),)
    return persistent_volume(name, amount, node_affinity=NodeSelector(terms), driver="e")


def open_claim(key="web/data", amount=5, pool=None, meant=None, provided=NONE, **fields):
    offer = Offer(pool, meant, provided, "d")
    return OpenClaim("data", key, Wanted(amount), offer, places=PLACES, **fields)


def rows(*claims):
    return np.flatnonzero(Binding(claims, SHAPE, 2).allows(EVERY)).tolist()


def hold_of(*claims, **fields):
    attachments = Attachments(list(SNAPSHOT.nodes))
    parts = {"fixed": (), "single": (), **fields}
    return attachments, VolumeHold(attachments, ClaimUse(), Binding(claims, SHAPE, 2), **parts)


def test_a_claim_for_which_there_is_nothing_goes_nowhere():
    assert rows(open_claim()) == []


def test_claims_get_a_free_volume_or_a_new_one():
    pool = Pool([disk("a", "5", "n0")], PLACES)
    assert rows(open_claim(pool=pool)) == [0]
    assert rows(open_claim(pool=pool), open_claim("web/log", pool=pool)) == []
    assert rows(open_claim(pool=pool), open_claim("web/log", pool=pool, provided=None)) == [0]
    assert rows(open_claim(pool=pool, provided=np.array([False, True]))) == [0, 1]


def test_a_volume_that_names_the_claim_is_taken_before_all_others():
    pool, meant = Pool([disk("a", "5", "n0")], PLACES), disk("m", "9", "n1")
    claim = open_claim(pool=pool, meant=meant)
    assert rows(claim) == [1]
    assert Binding([claim], SHAPE, 2).chosen(1) == {claim: meant}
    assert Binding([claim], SHAPE, 2).chosen(0) == {claim: None}


def test_a_pinned_claim_is_on_its_node_if_a_volume_can_be_made_there():
    for provided, expected in ((None, [1]), (NONE, [])):
        claim = open_claim(provided=provided)
        claim.pin(1)
        claim.use(1, None)
        claim.leave()
        assert rows(claim) == expected
    claim.pin(-1)
    assert rows(claim) == []


def test_the_first_user_decides_and_the_last_one_frees():
    volume = disk("a", "5", "n0")
    claim = open_claim(pool=Pool([volume], PLACES), provided=None)
    claim.use(0, volume)
    claim.use(1, None)
    assert (claim.volume, rows(claim)) == (volume, [0])
    assert rows(open_claim("web/log", pool=claim.offer.pool)) == []
    claim.leave()
    assert claim.volume is volume
    claim.leave()
    assert (claim.volume, rows(claim)) == (None, [0, 1])
    assert rows(open_claim("web/log", pool=claim.offer.pool)) == [0]


def test_those_who_share_a_claim_are_judged_again_when_it_is_decided():
    claim = open_claim(provided=None)
    claim.dependents.append(SHAPE)
    for change in (lambda: claim.use(1, None), claim.leave):
        SHAPE.stale = False
        SHAPE.scores = np.zeros(2, np.int64)
        change()
        assert (SHAPE.stale, SHAPE.scores) == (True, None)


@pytest.mark.parametrize(("users", "allowed"), [(0, [0, 1]), (1, []), (-1, [0, 1])])
def test_a_claim_for_one_pod_takes_one(users, allowed):
    uses = ClaimUse()
    uses.dependents["x"] = [SHAPE]
    SHAPE.stale = False
    uses.add("x", users)
    assert SHAPE.stale
    assert np.flatnonzero(SinglePod(uses, "x", 2).allows(EVERY)).tolist() == allowed


def test_an_own_claim_is_decided_for_each_replica():
    volume = disk("a", "5", "n0")
    pool = Pool([volume], PLACES)
    attachments, hold = hold_of(open_claim("", pool=pool, provided=None))
    hold.add(0, 2)
    assert {driver: used.tolist() for driver, used in attachments.used.items()} == {"d": [1, 0], "e": [1, 0]}
    assert not pool.suits(Wanted(6))
    assert pool.smallest(Wanted(5), int(pool.codes[0]), set()) is None
    hold.add(0, -2)
    assert not any(used.any() for used in attachments.used.values())
    assert pool.smallest(Wanted(5), int(pool.codes[0]), set()) is volume


def test_one_that_ran_before_goes_and_comes_back_without_deciding():
    claim = open_claim(provided=None)
    attachments, hold = hold_of(claim)
    attachments.add("d", "web/data", 0, 1)
    hold.add(0, -1)
    assert attachments.where("web/data") == []
    hold.add(1, 1)
    assert claim.decided is not None
    hold.add(1, -1)
    hold.add(0, 1)
    assert attachments.where("web/data") == [0]
    assert claim.decided is None


def test_what_left_with_a_running_workload_is_not_what_the_next_one_has():
    claim = open_claim("", provided=None, left=Attached("e", "web/old"))
    attachments, hold = hold_of(claim)
    attachments.add("e", "web/old", 0, 1)
    hold.add(0, -1)
    hold.add(1, 1)
    assert (attachments.used["d"].tolist(), attachments.used["e"].tolist()) == ([0, 1], [0, 0])


def test_fixed_attachments_and_single_use_are_counted():
    attachments, hold = hold_of(fixed=[Attached("d", "web/data")], single=["web/data"])
    hold.add(1, 3)
    assert attachments.used["d"].tolist() == [0, 1]
    hold.add(1, -3)
    assert attachments.used["d"].tolist() == [0, 0]
