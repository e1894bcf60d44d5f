"""What to buy so that everything asked for fits, and any k nodes may fail.

The cheapest mix by room and by what nodes are (mix.py) is a bound for all others. It is then checked in the
cluster itself under every rule (check.py). Where that shows that rules between workloads, or the loss of
nodes, need more, the cheapest further node that helps is added until it holds, what turned out to be needless
is taken out again, and the mixes that are cheaper still are tried in the order of their price. The loss of
nodes has bounds of its own: what runs on the nodes that are worst to lose must have a place on the others.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import heappop, heappush
from itertools import chain
from typing import Final

import msgspec

from ullage.engine.placement.local_disks import rule_of
from ullage.engine.purchase.answer import Purchase, still_wrong
from ullage.engine.purchase.catalog import Catalog
from ullage.engine.purchase.check import Check, Checked
from ullage.engine.purchase.disk_search import DiskSearch
from ullage.engine.purchase.mix import Mix, Optimiser
from ullage.engine.purchase.offers import Market, Offer, counts_of, is_within
from ullage.engine.purchase.problem import Problem
from ullage.engine.steps import Steps, counted, tell
from ullage.model.cluster import Batch, Snapshot

REPAIRS_MAX: Final = 64
"""How often nodes are added to a mix that is not enough."""
PARTS: Final = 5
"""The part of the time that each of many searches may take."""
STALLED_MAX: Final = 6
"""How often in turn that may not help."""
ADDED_NODES_MAX: Final = 24_000
"""Nodes over all clusters that are tried while nodes are added: in large ones fewer mixes are tried."""
SEARCHED_MAX: Final = 600
"""Nodes times shapes up to which each cheaper mix is searched for a placement."""
LOSSES_MAX: Final = 3
"""Losses whose own cheapest mix is looked for."""
TRIES_MAX: Final = 60
TRIED_NODES_MAX: Final = 20_000
"""Cheaper mixes that are tried: so many, and so many nodes over all of them."""
REPAIRED: Final = "additions at most"
TRIED: Final = "cheaper mixes tried at most"
"""What is counted, one after the other."""
MIXES_MAX: Final = 200_000
"""Mixes whose price is looked at."""


def purchase(
    snapshot: Snapshot,
    batches: Sequence[Batch],
    catalog: Catalog,
    *,
    nodes_lost: int = 0,
    seconds_max: int,
    steps: Steps | None = None,
) -> Purchase:
    """Return the cheapest purchase with which all batches have a place and so many nodes may fail."""
    market = Market(snapshot, catalog)
    check = Check(market, batches, nodes_lost, max(1, seconds_max // PARTS))
    search = _Search(market, check, nodes_lost, seconds_max, steps)
    return search.find()


class _Search:
    """The search for one purchase."""

    def __init__(
        self, market: Market, check: Check, nodes_lost: int, seconds_max: int, steps: Steps | None
    ) -> None:
        self._market = market
        self._check = check
        self._steps = steps
        self._nodes_lost = nodes_lost
        self._seconds_max = seconds_max
        self._items = {item.name: item for item in market.catalog.items}
        self._cheapest_micro = min((item.price_micro for item in market.catalog.items), default=0)
        self._nodes_left = ADDED_NODES_MAX

    def find(self) -> Purchase:
        """Return the cheapest purchase that holds."""
        nothing = self._check.of(())
        if nothing.holds:
            return Purchase((), 0, 0, "bound", nothing)
        outright = [each for each in nothing.outcomes if each.refusal and each.certificate == "impossible"]
        if outright and outright[0].refusal:
            first = outright[0].refusal
            return Purchase(
                (), 0, 0, "bound", nothing, f"{first.subject}: {first.reason}; no node changes that"
            )
        problem = Problem(self._market, self._check.demand, self._check.placement)
        mix = Mix((), 0, 0)
        if problem.wanted:
            short = problem.without_a_place()
            if short:
                return Purchase((), 0, 0, "bound", nothing, problem.why_no_kind(short[0]))
            if self._market.catalog.sells_drives and any(rule_of(shape) for shape, _ in problem.wanted):
                told = self._steps
                return DiskSearch(self._market, self._check, problem, self._seconds_max, told).find(nothing)
            mix = Optimiser(problem, self._seconds_max, self._steps).best()
        if mix.bought is None:
            return Purchase((), 0, 0, "bound", nothing, "the counts that the catalog has do not suffice")
        return self._verified(problem, mix, nothing)

    def _verified(self, problem: Problem, mix: Mix, nothing: Checked) -> Purchase:
        offers = self._market.spread([each.offers for each in mix.bought or ()])
        bound = max(mix.bound_micro, self._cheapest_micro)
        checked = self._check.of(offers, self._plan(problem, mix, offers)) if offers else nothing
        if checked.losers and checked.survey is not None:
            if mix.bound_micro:
                bound = mix.bound_micro + self._nodes_lost * self._cheapest_micro
            worst = [each.nodes for each in checked.survey.worst]
            old = [names for names in worst if all(name in self._market.snapshot.nodes for name in names)]
            for names in old[:LOSSES_MAX]:
                lost, reason = self._after_loss(names)
                if lost.bought is None:
                    return Purchase((), 0, bound, "bound", checked, reason)
                bound = max(bound, lost.bound_micro)
                if lost.cost_micro > self._cost(offers):
                    offers = self._market.spread([self._alike_to(each.offers) for each in lost.bought])
                    checked = self._check.of(offers)
        if not checked.holds:
            offers, checked = self._repaired(offers, checked)
            if not checked.holds:
                return Purchase((), 0, bound, "none", checked, still_wrong(checked))
            offers, checked = self._pruned(offers, checked)
        found = Purchase(tuple(offers), self._cost(offers), bound, "none", checked)
        if found.cost_micro <= bound:
            return found._replace(bound_micro=found.cost_micro, proof="bound")
        return self._cheaper(found)

    def _after_loss(self, names: Sequence[str]) -> tuple[Mix, str]:
        """Return the cheapest mix with which a loss of old nodes leaves nobody out, or why there is none."""
        market, anew = self._market.without(names)
        demand = [*self._check.demand, *((each, 1) for each in anew)]
        problem = Problem(market, demand, self._check.placement)
        short = problem.without_a_place()
        if short:
            return Mix(None, 0, 0), f"without {', '.join(names)}: {problem.why_no_kind(short[0])}"
        mix = Optimiser(problem, max(1, self._seconds_max // PARTS)).best()
        return mix, f"without {', '.join(names)}: the counts that the catalog has do not suffice"

    def _plan(self, problem: Problem, mix: Mix, offers: Sequence[Offer]) -> list[dict[str, int]] | None:
        """Return where the mix puts everything; None where it does not say."""
        if not mix.kept and problem.places:
            return None
        names = [node.name for node in self._market.nodes(offers)]
        plan: list[dict[str, int]] = []
        for shape, wished in enumerate(problem.demands):
            there = mix.kept[shape] if mix.kept else ()
            counts = {problem.trial.nodes[row].name: count for row, count in there}
            for name, each in zip(names, mix.bought or (), strict=True):
                counts[name] = each.pattern[shape]
            plan.append(_trimmed(counts, wished))
        return plan

    def _cost(self, offers: Sequence[Offer]) -> int:
        return self._market.catalog.price_of(counts_of(offers))

    def _repaired(self, offers: list[Offer], checked: Checked) -> tuple[list[Offer], Checked]:
        """Add the cheapest node that helps until the purchase holds.

        More room may change where everything goes, and leave more out than before; so where no single node
        helps, more and more of the one that harms least are added.
        """
        stalled = 0
        for _ in counted(range(REPAIRS_MAX), REPAIRS_MAX, REPAIRED, self._steps):
            step = self._step(offers, checked)
            if step is None or stalled > STALLED_MAX:
                break
            more, found = step
            gain = sum(checked.badness) - sum(found.badness)
            stalled = 0 if gain > 0 else stalled + 1
            added = more[-1]
            offers, checked = self._spread_out(more), found
            often = sum(checked.badness) // (2 * gain) if gain > 0 else 1 << stalled
            many = self._spread_out([*more, *[added] * often])
            if often and not checked.holds and is_within(many, self._items):
                found = self._tried(many)
                if stalled or found.badness < checked.badness:
                    offers, checked = many, found
            if checked.holds:
                break
        return offers, checked

    def _tried(self, offers: Sequence[Offer]) -> Checked:
        """Return what a mix achieves as the policy places, and count what that took."""
        self._nodes_left -= len(self._market.snapshot.nodes) + len(offers)
        return self._check.of(offers, searches=False)

    def _step(self, offers: list[Offer], checked: Checked) -> tuple[list[Offer], Checked] | None:
        """Return a mix with one more node: the cheapest that helps, else the one that harms least."""
        others: list[tuple[tuple[int, int], int, list[Offer], Checked]] = []
        seen = set[tuple[str, ...]]()
        for offer in self._market.by_price(offers):
            more = [*offers, offer]
            kind = self._seen_of(offer)
            if kind in seen or not is_within(more, self._items):
                continue
            if self._nodes_left <= 0:
                break
            seen.add(kind)
            found = self._tried(more)
            if found.badness < checked.badness:
                return more, found
            others.append((found.badness, len(others), more, found))
        if not others:
            return None
        _, _, more, found = min(others, key=lambda each: each[:2])
        return more, found

    def _pruned(self, offers: list[Offer], checked: Checked) -> tuple[list[Offer], Checked]:
        """Take out again what is not needed: first what was added last, then the dearest items."""
        offers, checked = self._fewest(offers, checked, [], offers)
        for item in sorted(self._items.values(), key=lambda each: (-each.price_micro, each.name)):
            mine = [offer for offer in offers if offer.item is item]
            others = [offer for offer in offers if offer.item is not item]
            offers, checked = self._fewest(offers, checked, others, mine)
        return offers, checked

    def _fewest(
        self, offers: list[Offer], checked: Checked, kept: list[Offer], mine: list[Offer]
    ) -> tuple[list[Offer], Checked]:
        """Return a mix that holds with as few of some of its offers as halving finds."""
        few, enough = -1, len(mine)
        while enough - few > 1:
            middle = (few + enough) // 2
            less = self._spread_out([*kept, *mine[:middle]])
            found = self._check.of(less, searches=False)
            if found.holds:
                enough, offers, checked = middle, less, found
            else:
                few = middle
        return offers, checked

    def _cheaper(self, found: Purchase) -> Purchase:
        """Try the mixes between the bound and the price, the cheapest first."""
        nodes = len(self._market.snapshot.nodes) + len(found.offers)
        most = min(TRIES_MAX, TRIED_NODES_MAX // nodes)
        searches = nodes * len(self._check.demand) <= SEARCHED_MAX
        tried = 0
        for chosen in _mixes(self._choices, found.bound_micro, found.cost_micro):
            if chosen is None or tried >= most:
                return found._replace(tried=tried)
            tell(self._steps, TRIED, tried, most)
            tried += 1
            offers = tuple(self._market.spread(chosen))
            checked = self._check.of(offers, searches=searches)
            if checked.holds:
                found = found._replace(offers=offers, cost_micro=self._cost(offers), checked=checked)
                break
            if checked.unplaced and not checked.is_final:
                return found._replace(tried=tried)
        if not tried:  # there is no mix between the bound and the price
            return found._replace(proof="bound", bound_micro=found.cost_micro)
        return found._replace(proof="search", tried=tried)

    @cached_property
    def _seen_labels(self) -> tuple[str, ...]:
        """The labels about the place that some workload names."""
        workloads = chain(self._market.snapshot.workloads, (each for each, _ in self._check.demand))
        distinct = {id(each.constraints): each.constraints for each in workloads}
        texts = [msgspec.json.encode(each) for each in distinct.values()]
        return tuple(
            key for key in sorted(self._market.place_labels) if any(key.encode() in text for text in texts)
        )

    @cached_property
    def _choices(self) -> list[tuple[Offer, ...]]:
        """The offers in sets that no workload tells apart: of one item, and equal in the labels seen."""
        found: dict[tuple[str, ...], list[Offer]] = {}
        for offer in self._market.offers:
            found.setdefault(self._seen_of(offer), []).append(offer)
        return [tuple(alike) for alike in found.values()]

    def _seen_of(self, offer: Offer) -> tuple[str, ...]:
        """Return what tells an offer from others."""
        labels = self._market.labels_of(offer)
        return (offer.item.name, *(labels.get(key, "") for key in self._seen_labels))

    def _spread_out(self, offers: Sequence[Offer]) -> list[Offer]:
        """Return a mix that no workload tells from this one, over the domains with the fewest nodes."""
        return self._market.spread([self._alike_to([offer]) for offer in offers])

    def _alike_to(self, offers: Sequence[Offer]) -> Sequence[Offer]:
        """Return the offers that no workload tells from one of these, in all domains of the cluster."""
        seen = {self._seen_of(offer) for offer in offers}
        found = [alike for alike in self._choices if self._seen_of(alike[0]) in seen]
        return [offer for alike in found for offer in alike] or offers


def _mixes(
    choices: Sequence[tuple[Offer, ...]], least_micro: int, below_micro: int
) -> Iterator[list[tuple[Offer, ...]] | None]:
    """Yield the mixes whose price is in a range, the cheapest first; None where there are too many."""
    waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for _ in range(MIXES_MAX):
        if not waiting:
            return
        price_micro, numbers = heappop(waiting)
        if numbers and price_micro >= least_micro:
            yield [choices[number] for number in numbers]
        for number in range(numbers[-1] if numbers else 0, len(choices)):
            item = choices[number][0].item
            total = price_micro + item.price_micro
            count = sum(choices[each][0].item.name == item.name for each in numbers)
            if total < below_micro and (item.count_max is None or count < item.count_max):
                heappush(waiting, (total, (*numbers, number)))
    yield None


def _trimmed(counts: dict[str, int], wished: int) -> dict[str, int]:
    """Return counts that add up to what is wished, where patterns hold more."""
    found = {}
    for name, count in counts.items():
        kept = min(count, wished)
        if kept:
            found[name] = kept
            wished -= kept
    return found
