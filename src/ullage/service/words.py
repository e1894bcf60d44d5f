"""How amounts and names read in pages: one place, so that every page says the same thing the same way."""

from typing import Final

from ullage.model.resources import Resources, ResourceTypes
from ullage.render.view import Cell, Share, Tone

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


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, `1 node`, `12 nodes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
