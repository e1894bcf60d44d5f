"""Sizes: machines that are the same share one; very many are put together with those close to them."""

import numpy as np
import pytest

from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance import sizes
from ullage.engine.balance.candidates import Balancing
from ullage.engine.balance.columns import Columns
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.sizes import SIZES_MAX, Sizes


def columns_of(kind: Kind) -> Columns:
    return Columns(Fleet(random_cluster(1, kind)), Balancing())


@pytest.mark.parametrize("primary", [True, False])
def test_machines_of_one_size_are_the_same_in_all_they_ask_for(primary):
    columns = columns_of(Kind(6, 60))
    found = Sizes(columns, primary=primary)
    asked = columns.asked.primary if primary else columns.asked.standby
    assert found.is_exact
    assert (found.asked[found.bucket] == asked).all()


def test_very_many_sizes_are_put_together():
    columns = columns_of(Kind(6, 400, has_distinct_sizes=True))
    found = Sizes(columns, primary=True)
    assert not found.is_exact
    assert len(found.asked) == SIZES_MAX
    assert (found.asked[found.bucket] <= columns.asked.primary).all()
    width = columns.linear.primary.shape[1]
    middle, half = found.amounts[found.bucket, :width], -found.amounts[found.bucket, 2 * width :]
    assert (np.abs(columns.linear.primary - middle) <= half * (1 + 1e-12)).all()


@pytest.mark.parametrize("primary", [True, False])
def test_the_table_is_never_above_what_a_machine_adds(monkeypatch, primary):
    monkeypatch.setattr(sizes, "SIZES_MAX", 7)
    columns = columns_of(Kind(5, 50, has_distinct_sizes=True))
    found = Sizes(columns, primary=primary)
    amounts = columns.linear.primary if primary else columns.linear.standby
    tilt = np.sin(np.arange(amounts.shape[1] * 6.0)).reshape(-1, 6)
    bend = np.abs(tilt) / 3
    exact = amounts @ tilt + (amounts * amounts) @ bend
    table = found.table(tilt, bend)[found.bucket]
    assert (table <= exact + 1e-6 * np.abs(exact)).all()


def test_hosts_are_renewed_as_they_change():
    columns = columns_of(Kind(6, 30))
    found = Sizes(columns, primary=False)
    assert found.fits(force=False).any()
    columns.disk[2] = 0
    columns.reserved[2] *= 2
    columns.renew([], [])
    found.renew(np.array([2]))
    fresh = Sizes(columns, primary=False)
    assert (found.fits(force=False) == fresh.fits(force=False)).all()
    assert not found.fits(force=False)[:, 2].any()
    assert (found.share == fresh.share).all()
