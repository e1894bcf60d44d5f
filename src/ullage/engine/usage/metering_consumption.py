"""What each tenant had over time, as levels: what was promised to it and what it used, by thing.

Who was promised what is taken from the book where it was recorded. Where it was not, it is what the snapshot
says now, for as long as anything was observed, and all of it is estimated.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.metering_levels import (
    ESTIMATED,
    GRID_SECONDS,
    UNKNOWN,
    Held,
    Span,
    constant,
    held,
    together,
    unknown,
)
from ullage.engine.usage.metering_prices import BILLING_CU, BILLING_SU, What
from ullage.engine.usage.metering_tenants import Tenancy, promised_now, streams_by_tenant
from ullage.engine.usage.metering_units import compute_units, storage_units
from ullage.model.resources import HDD_SPACE, SSD_SPACE
from ullage.model.usage import COMMITTED, USAGE

CPU: Final = What("cpu")
MEMORY: Final = What("memory")
SSD: Final = What(SSD_SPACE)
HDD: Final = What(HDD_SPACE)


class Levels(NamedTuple):
    """What a tenant had at every moment: promised and used, by thing."""

    promised: dict[What, Held]
    used: dict[What, Held]


class Consumption:
    """The levels of every tenant of a book, one tenant at a time: all of them would not fit in memory."""

    def __init__(self, book: Book, tenancy: Tenancy, span: Span) -> None:
        self._book = book
        self._span = span
        self._used = streams_by_tenant(book, USAGE, tenancy)
        self._promised = streams_by_tenant(book, COMMITTED, tenancy)
        self._now = promised_now(tenancy)
        self._observed: dict[str, npt.NDArray[np.bool_]] = {}
        self.is_promised_now = False
        """Whether anything of what the snapshot says now was counted, for want of a record."""

    def tenants(self) -> list[str]:
        """Return who has anything, by name."""
        return sorted({*self._used, *self._promised, *self._now})

    def of(self, tenant: str, billing: Iterable[str] = ()) -> Levels:
        """Return the levels of a tenant, with those of billing units that are asked for."""
        promised = self._promised_of(tenant)
        used = {
            _with_model(What(resource), promised): self._sum(streams)
            for resource, streams in self._used.get(tenant, {}).items()
        }
        for each in billing:
            for levels in (promised, used):
                found = self._billing(each, levels)
                if found is not None:
                    levels[What(each)] = found
        return Levels(promised, used)

    def of_cluster(self, resource: str) -> Held | None:
        """Return what all of a cluster used: as it was observed as such, else the sum of its nodes."""
        streams = self._book.streams("cluster", resource, USAGE) or self._book.streams(
            "node", resource, USAGE
        )
        return self._sum(streams) if streams else None

    def _promised_of(self, tenant: str) -> dict[What, Held]:
        now = self._now.get(tenant, {})
        found: dict[What, Held] = {}
        recorded = self._promised.get(tenant, {})
        for resource, streams in recorded.items():
            shares = {what: amount for what, amount in now.items() if what.name == resource}
            found.update(_shared(self._sum(streams), resource, shares))
        for what, amount in now.items():
            if what.name not in recorded:
                self.is_promised_now = True
                level = constant(amount, self._span.begin, self._span.end, ESTIMATED)
                seen = self._when_observed(what.name)
                found[what] = Held(
                    np.where(seen, level.amounts, 0), np.where(seen, level.states, UNKNOWN).astype(np.int8)
                )
        return found

    def _billing(self, name: str, levels: Mapping[What, Held]) -> Held | None:
        one, other = (CPU, MEMORY) if name == BILLING_CU else (SSD, HDD)
        if (one not in levels and other not in levels) or name not in {BILLING_CU, BILLING_SU}:
            return None
        nothing = unknown(self._span.begin, self._span.end)
        formula = compute_units if name == BILLING_CU else storage_units
        return formula(levels.get(one, nothing), levels.get(other, nothing))

    def _sum(self, streams: Iterable[Stream]) -> Held:
        return together([held(self._book, each, self._span) for each in streams])

    def _when_observed(self, resource: str) -> npt.NDArray[np.bool_]:
        """Return the slots in which a resource was observed of anybody; where it never was, any resource."""
        resource = resource if self._book.streams(resource=resource, measure=USAGE) else ""
        if resource not in self._observed:
            found = np.zeros((self._span.end - self._span.begin) // GRID_SECONDS, np.bool_)
            for stream in self._book.streams(resource=resource, measure=USAGE):
                if self._book.slot_seconds(stream):
                    found |= held(self._book, stream, self._span).states != UNKNOWN
            self._observed[resource] = found
        return self._observed[resource]


def _with_model(what: What, promised: Mapping[What, Held]) -> What:
    """Return a thing with its model, where all that is promised of it is of one."""
    models = [each for each in promised if each.name == what.name]
    return models[0] if len(models) == 1 else what


def _shared(level: Held, resource: str, shares: Mapping[What, int]) -> dict[What, Held]:
    """Return a level by models, in proportion to what is promised of each now."""
    if len(shares) < 2:
        return {next(iter(shares), What(resource)): level}
    found: dict[What, Held] = {}
    states = np.where(level.states == UNKNOWN, UNKNOWN, ESTIMATED).astype(np.int8)
    before, done = 0, np.zeros(len(states), object)
    for what in sorted(shares):
        before += shares[what]
        until = level.amounts.astype(object) * before // sum(shares.values())
        found[what] = Held(until - done, states)
        done = until
    return found
