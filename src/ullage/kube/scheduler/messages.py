"""What pods are told: how many nodes were looked at, what is missing, and what would help, on one line."""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from ullage.engine.placement.gang_remedies import NOTHING_HELPS as NO_GANG_RUNS
from ullage.engine.placement.refusal import KEPT_OFF, MISSING
from ullage.engine.placement.remedies import NOTHING_HELPS
from ullage.engine.placement.scheduling import Nominated
from ullage.model.cluster import Workload
from ullage.model.plan import Refusal

_OF_NODES: Final = re.compile(
    r"0/\d+ nodes (?:have room|may take it) (?P<bracket>\()|none of \d+ nodes may take it; "
)
_NO_CHANGES: Final = (MISSING, KEPT_OFF, NOTHING_HELPS, NO_GANG_RUNS)
"""How what stands for a remedy begins where there is none."""
MESSAGE_CHARACTERS_MAX: Final = 1000
NAMED_MAX: Final = 5


def why_not(refusal: Refusal, nodes: int) -> str:
    """Return why a pod has no place, and what would help; where nothing is known to, what is missing."""
    helps = "" if refusal.remedy.startswith(_NO_CHANGES) else "smallest change: "
    change = f"; {helps}{refusal.remedy}" if refusal.remedy else ""
    return shortened(f"0/{nodes} nodes: {_counted_once(refusal.reason)}{change}")


def _counted_once(reason: str) -> str:
    """Return a reason without how many nodes it is about, some of which are counted as closed in it."""
    begins = _OF_NODES.match(reason)
    if begins is None:
        return reason
    rest = reason[begins.end() :]
    if begins["bracket"]:
        depth = accumulate((letter == "(") - (letter == ")") for letter in rest)
        end = next((at for at, value in enumerate(depth) if value < 0), -1)
        rest = rest[:end] + rest[end + 1 :] if end > 0 else ""
    return rest or reason


def why_later(nominated: Nominated) -> str:
    """Return what a pod waits for that has a place."""
    if nominated.evicted:
        what = f"once {_they([each.workload for each in nominated.evicted])} evicted"
    elif nominated.waits_for:
        what = f"once {_they(nominated.waits_for)} gone"
    else:
        what = "once the others of its gang can run too"
    return shortened(f"runs on {nominated.node} {what}")


def why_waits(workload: Workload, node: str) -> str:
    """Return what a pod waits for that has a place now and is not bound to it yet."""
    claims = ", ".join(sorted({each.claim for each in workload.volumes if each.claim}))
    whose = f"its volumes (claims {claims})" if claims else "the volumes of others of its gang"
    return shortened(f"waits for {whose} to run on {node}")


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
