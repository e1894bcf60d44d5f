"""What a process that binds volumes needs of claims beyond their rows, and when: with each event, at once.

A row says how a claim is; who waits for a claim has to know what became of what it wrote. A claim that names
its node no more was given back only if it is seen as it was after the writing, not before: revisions tell.
"""

from collections.abc import Callable
from typing import NamedTuple

from ullage.model.storage import Claim
from ullage.sources.kubernetes.wire import ClaimWire


class ClaimFacts(NamedTuple):
    """A claim as it was seen last."""

    uid: str
    revision: int
    selected_node: str = ""
    is_bound: bool = False
    storage_group: str = ""


class MirroredClaims:
    """All claims; `heard` is called with the key of each that comes, changes or goes."""

    def __init__(self) -> None:
        self._facts: dict[str, ClaimFacts] = {}
        self.heard: Callable[[str], None] | None = None

    def get(self, key: str) -> ClaimFacts | None:
        """Return what is known of a claim."""
        return self._facts.get(key)

    def put(self, wire: ClaimWire, row: Claim) -> None:
        """Take a claim."""
        metadata = wire.metadata
        self._facts[row.key] = ClaimFacts(
            metadata.uid,
            revision_number(metadata.resource_version),
            row.selected_node,
            row.bound,
            row.storage_group,
        )
        self._tell(row.key)

    def drop(self, key: str) -> None:
        """Forget a claim."""
        if self._facts.pop(key, None) is not None:
            self._tell(key)

    def _tell(self, key: str) -> None:
        if self.heard is not None:
            self.heard(key)


def revision_number(text: str) -> int:
    """Return a revision as a number: later ones are larger; 0 for one that is none."""
    return int(text) if text.isascii() and text.isdigit() else 0
