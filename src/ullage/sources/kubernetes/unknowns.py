"""What a dump could not tell, or what of it is not read: short lines that every answer repeats.

The hard thing is to say each once: a cluster has hundreds of ConfigMaps and a list may have come in fifty
pages.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from ullage.sources.kubernetes.items import Kind, Page
from ullage.sources.places import one_line

_NAMED_MAX: Final = 3
"""Examples that a line gives before it only counts."""


class Unknowns:
    """What is to be said about a dump, collected while it is read."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()
        self._open: dict[Kind, Page] = {}
        self._complete: set[Kind] = set()
        self._lines: set[str] = set()

    def not_read(self, kind: Kind) -> None:
        """Count an object of a kind that is not read."""
        self._kinds[kind.name] += 1

    def page(self, page: Page) -> None:
        """Take note of the end of a list; the last page of a kind is the one that does not continue."""
        if not page.continues:
            self._complete.add(page.kind)
        elif page.kind not in self._open or page.place > self._open[page.kind].place:
            self._open[page.kind] = page

    def say(self, line: str) -> None:
        """Add a line of its own."""
        self._lines.add(line)

    def examples(self, what: str, names: list[str]) -> None:
        """Add a line that counts things and names the first few; nothing where there are none."""
        if names:
            self._lines.add(f"{what}: {_first(names)}")

    def lost(self, pods: Mapping[str, str]) -> None:
        """Add a line about pods whose nodes, by the key of the pod, are not there; nothing for no pods."""
        if pods:
            who = (
                "1 pod runs on a node that is"
                if len(pods) == 1
                else f"{len(pods)} pods run on nodes that are"
            )
            shown = _first([f"{key} on {node}" for key, node in pods.items()])
            self._lines.add(f"{who} not there ({shown}): left out")

    def lines(self) -> tuple[str, ...]:
        """All that is to be said, in a fixed order."""
        kinds = [f"not read: {count} {one_line(kind)}" for kind, count in sorted(self._kinds.items())]
        return (*self._missing_pages(), *sorted(self._lines), *kinds)

    def _missing_pages(self) -> list[str]:
        lines = []
        for kind, page in sorted(self._open.items()):
            if kind in self._complete:
                continue
            count = "" if page.remaining is None else f"{page.remaining} "
            listed = f"{kind.name} objects" if kind.name else "objects"
            lines.append(
                f"incomplete: {page.place} says that {count}more {listed} follow, on a page that is not there"
            )
        return lines


def _first(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(one_line(name) for name in sorted(names)[:_NAMED_MAX])
    return f"{shown} and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else shown
