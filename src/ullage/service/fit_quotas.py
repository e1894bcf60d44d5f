"""The part of a fit page that is about quotas: who goes for a workload, and who could evict it later."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.words import canonical_map, listed, several, worth_naming

if TYPE_CHECKING:
    from ullage.service.fit import OutcomeReport


def evicting(outcomes: "Sequence[OutcomeReport]") -> str:
    """Return the end of a verdict that says who is evicted; nothing where nobody is."""
    victims = [each.workload for outcome in outcomes for each in outcome.evicted]
    return f", evicting {several(victims)}" if victims else ""


def quota_blocks(
    outcomes: "Sequence[OutcomeReport]", types: ResourceTypes, rows_max: int | None
) -> list[view.Block]:
    """Return the table of those that are evicted, and what borrowers must expect."""
    blocks: list[view.Block] = []
    if any(outcome.evicted for outcome in outcomes):
        blocks.append(_evicted_table(outcomes, types, rows_max))
    later = tuple(_later(outcomes, types))
    if later:
        blocks.append(view.Findings("May be evicted later", later))
    return blocks


def _evicted_table(
    outcomes: "Sequence[OutcomeReport]", types: ResourceTypes, rows_max: int | None
) -> view.Table:
    columns = (
        view.Column("evicted", priority=9),
        view.Column("node", priority=6),
        view.Column("quota", priority=7),
        view.Column("label", priority=8),
        view.Column("frees", priority=5, key="requests"),
        view.Column("for", priority=4),
    )
    pairs = [(outcome.workload, each) for outcome in outcomes for each in outcome.evicted]
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.node),
            view.Cell(each.quota),
            view.Cell(each.label, tone="plain" if each.label == "over-quota" else "bad"),
            view.Cell(listed(types, worth_naming(each.requests)), value=canonical_map(types, each.requests)),
            view.Cell(workload),
        )
        for workload, each in pairs[:rows_max]
    )
    proven = all(outcome.fewest_proven for outcome in outcomes)
    caption = "no other choice costs less, proven" if proven else "the best that was found; not proven"
    if rows_max is not None and len(pairs) > rows_max:
        caption = f"the first {rows_max} of {len(pairs)}, -o wide shows all; {caption}"
    return view.Table("Evicted", columns, rows, caption)


def _later(outcomes: "Sequence[OutcomeReport]", types: ResourceTypes) -> Iterator[view.Finding]:
    for outcome in outcomes:
        if outcome.over_quota:
            who = "it" if outcome.placed == 1 else f"{outcome.over_quota} of {outcome.placed} replicas"
            claims = [f"{each.quota} ({listed(types, each.could_claim)})" for each in outcome.later_claims]
            message = f"{who} would be over quota"
            message += (
                f"; could claim it back: {several(claims)}" if claims else "; nobody could claim it back now"
            )
            remedy = "ullage quota risk shows the order in which they go" if claims else ""
            yield view.Finding("info", outcome.workload, message, remedy)
