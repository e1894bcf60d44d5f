"""What every page needs of a cluster, made once for each state of it: all numbers of its status.

A page of thousands of nodes is drawn in milliseconds, its numbers take seconds. So they are kept for as
long as the cluster is the same object; whoever makes a cluster ready calls `prepare` before it is asked.
"""

from typing import TYPE_CHECKING, Final

from ullage.service.asked import Asked, read_cluster

if TYPE_CHECKING:
    from ullage.service.status import Known

KEPT_MAX: Final = 2
_KEPT: "Final[list[Known]]" = []


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
    return found


def prepare(asked: Asked) -> None:
    """Make ready what pages need of a cluster, and the templates they are drawn with."""
    from ullage.render.html import environment

    kept_status(asked)
    templates = environment()
    for name in templates.list_templates(extensions=("jinja",)):
        templates.get_template(name)
