"""What every page needs of a cluster, made once for each state of it: all numbers of its status.

A page of thousands of nodes is drawn in milliseconds, its numbers take seconds. So they are kept for as
long as the cluster is the same object; whoever makes a cluster ready calls `prepare` before it is asked.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ullage.service.asked import Asked, read_cluster

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.service.status import Known

Made = TypeVar("Made")
KEPT_MAX: Final = 2
_KEPT: "Final[list[Known]]" = []
_MADE: "Final[list[tuple[Snapshot, str, Any]]]" = []
"""What single pages need of the clusters that are kept, by name."""


def kept_status(asked: Asked) -> "Known":
    """Return the cluster and its status, which is counted only where that was not done before."""
    snapshot = read_cluster(asked, needs_nodes=False)
    for each in _KEPT:
        if each.snapshot is snapshot:
            return each
    from ullage.service.status import Known, status_report

    found = Known(snapshot, status_report(snapshot, like=_KEPT[0] if _KEPT else None))
    _KEPT.insert(0, found)
    del _KEPT[KEPT_MAX:]
    _MADE[:] = [each for each in _MADE if any(each[0] is known.snapshot for known in _KEPT)]
    return found


def kept_of(snapshot: "Snapshot", name: str, make: Callable[[], Made]) -> Made:
    """Return what a page needs of a cluster, made anew only where the cluster is another one."""
    for held, made_as, made in _MADE:
        if held is snapshot and made_as == name:
            return cast("Made", made)
    found = make()
    if any(known.snapshot is snapshot for known in _KEPT):
        _MADE.append((snapshot, name, found))
    return found


def prepare(asked: Asked) -> None:
    """Make ready what pages need of a cluster, and the templates they are drawn with."""
    from ullage.render.html import environment

    kept_status(asked)
    templates = environment()
    for name in templates.list_templates(extensions=("jinja",)):
        templates.get_template(name)
