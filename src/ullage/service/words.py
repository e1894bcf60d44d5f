"""How amounts and names read in pages: one place, so that every page says the same thing the same way."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ullage.model.cluster import Snapshot
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.verdict import Finding
from ullage.render.view import Cell, Column, Findings, Share, Table, Tone
from ullage.render.view import Finding as ShownFinding

FIRST_RESOURCES: Final = ("cpu", "memory")
SHOWN_LAST: Final = ("ephemeral-storage", "pods")
NEARLY_FULL_PERCENT: Final = 90


def resources_in_order(names: set[str]) -> list[str]:
    """Return resources as people look for them: cpu and memory, then devices and others, then the rest."""
    first = [name for name in FIRST_RESOURCES if name in names]
    last = [name for name in SHOWN_LAST if name in names]
    middle = sorted(names - {*first, *last}, key=lambda name: (not name.endswith("/gpu"), name))
    return [*first, *middle, *last]


def amount_cell(types: ResourceTypes, resource: str, amount: int, *, tone: Tone = "plain") -> Cell:
    """Return an amount for people, with its exact value for machines."""
    kind = types[resource]
    return Cell(kind.readable(amount), tone=tone, value=kind.print(amount))


def share_cell(types: ResourceTypes, resource: str, part: int, whole: int | None) -> Cell:
    """Return an amount as a share of a whole, its tone by how full that is; no whole, no share."""
    kind = types[resource]
    if whole is None:
        return Cell(kind.readable(part), value=kind.print(part), note="no bound")
    tone: Tone = "plain"
    if part > whole:
        tone = "bad"
    elif part * 100 >= whole * NEARLY_FULL_PERCENT and whole:
        tone = "warn"
    return Cell(kind.readable(part), Share(part, whole) if whole else None, tone, value=kind.print(part))


def listed(types: ResourceTypes, resources: Resources) -> str:
    """Return a map of resources as one line, `4 cpu, 16Gi memory`."""
    order = resources_in_order(set(resources))
    return ", ".join(f"{types[name].readable(resources[name])} {name}" for name in order) or "nothing"


def canonical_map(types: ResourceTypes, resources: Resources) -> str:
    """Return a map of resources exactly, as --shape takes it: `cpu=1500m,memory=3Gi`."""
    order = resources_in_order(set(resources.without_zeros()))
    return ",".join(f"{name}={types[name].print(resources[name])}" for name in order)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, `1 node`, `12 nodes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def several(names: Sequence[str], most: int = 3) -> str:
    """Return the first names of a list and how many more there are, `a, b, c and 4 more`."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def about(snapshot: Snapshot) -> str:
    """Return what an answer is about: the cluster, its revision and the policy that was applied."""
    return f"cluster {snapshot.name}, revision {snapshot.revision}, policy {snapshot.policy.name}"


def nothing_cell() -> Cell:
    """Return the cell of a number that does not exist here."""
    return Cell("-", tone="muted", value="")


def amount_or_nothing(types: ResourceTypes, amounts: Resources, resource: str) -> Cell:
    """Return an amount, or the sign that the resource is not named."""
    return amount_cell(types, resource, amounts[resource]) if resource in amounts else nothing_cell()


def findings_block(
    title: str,
    findings: Sequence[Finding],
    alike_max: int | None = None,
    rest: str = "--by finding shows all",
) -> Findings:
    """Return findings as a block, at most so many of one kind.

    A message that names its subject already is not given it again.
    """
    rows: list[ShownFinding] = []
    counts = Counter(each.code for each in findings)
    seen: Counter[str] = Counter()
    for each in findings:
        seen[each.code] += 1
        if alike_max is not None and seen[each.code] > alike_max:
            if seen[each.code] == counts[each.code]:
                more = f"{counts[each.code] - alike_max} more of this kind ({each.code})"
                rows.append(ShownFinding(each.severity, "", more, rest))
            continue
        kind, _, name = each.subject.partition("/")
        said = f"{kind} {name}" in each.message or each.subject in each.message
        said = said or each.subject in {"", "cluster"}
        rows.append(ShownFinding(each.severity, "" if said else each.subject, each.message, each.remedy))
    return Findings(title, tuple(rows))


def fact_table(title: str, facts: Sequence[tuple[str, str]]) -> Table:
    """Return facts with their names, one under the other."""
    rows = tuple((Cell(name, tone="muted"), Cell(text)) for name, text in facts)
    return Table(title, (Column("what", priority=9), Column("is", priority=9)), rows)


def worth_naming(requests: Resources) -> Resources:
    """Return what is asked for, without saying that each pod is one pod."""
    asked = requests.without_zeros()
    return Resources({name: amount for name, amount in asked.items() if (name, amount) != ("pods", 1)})
