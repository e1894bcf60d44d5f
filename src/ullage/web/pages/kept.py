"""What every page needs of a cluster, made once for each state of it: all numbers of its status.

A page of thousands of nodes is drawn in milliseconds, its numbers take seconds. So they are kept; whoever
makes a cluster ready calls `prepare` before it is asked.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ullage.service.asked import Asked, read_cluster

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.service.status import Known

Made = TypeVar("Made")
_MADE: "Final[list[tuple[Snapshot, str, Any]]]" = []
"""What single pages need of the clusters that are kept, by name."""


def kept_status(asked: Asked) -> "Known":
    """Return the cluster and its status, which is counted only where that was not done before."""
    from ullage.service.status_kept import is_kept, kept_report

    found = kept_report(read_cluster(asked, needs_nodes=False))
    _MADE[:] = [each for each in _MADE if is_kept(each[0])]
    return found


def kept_of(snapshot: "Snapshot", name: str, make: Callable[[], Made]) -> Made:
    """Return what a page needs of a cluster, made anew only where the cluster is another one."""
    from ullage.service.status_kept import is_kept

    for held, made_as, made in _MADE:
        if held is snapshot and made_as == name:
            return cast("Made", made)
    found = make()
    if is_kept(snapshot):
        _MADE.append((snapshot, name, found))
    return found


def prepare(asked: Asked) -> None:
    """Make ready what pages need of a cluster, and the templates they are drawn with."""
    from ullage.render.html import environment

    kept_status(asked)
    templates = environment()
    for name in templates.list_templates(extensions=("jinja",)):
        templates.get_template(name)
