"""The ledger of a cluster as a process follows it: every step as it comes, the state after it.

A watch shows steps in the order in which they were taken, so each is added to what is known. What does not
follow is told and left out until the next list: the ledger's own writers would not have written it.
"""

from typing import Any, Final

from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger_entry import LedgerEntry
from ullage.service.ledger_file import alive
from ullage.sources.kubernetes.items import Kind
from ullage.stores.kubernetes_chain import Chain
from ullage.stores.kubernetes_objects import GROUP, KIND, Part, Step, read_object
from ullage.stores.protocol import StoreUnavailableError

PLAN: Final = Kind(GROUP, KIND)


class Plans:
    """What is promised in the ledger of a cluster."""

    def __init__(self) -> None:
        self._chain = Chain()
        self._listing: list[Step | Part] | None = None
        self._standing: tuple[int, int | None, tuple[LedgerEntry, ...]] = (0, None, ())
        self.problem = ""

    @property
    def state(self) -> LedgerState:
        """The ledger after the last step that was seen; only to be read."""
        return self._chain.state

    @property
    def revision(self) -> int:
        """The last step that was seen."""
        return self._chain.revision

    def standing(self, at_seconds: int) -> tuple[LedgerEntry, ...]:
        """Return what is held at a time; what has ended is not, though nobody may have said so yet.

        The same tuple is returned for as long as nothing of it changes.
        """
        revision, until, entries = self._standing
        if revision == self.revision and (until is None or at_seconds < until):
            return entries
        found = tuple(entry for entry in alive(self.state.entries, at_seconds) if entry.holds)
        ends = [entry.expires_seconds for entry in found if entry.expires_seconds is not None]
        self._standing = (self.revision, min(ends, default=None), found)
        return found

    # What watches call

    def begin(self) -> None:
        """A list of all objects begins."""
        self._listing = []

    def put(self, content: Any) -> None:
        """An object is there."""
        try:
            found = read_object(content)
        except StoreUnavailableError as error:
            self.problem = str(error)
            return
        if self._listing is not None:
            self._listing.append(found)
        elif isinstance(found, Step) and found.revision > self.revision:
            self._take(found)

    def drop(self, _: Any) -> None:
        """An old step is removed: what it made of the ledger stays."""

    def end(self) -> None:
        """The list ends: it is all there is."""
        listed, self._listing = self._listing or [], None
        try:
            self._chain = Chain(listed)
        except StoreUnavailableError as error:
            self.problem = str(error)
        else:
            self.problem = ""
            self._forget_steps()

    def _take(self, step: Step) -> None:
        try:
            self._chain.append(step)
        except StoreUnavailableError as error:
            self.problem = str(error)
        else:
            self._forget_steps()

    def _forget_steps(self) -> None:
        """Keep the state alone: who asks for the past reads it from the cluster."""
        self._chain.forget(self.revision)
