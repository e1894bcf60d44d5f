"""A failing case made small: everything is left out that it fails without.

Pods, objects and then every field below a spec are dropped one by one as long as `fails` still holds, in
rounds until a whole round drops nothing. The hard thing is that a field may only make sense with another: a
case that can no longer be judged does not count as failing.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import yaml

from parity.cases import Case

TRIES_MAX = 4000
KEPT = frozenset(("apiVersion", "kind", "metadata", "name", "namespace", "containers", "image"))
"""Fields without which an object is none."""

Place = tuple[str | int, ...]


class Shrinker:
    """One shrinking: how often the case may still be tried."""

    def __init__(self, fails: Callable[[Case], bool], tries_max: int = TRIES_MAX) -> None:
        self._fails = fails
        self._tries_left = tries_max

    def shrink(self, case: Case) -> Case:
        """Return the smallest case found that still fails."""
        while self._tries_left > 0:
            before = case
            case = self._drop_items(case, "pods")
            case = self._drop_items(case, "objects")
            case = self._drop_fields(case, "pods")
            case = self._drop_fields(case, "objects")
            if case == before:
                break
        return case

    def _still_fails(self, case: Case) -> bool:
        if self._tries_left <= 0:
            return False
        self._tries_left -= 1
        return self._fails(case)

    def _drop_items(self, case: Case, part: str) -> Case:
        """Drop large runs of items first, then smaller ones, the last first."""
        run = max(len(getattr(case, part)) // 2, 1)
        while run:
            place = len(getattr(case, part)) - run
            while place >= 0:
                items = getattr(case, part)
                smaller = replace(case, **{part: items[:place] + items[place + run :]})
                if self._still_fails(smaller):
                    case = smaller
                place -= run
            run //= 2
        return case

    def _drop_fields(self, case: Case, part: str) -> Case:
        for index in range(len(getattr(case, part))):
            for place in list(places(getattr(case, part)[index])):
                items = list(getattr(case, part))
                smaller_item = without(items[index], place)
                if smaller_item is None:
                    continue
                items[index] = smaller_item
                smaller = replace(case, **{part: items})
                if self._still_fails(smaller):
                    case = smaller
        return case


def places(value: Any, above: Place = ()) -> Iterator[Place]:
    """Yield the place of every part of a value, the whole before its parts, later items before earlier."""
    listed: list[str | int] = []
    if isinstance(value, dict):
        listed = list(value)
    elif isinstance(value, list):
        listed = list(reversed(range(len(value))))
    for key in listed:
        if key not in KEPT:
            yield (*above, key)
        yield from places(value[key], (*above, key))


def without(item: dict[str, Any], place: Place) -> dict[str, Any] | None:
    """Return an object without one of its parts; None where that part is gone already."""
    found = copy.deepcopy(item)
    holder: Any = found
    try:
        for key in place[:-1]:
            holder = holder[key]
        del holder[place[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return found


class _Plain(yaml.SafeDumper):
    """Writes a part that stands in two places twice, without marks that only programs can read."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked about every part
        return True


def text_of(case: Case) -> str:
    """Return a case as YAML: the cluster first, then the pods that wait, in order."""
    documents = [yaml.dump(each, Dumper=_Plain, sort_keys=False) for each in (*case.objects, *case.pods)]
    return f"# parity case of seed {case.seed}: {len(case.pods)} pods wait\n" + "---\n".join(documents)
