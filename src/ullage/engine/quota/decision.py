"""Whether a workload runs now, runs after evictions, or waits: decided over quotas and nodes together."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Member, within
from ullage.engine.quota.gang_victims import GangFound
from ullage.engine.quota.rights import Claim, Refusal, Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victim_gangs import NO_GANGS, Gangs
from ullage.engine.quota.victim_tally import Cost
from ullage.engine.quota.victims import STEPS_MAX, Nodes, Victims

Verdict = Literal["admit", "preempt", "refuse"]
Barred = Literal[
    "",
    "above-guarantee",
    "above-entitlement",
    "asks-nobody",
    "kept-by-budgets",
    "never-evicts",
    "nobody-to-take",
    "would-take-turns",
]
"""Why nobody is evicted: the claim has no right to it (by its mode), it is not to have anybody evicted, its
quota never evicts those of others, no legal set makes enough room, disruption budgets keep those who would
have to go, or a victim could take the place back, or places of others, in its turn."""


class Decision(NamedTuple):
    """What is decided of a workload, and every reason for it.

    `refusals` are the bounds it would pass as things stand; where there are none and it is refused, no node
    has room. `borrows` if its quota then uses more than its min. `spared` would have gone if they had run
    for the minimum, `budgets` have kept some who would have. No set of victims has fewer than `victims_min`;
    `steps` is what the search for them took.
    """

    verdict: Verdict
    claim: Claim
    node: str = ""
    victims: tuple[Member, ...] = ()
    cost: Cost | None = None
    proven: bool = True
    refusals: tuple[Refusal, ...] = ()
    fits_now: bool = False
    barred: Barred = ""
    borrows: bool = False
    spared: tuple[Member, ...] = ()
    victims_min: int = 0
    steps: int = 0
    budgets: tuple[str, ...] = ()


def decide(
    rules: Rules,
    member: Member,
    nodes: Nodes,
    candidates: Sequence[Member],
    *,
    budgets: Sequence[int] = (),
    gangs: Gangs = NO_GANGS,
    steps_max: int = STEPS_MAX,
) -> Decision:
    """Return what becomes of one workload that asks to run.

    `candidates` are those that run and may be evicted; `budgets` says how many each of them still lets go.
    `gangs` that run go whole, or keep as many as are enough.
    """
    claim = rules.claim([member])
    refusals = tuple(rules.refusals(claim.quota, claim.amounts))
    node = first_fit(member, nodes)
    borrows = is_borrowing(rules.standing, claim)
    if not refusals and node:
        return Decision("admit", claim, node, fits_now=True, borrows=borrows)
    victims = Victims(rules, claim, nodes, budgets=budgets, gangs=gangs, steps_max=steps_max)
    search = victims.best(candidates)
    if search.found is None:
        barred = why_barred(rules, claim, turns=search.turns)
        return Decision(
            "refuse",
            claim,
            proven=search.proven,
            refusals=refusals,
            fits_now=bool(node),
            barred=barred,
            steps=search.steps,
        )
    found = search.found
    return Decision(
        "preempt",
        claim,
        found.node,
        found.victims,
        found.cost,
        found.proven,
        refusals,
        bool(node),
        borrows=borrows,
        victims_min=found.victims_min,
        steps=search.steps,
    )


def better_of(decision: Decision, gang: GangFound | None, nodes: Nodes) -> Decision:
    """Return a decision about one, with the victims that a search for gangs has found if these cost less."""
    if gang is None or not gang.victims or (decision.cost is not None and decision.cost <= gang.cost):
        return decision
    (node,) = gang.nodes
    if not nodes.verify(node, gang.victims):
        return decision
    return decision._replace(
        verdict="preempt",
        node=node,
        victims=gang.victims,
        cost=gang.cost,
        proven=False,
        barred="",
        victims_min=max(decision.victims_min, gang.victims_min),
    )


def first_fit(member: Member, nodes: Nodes) -> str:
    """Return the first node that has room for a workload as things stand; none as ''."""
    for node, free in nodes.free.items():
        fits = all(amount <= free.get(name, 0) for name, amount in member.takes.items() if amount)
        if fits and nodes.verify(node, ()):
            return node
    return ""


def is_borrowing(standing: Standing, claim: Claim) -> bool:
    """Whether a claim brings its quota above its min."""
    if claim.quota == NO_QUOTA:
        return False
    used = standing.own_used[claim.quota]
    total = [amount + more for amount, more in zip(used, claim.amounts, strict=True)]
    return not within(total, standing.book.own_mins[claim.quota])


def most_admitted(rules: Rules, one: Member, replicas: int) -> int:
    """Return how many replicas of a member the bounds of quotas let in as things stand."""
    fits, too_many = 0, replicas + 1
    tried = replicas
    while too_many - fits > 1:
        if rules.refusals(one.quota, [amount * tried for amount in one.amounts]):
            too_many = tried
        else:
            fits = tried
        tried = (fits + too_many) // 2
    return fits


def why_barred(rules: Rules, claim: Claim, *, turns: bool) -> Barred:
    """Return why nobody is evicted for a claim that found no legal set."""
    if turns:
        return "would-take-turns"
    if claim.right is None and claim.quota != NO_QUOTA:
        if claim.reach:
            return "never-evicts"
        return "above-entitlement" if rules.book.modes[claim.quota] == "fair" else "above-guarantee"
    return "nobody-to-take"


def asking_nobody(decision: Decision) -> Decision:
    """Return what is decided of one for whom nobody is to go: where that alone is in the way, it says so."""
    could_ask = decision.barred in {"nobody-to-take", "would-take-turns"}
    return decision._replace(barred="asks-nobody") if could_ask else decision
