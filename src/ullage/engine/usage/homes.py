"""Where what a pod or a node uses counts too: its workload, namespace, quotas, node, group and the cluster.

Pods that are gone count as well: their namespace is in their name, and their workload is told by it. Where
many subjects count is said in runs that they have in common: those of one owner, and those on one node.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final, Protocol

import numpy as np

from ullage.engine.quota.book import QUEUE_LABEL
from ullage.engine.quota.book import Book as QuotaBook
from ullage.engine.quota.validation import in_force
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.owners import HASH_LABEL, ROLLOUT_LABEL, Owner, former_owner, owner_of
from ullage.model.cluster import Snapshot, Workload
from ullage.model.settings import rules_for

CLUSTER = "cluster"
NO_NAMESPACE = "-"
"""What stands for the namespace of virtual machines, which have none."""
NO_RUN: Final = -1
_RUNS_MAX: Final = 2
"""A subject counts in so many runs at most."""


class Belonging(Protocol):
    """Who counts where, in runs that many have in common, each of which has a number."""

    @property
    def runs(self) -> Sequence[tuple[str, ...]]:
        """The runs so far, by their numbers."""

    def numbers(self, subjects: Sequence[str]) -> Integers:
        """Return the runs in which subjects count, a row for each; NO_RUN where one has fewer."""


class InOneRun:
    """Subjects each of which counts in one run."""

    def __init__(self, homes: Callable[[str], tuple[str, ...]]) -> None:
        self._homes = homes
        self._known = _Runs()

    @property
    def runs(self) -> Sequence[tuple[str, ...]]:
        """The runs so far, by their numbers."""
        return self._known.runs

    def numbers(self, subjects: Sequence[str]) -> Integers:
        """Return the run in which each subject counts."""
        known, homes = self._known, self._homes
        return np.array([known.number(homes(each)) for each in subjects], np.int64).reshape(-1, 1)


class _Runs:
    """Runs, each of which has a number."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, ...]] = []
        self._numbers: dict[tuple[str, ...], int] = {}

    def number(self, run: tuple[str, ...]) -> int:
        """Return the number of a run."""
        found = self._numbers.setdefault(run, len(self.runs))
        if found == len(self.runs):
            self.runs.append(run)
        return found


def pod_subject(workload: Workload) -> str:
    """Return the subject that a workload of a snapshot is observed as."""
    return f"pod/{workload.namespace or NO_NAMESPACE}/{workload.name}"


def pod_of(container: str) -> tuple[str, ...]:
    """Return the subject of the pod that a container is in; none for whatever is no container."""
    kind, _, rest = container.partition("/")
    return (f"pod/{rest.rpartition('/')[0]}",) if kind == "container" else ()


def workload_subject(owner: Owner) -> str:
    """Return the subject that all pods of an owner are together."""
    return f"workload/{owner.namespace or NO_NAMESPACE}/{owner.key}"


class Homes:
    """Who belongs where in one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        rules = rules_for(snapshot.policy, snapshot.resource_types)
        self._quotas = QuotaBook(in_force(snapshot.quotas), rules.quota_mode)
        self._groups = {node.name: node.group for node in snapshot.nodes}
        self._known = _Runs()

    @property
    def runs(self) -> Sequence[tuple[str, ...]]:
        """The runs so far, by their numbers."""
        return self._known.runs

    def of(self, subject: str) -> tuple[str, ...]:
        """Return the subjects in which one counts; none where it counts only for itself."""
        return tuple(chain.from_iterable(self.runs[each] for each in self._row(subject)))

    def numbers(self, subjects: Sequence[str]) -> Integers:
        """Return the runs in which subjects count, a row for each; NO_RUN where one has fewer."""
        places, rows = self._pods
        found = np.array([places.get(each, NO_RUN) for each in subjects], np.int64)
        runs: Integers = rows[found]
        for place in np.flatnonzero(found < 0).tolist():
            row = self._row(subjects[place])
            runs[place] = (*row, *[NO_RUN] * (_RUNS_MAX - len(row)))
        return runs

    def _row(self, subject: str) -> tuple[int, ...]:
        """Return the runs in which a subject counts."""
        places, rows = self._pods
        place = places.get(subject)
        if place is not None:
            return tuple(rows[place].tolist())
        kind, _, rest = subject.partition("/")
        number = self._known.number
        if kind == "node":
            return (number((*self._group_of(rest), CLUSTER)),)
        if kind != "pod":
            return ()
        namespace, _, name = rest.partition("/")
        namespace = "" if namespace == NO_NAMESPACE else namespace
        owner = former_owner(self._owners, namespace, name)
        return number((*self._above(owner, namespace, {}),)), number((CLUSTER,))

    @cached_property
    def _owners(self) -> dict[tuple[str, str, str], Owner]:
        """Who owns what there is: by this, pods that are gone are told from their names."""
        owners = (owner_of(each) for each in self._snapshot.workloads if not each.promised)
        return {(each.namespace, each.kind, each.name): each for each in owners}

    @cached_property
    def _pods(self) -> tuple[Mapping[str, int], Integers]:
        """The pods that are there, each with its place, and the runs in which each counts; the last is none.

        All of them are looked at once, and those of one owner have most in common: a reading is of everybody.
        """
        places: dict[str, int] = {}
        above, on = array("q"), array("q")
        owners: dict[tuple[str | None, ...], int] = {}
        nodes: dict[str, int] = {}
        namespace, kind, owner, number = "", "", "", NO_RUN
        labels: Mapping[str, str] = {}
        for run in self._snapshot.workloads.runs():
            for each in run:
                node = each.node
                if (
                    each.owner != owner
                    or not owner
                    or each.labels != labels
                    or each.namespace != namespace
                    or each.kind != kind
                ):  # as a rule, siblings stand side by side
                    namespace, kind, owner, labels = each.namespace, each.kind, each.owner, each.labels
                    number = self._number_above(each, owners)
                where = nodes.get(node)
                if where is None:
                    where = nodes[node] = self._known.number(self._placed(node))
                places[f"pod/{namespace or NO_NAMESPACE}/{each.name}"] = len(places)
                above.append(number)
                on.append(where)
        above.append(NO_RUN)
        on.append(NO_RUN)
        return places, np.array((above, on), np.int64).T

    def _number_above(self, workload: Workload, known: dict[tuple[str | None, ...], int]) -> int:
        """Return the run of those above a workload, which all of one owner have in common."""
        labels = workload.labels
        key = (
            workload.namespace,
            workload.kind,
            workload.owner or f" {workload.name}",
            labels.get(HASH_LABEL),
            labels.get(ROLLOUT_LABEL),
            labels.get(QUEUE_LABEL),
        )
        found = known.get(key)
        if found is None:
            names = (*self._above(owner_of(workload), workload.namespace, labels),)
            found = known[key] = self._known.number(names)
        return found

    def _above(self, owner: Owner | None, namespace: str, labels: Mapping[str, str]) -> Iterator[str]:
        if owner is not None:
            yield workload_subject(owner)
        if namespace:
            yield f"namespace/{namespace}"
        place = self._quotas.place_of(namespace, labels)
        if place >= 0:
            for above in self._quotas.chains[place]:
                yield f"quota/{self._quotas.quotas[above].name}"

    def _placed(self, node: str) -> tuple[str, ...]:
        return (f"node/{node}", *self._group_of(node), CLUSTER) if node else (CLUSTER,)

    def _group_of(self, node: str) -> Iterator[str]:
        group = self._groups.get(node, "")
        if group:
            yield f"group/{group}"
