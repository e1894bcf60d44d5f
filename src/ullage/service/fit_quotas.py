"""The part of a fit page about quotas: who pays, goes, is waited for, is spared; who could evict it later."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.fit_payers import QuotaPays, borrowing, payers_table
from ullage.service.words import canonical_map, listed, nothing_cell, several, worth_naming

if TYPE_CHECKING:
    from ullage.service.fit import OutcomeReport

NOT_ALL_LOOKED_AT: Final = "not everybody who might claim it back was looked at; of the others nobody could"
BUDGETS: Final = "ullage check lists budgets and what they allow"
RISK: Final = "ullage quota risk shows the order in which they go"


def evicting(outcomes: "Sequence[OutcomeReport]") -> str:
    """Return the end of a verdict that says who is waited for and who is evicted; nothing where nobody is."""
    victims = [each.workload for outcome in outcomes for each in outcome.evicted]
    gone = [each.workload for outcome in outcomes for each in outcome.waits_for]
    waiting = f", once {several(gone)} {'is' if len(gone) == 1 else 'are'} gone" if gone else ""
    if not victims:
        return waiting
    broken = {name for outcome in outcomes for each in outcome.evicted for name in each.breaks}
    return f"{waiting}, evicting {several(victims)}{against(broken)}"


def against(budgets: Collection[str]) -> str:
    """Return which disruption budgets do not let somebody go; nothing where there are none."""
    return f", which disruption budget {several(sorted(budgets))} does not allow now" if budgets else ""


def quota_blocks(
    outcomes: "Sequence[OutcomeReport]",
    payers: Sequence[QuotaPays],
    types: ResourceTypes,
    rows_max: int | None,
) -> list[view.Block]:
    """Return the tables of who pays, is waited for, evicted and spared, and what borrowers must expect."""
    blocks: list[view.Block] = [payers_table(payers, types, rows_max)] if payers else []
    if any(outcome.waits_for for outcome in outcomes):
        blocks.append(_waiting_table(outcomes, types, rows_max))
    if any(outcome.evicted for outcome in outcomes):
        blocks.append(_evicted_table(outcomes, types, rows_max))
    if any(outcome.spared for outcome in outcomes):
        blocks.append(_spared_table(outcomes, rows_max))
    broken = tuple(_broken(outcomes))
    if broken:
        blocks.append(view.Findings("Kept by disruption budgets", broken))
    later = tuple(_later(outcomes, payers, types))
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
    gangs = list(dict.fromkeys(each.gang for _, each in pairs if each.gang))
    names = f"gang {gangs[0]} goes" if len(gangs) == 1 else f"gangs {several(gangs)} go, each"
    whole = f"; {names} as one" if gangs else ""
    return view.Table("Evicted", columns, rows, f"{_cut(pairs, rows_max)}{_certificate(outcomes)}{whole}")


def _broken(outcomes: "Sequence[OutcomeReport]") -> Iterator[view.Finding]:
    """Yield who of those that are to go is kept by a disruption budget."""
    for outcome in outcomes:
        for each in outcome.evicted:
            if each.breaks:
                message = (
                    f"disruption budget {several(each.breaks)} does not let it go now: a cluster refuses "
                    f"to evict it, and {outcome.workload} waits"
                )
                yield view.Finding("warning", each.workload, message, BUDGETS)


def _certificate(outcomes: "Sequence[OutcomeReport]") -> str:
    """Return how sure it is that nobody else would better go."""
    in_turns = sum(max(1, outcome.evicting_turns) for outcome in outcomes if outcome.evicted) > 1
    if all(outcome.fewest_proven for outcome in outcomes):
        which = "one claim after the other: in its turn no other choice costs one less" if in_turns else ""
        return f"{which or 'no other choice costs less'}, proven"
    if in_turns:
        return "one claim after the other, in each turn the best that was found; not proven"
    goes = sum(len(outcome.evicted) for outcome in outcomes)
    least = sum(outcome.evicted_min for outcome in outcomes)
    if least >= goes:
        return "the best that was found; no fewer would do, but who of them goes is not proven to be best"
    return f"the best that was found, not proven: {goes} go, and fewer than {max(1, least)} never do"


def _waiting_table(
    outcomes: "Sequence[OutcomeReport]", types: ResourceTypes, rows_max: int | None
) -> view.Table:
    columns = (
        view.Column("waited for", priority=9),
        view.Column("node", priority=8),
        view.Column("quota", priority=7),
        view.Column("holds", priority=5, key="requests"),
        view.Column("by", priority=4),
    )
    pairs = [(outcome.workload, each) for outcome in outcomes for each in outcome.waits_for]
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.node),
            view.Cell(each.quota) if each.quota else nothing_cell(),
            view.Cell(listed(types, worth_naming(each.requests)), value=canonical_map(types, each.requests)),
            view.Cell(workload),
        )
        for workload, each in pairs[:rows_max]
    )
    caption = "on their way out already; nobody more is evicted in their stead"
    return view.Table("Waited for", columns, rows, f"{_cut(pairs, rows_max)}{caption}")


def _spared_table(outcomes: "Sequence[OutcomeReport]", rows_max: int | None) -> view.Table:
    columns = (
        view.Column("spared", priority=9),
        view.Column("node", priority=6),
        view.Column("quota", priority=7),
        view.Column("may be evicted in", "right", priority=8, key="left_seconds"),
        view.Column("for", priority=4),
    )
    pairs = [(outcome.workload, each) for outcome in outcomes for each in outcome.spared]
    rows = tuple(
        (
            view.Cell(each.workload),
            view.Cell(each.node),
            view.Cell(each.quota) if each.quota else nothing_cell(),
            view.Cell(f"{each.left_seconds} s", value=str(each.left_seconds)),
            view.Cell(workload),
        )
        for workload, each in pairs[:rows_max]
    )
    caption = "they ran for less than the minimum; else they would be evicted"
    return view.Table("Spared", columns, rows, f"{_cut(pairs, rows_max)}{caption}")


def _cut(rows: Sequence[object], rows_max: int | None) -> str:
    """Return the beginning of a caption where a table shows only the first of its rows."""
    hidden = rows_max is not None and len(rows) > rows_max
    return f"the first {rows_max} of {len(rows)}, -o wide shows all; " if hidden else ""


def _later(
    outcomes: "Sequence[OutcomeReport]", payers: Sequence[QuotaPays], types: ResourceTypes
) -> Iterator[view.Finding]:
    told: set[str] = set()
    for outcome in outcomes:
        if outcome.over_quota or outcome.later_claims:
            yield _of_placed(outcome, borrowing(payers, outcome.workload, types), types)
        others = [each for each in outcome.pushed if each not in told]
        told |= set(others)
        if others:
            message = (
                f"{several(others)} would be over quota, and {'is' if len(others) == 1 else 'are'} not now"
            )
            yield view.Finding("info", outcome.workload, message, RISK)


def _of_placed(outcome: "OutcomeReport", quota: str, types: ResourceTypes) -> view.Finding:
    """Return which of those placed are over quota, and who could claim them back."""
    alone = outcome.placed == 1
    if outcome.over_quota:
        who = "it" if alone else f"{outcome.over_quota} of {outcome.placed} replicas"
        message = f"{who} would be over quota{quota}"
    else:
        message = f"{'it' if alone else 'they'} would be in-quota"
    if not outcome.later_claims:
        if not outcome.later_claims_complete:
            return view.Finding("info", outcome.workload, f"{message}; {NOT_ALL_LOOKED_AT}", RISK)
        return view.Finding("info", outcome.workload, f"{message}; nobody could claim it back now")
    claims = [
        f"{several(each.claimants)}{' together' if len(each.claimants) > 1 else ''}"
        f" ({listed(types, each.could_claim)})"
        for each in outcome.later_claims
    ]
    message += f"{';' if outcome.over_quota else ', but others'} could claim it back: {several(claims)}"
    if outcome.spared_for_seconds:
        message += f"; not before it has run for {outcome.spared_for_seconds} s"
    return view.Finding("info", outcome.workload, message, RISK)
