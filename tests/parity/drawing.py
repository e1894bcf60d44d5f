"""Chance for random cases: one seeded source, and what of it the case's parts draw.

`on` holds the kinds of constraints that a case is about; `met` those that it really came to have. The hard
thing is that small clusters seldom meet a rule by chance, so everything is drawn from very few values, and in
a crowd most pods are alike.
"""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

Drawn = TypeVar("Drawn")
Object = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
RACK = "example.com/rack"
NAMESPACES = ("default", "blue", "green")
CROWDED_KINDS = 9
"""A pod that had most of more kinds than this would never find a node."""
POD_LABELS = {"app": ("a", "b"), "tier": ("x", "y"), "version": ("1", "2")}


class Drawing:
    """A seeded source of choices, and the kinds of one case."""

    def __init__(self, chance: random.Random, on: frozenset[str]) -> None:
        self._random = chance
        self.on = on
        self.met: set[str] = set()
        self._thin = 1.0 if len(on) <= CROWDED_KINDS else 0.35
        self._alike: dict[str, str] = {}
        self._alike = self.labels() if self.chance(0.9 if "policies of spread" in on else 0.5) else {}

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def one(self, values: Sequence[Drawn]) -> Drawn:
        return values[self._random.randrange(len(values))]

    def some(self, values: Sequence[Drawn], least: int, most: int) -> list[Drawn]:
        """Choose different values, as many as there are at most, in the order of the sequence."""
        count = min(self.number(least, most), len(values))
        return [values[place] for place in sorted(self._random.sample(range(len(values)), count))]

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def wants(self, kind: str, share: float = 0.6) -> bool:
        """Say whether a part gets a constraint of a kind, and note that the case has it."""
        if kind not in self.on or not self.chance(share * self._thin):
            return False
        self.met.add(kind)
        return True

    # Pods and who selects them

    def namespace(self) -> str:
        return self.one(NAMESPACES) if self.chance(0.1 if self._alike else 0.4) else NAMESPACES[0]

    def labels(self) -> dict[str, str]:
        """Draw the labels of a pod; each may be missing."""
        if self._alike and self.chance(0.85):
            return dict(self._alike)
        return {key: self.one(values) for key, values in POD_LABELS.items() if self.chance(0.7)}

    def selector(self, labels: dict[str, str]) -> Object | None:
        """Draw a label selector: mostly one that the labels meet, seldom one that selects all, or none."""
        kind = self.number(0, 19)
        if kind == 0:
            return None
        if kind == 1:
            return {}
        if kind < 12 and labels:
            key = self.one(sorted(labels))
            return {"matchLabels": {key: labels[key]}}
        if kind < 15:
            key = self.one(sorted(POD_LABELS))
            return {"matchLabels": {key: self.one(POD_LABELS[key])}}
        return {"matchExpressions": [self.requirement(key) for key in self.some(sorted(POD_LABELS), 1, 2)]}

    def requirement(self, key: str, values: Sequence[str] = ()) -> Object:
        """Draw a condition on a label by one of the operators of label selectors."""
        operator = self.one(("In", "NotIn", "Exists", "DoesNotExist"))
        if operator in {"Exists", "DoesNotExist"}:
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": self.some(values or POD_LABELS[key], 1, 2)}
