"""The NodeCapacities of a cluster as the operator follows them: one for each node, of the same name.

They say what the operator has written, so they are kept apart from what the snapshot is made of: thousands
may change in a minute, and nothing follows from that but that their own content is compared again.
"""

from typing import Any, Final

from ullage.kube.stated import OBJECT, Stated
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OWN_GROUP

NODE_CAPACITY: Final = Kind(OWN_GROUP, "NodeCapacity")


class NodeCapacities:
    """What is written about each node at present, and what of it has changed since somebody asked."""

    def __init__(self) -> None:
        self.stated: dict[str, Stated] = {}
        self._listing: set[str] = set()
        self._news: set[str] = set()

    def news(self) -> set[str]:
        """Return the names of those that have come, changed or gone since the last call."""
        found, self._news = self._news, set()
        return found

    # What watches call

    def begin(self) -> None:
        """A list of all objects begins."""
        self._listing = set(self.stated)

    def put(self, content: Any) -> None:
        """An object is there."""
        found = OBJECT.decode(content)
        name = found.metadata.name
        self._listing.discard(name)
        if self.stated.get(name) != found.stated:
            self.stated[name] = found.stated
            self._news.add(name)

    def drop(self, content: Any) -> None:
        """An object is gone."""
        self._forget(OBJECT.decode(content).metadata.name)

    def end(self) -> None:
        """The list ends: what was not in it is gone."""
        for name in self._listing:
            self._forget(name)
        self._listing = set()

    def _forget(self, name: str) -> None:
        self.stated.pop(name, None)
        self._news.add(name)
