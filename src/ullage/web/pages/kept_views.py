"""Views of what is recorded, kept for as long as they would be the same if they were made again.

Some are made in seconds, of which drawing takes a few milliseconds. A view depends on the cluster and on what
is recorded, and every recording is counted: as long as the count is the same, so is the view.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot

VIEWS_MAX: Final = 8
View = Mapping[str, Any]


class _Kept(NamedTuple):
    snapshot: "Snapshot"
    name: str
    stamp: tuple[object, ...]
    view: View


_KEPT: Final[list[_Kept]] = []


def kept_view(snapshot: "Snapshot", path: Path, name: str, make: Callable[[], View]) -> View:
    """Return a view of a cluster and of a ledger's file, made anew only where one of them has changed."""
    stamp = _stamp(path)
    for each in _KEPT:
        if each.snapshot is snapshot and (each.name, each.stamp) == (name, stamp):
            return each.view
    found = make()
    _KEPT[:] = [each for each in _KEPT if (each.name, each.stamp[0]) != (name, stamp[0])]
    _KEPT.append(_Kept(snapshot, name, stamp, found))
    del _KEPT[:-VIEWS_MAX]
    return found


def _stamp(path: Path) -> tuple[object, ...]:
    from ullage.stores.usage_parts import batches

    return str(path), path.stat().st_ino, batches(path)
