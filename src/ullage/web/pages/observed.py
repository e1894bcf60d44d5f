"""Use beside request and limit on pages: what was recorded of a node or a workload, and marks for it.

Pages are drawn often, and a ledger may hold months of fifty thousand containers: only what a page is about is
read from it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ullage.engine.placement.limit_ranges import containers_of
from ullage.model.errors import InputError
from ullage.service.words import resources_in_order

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book
    from ullage.model.cluster import Snapshot, Workload
    from ullage.model.resources import Resources, ResourceTypes
    from ullage.model.usage import UsageSummary
    from ullage.service.asked import Asked


class UseMarks(NamedTuple):
    """One resource: what is used as a rule and at most, beside request and limit; places are per cent."""

    resource: str
    used: str
    most: str
    request: str
    limit: str
    share: str
    used_at: float
    most_at: float
    request_at: float | None
    limit_at: float | None
    is_over: bool

    @property
    def words(self) -> str:
        """The same for those who do not see it."""
        used = f"{self.resource}: {self.used} used, at most {self.most}"
        return f"{used}, {self.request} requested, limit {self.limit}"


def marks_of(
    usage: "Mapping[str, UsageSummary]", request: "Resources", limit: "Resources", types: "ResourceTypes"
) -> list[UseMarks]:
    """Return a bar for each resource whose use is known."""
    found = []
    for name in resources_in_order(set(usage)):
        summary = usage[name]
        if summary.max is None or summary.as_a_rule is None:
            continue
        most, used = summary.max.value, summary.as_a_rule.value
        asked, bound = request.get(name), limit.get(name)
        whole = max(most, asked or 0, bound or 0, 1)
        show = types[name].readable

        def at(amount: int, whole: int = whole) -> float:
            return round(100 * amount / whole, 2)

        found.append(
            UseMarks(
                name,
                show(used),
                show(most),
                "-" if asked is None else show(asked),
                "-" if bound is None else show(bound),
                f"{100 * used / asked:.0f}%" if asked else "",
                at(used),
                at(most),
                None if asked is None else at(asked),
                None if bound is None else at(bound),
                bound is not None and most > bound,
            )
        )
    return found


def recorded_of(asked: "Asked", subjects: Iterable[str]) -> "Book | None":
    """Return what was recorded of some subjects; None where that is nothing."""
    from ullage.stores.usage_parts import looking, read_subjects

    path = Path(asked.observed)
    if not asked.observed or not path.exists():
        return None
    try:
        with looking(path) as connection:
            book = read_subjects(connection, subjects)
    except InputError:
        return None  # a page without use is better than none
    return book if len(book) else None


def of_node(asked: "Asked", snapshot: "Snapshot", name: str) -> "Book | None":
    """Return what was recorded of a node and of what runs there."""
    here = [each for each in snapshot.workloads if each.node == name]
    return recorded_of(asked, [f"node/{name}", *(subject for each in here for subject in subjects_of(each))])


def subjects_of(workload: "Workload") -> list[str]:
    """Return a workload as it is observed: the whole, and each container of it."""
    key = f"{workload.namespace}/{workload.name}"
    return [f"pod/{key}", *(f"container/{key}/{each.name}" for each in containers_of(workload))]
