"""What pods are told: how many nodes were looked at, what is missing, and what would help, on one line."""

from collections.abc import Sequence
from typing import Final

from ullage.engine.placement.scheduling import Nominated
from ullage.model.plan import Refusal

MESSAGE_CHARACTERS_MAX: Final = 1000
NAMED_MAX: Final = 5


def why_not(refusal: Refusal, nodes: int) -> str:
    """Return why a pod has no place."""
    change = f"; smallest change: {refusal.remedy}" if refusal.remedy else ""
    # where room is what is missing, the reason begins with how many nodes have it
    counted = refusal.reason.removeprefix(f"0/{nodes} nodes have room ")
    return shortened(f"0/{nodes} nodes: {counted}{change}")


def why_later(nominated: Nominated) -> str:
    """Return what a pod waits for that has a place."""
    if nominated.evicted:
        what = f"once {_they([each.workload for each in nominated.evicted])} evicted"
    elif nominated.waits_for:
        what = f"once {_they(nominated.waits_for)} gone"
    else:
        what = "once the others of its gang can run too"
    return shortened(f"runs on {nominated.node} {what}")


def why_evicted(reason: str, preemptor: str, node: str) -> str:
    """Return why a pod is evicted."""
    return shortened(f"evicted ({reason}) so that {preemptor} can run on {node}")


def shortened(text: str) -> str:
    """Return text that an object can hold."""
    return text if len(text) <= MESSAGE_CHARACTERS_MAX else f"{text[: MESSAGE_CHARACTERS_MAX - 1]}…"


def _they(names: Sequence[str]) -> str:
    told = ", ".join(names[:NAMED_MAX])
    more = len(names) - NAMED_MAX
    told += f" and {more} more" if more > 0 else ""
    return f"{told} {'is' if len(names) == 1 else 'are'}"
