"""Kueue's queues and cohorts as quotas: a ClusterQueue is one, its cohort the parent, a LocalQueue a queue.

A cohort shares what its queues are guaranteed, and its own quota is added to that; so the min of its quota is
the sum of all below it. A cohort that is only named exists as well. Queues and cohorts without a parent
neither lend nor borrow. The hard thing is flavors: Kueue bounds each, a quota here bounds their sum.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from ullage.engine.placement.selectors import NAMESPACE_NAME_LABEL, requirements_of, selects
from ullage.engine.quota.book import QUEUE_LABEL
from ullage.engine.quota.queue_bounds import COHORT_PREFIX
from ullage.model.admission import Namespace
from ullage.model.cluster import Quota, Workload
from ullage.model.resources import NOTHING, Resources
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.items import Item
from ullage.sources.kubernetes.kueue_shares import (
    CLUSTER_QUEUE,
    COHORT,
    LOCAL_QUEUE,
    Local,
    Share,
    read_local,
    read_share,
)
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.unknowns import Unknowns

QUEUE_KINDS: Final = frozenset((CLUSTER_QUEUE, COHORT, LOCAL_QUEUE))
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
QUEUE_PREFIX: Final = "clusterqueue/"
"""How a queue is called whose name another quota has."""
OWN_KIND: Final = "Quota"


class Kueue:
    """The queues and cohorts that have been read; of two of one name the later counts."""

    def __init__(self, amounts: Amounts, namespace: str = DEFAULT_NAMESPACE) -> None:
        self._amounts = amounts
        self._namespace = namespace
        self._queues: dict[str, Share] = {}
        self._cohorts: dict[str, Share] = {}
        self._locals: dict[str, Local] = {}
        self._labels: dict[str, Mapping[str, str]] = {}

    def take(self, item: Item) -> str:
        """Read a ClusterQueue, Cohort or LocalQueue and return its key; raises a Fault."""
        if item.kind == LOCAL_QUEUE:
            key, local = read_local(item, self._namespace)
            self._locals[key] = local
            return key
        name, share = read_share(item, self._amounts)
        shares = self._queues if item.kind == CLUSTER_QUEUE else self._cohorts
        shares[name] = share
        return name

    def know(self, namespaces: Iterable[Namespace]) -> None:
        """Take note of the namespaces that there are; queues select some of them by label."""
        self._labels = {each.name: {NAMESPACE_NAME_LABEL: each.name, **each.labels} for each in namespaces}

    @property
    def has_queues(self) -> bool:
        """Whether there is a LocalQueue, by which workloads find their quota."""
        return bool(self._locals)

    def admits(self, queue: str) -> bool:
        """Whether a queue, as NAMESPACE/NAME, takes workloads in: it is backed, runs, and may be used."""
        local = self._locals.get(queue)
        if local is None or local.stopped:
            return False
        backing = self._queues.get(local.cluster_queue)
        return backing is not None and not backing.stopped and not self._is_shut_out(local)

    def quotas(self, taken: Iterable[str] = ()) -> list[Quota]:
        """Return the quotas that queues and cohorts are; `taken` are names that others have."""
        rows, own = self._rows(frozenset(taken))
        return list(_with_totals(rows, own).values())

    def changed(self, there: Iterable[Quota]) -> list[Quota]:
        """Return the quotas that these objects make or change in a cluster that has others.

        A queue or cohort of the same name is replaced, and a cohort shares what its new queues bring along.
        """
        before = {quota.name: quota for quota in there}
        rows = dict(before)
        own = {name: _own_part(row, before.values()) for name, row in before.items() if _is_cohort(name)}
        mine, nominal = self._rows(frozenset(name for name, row in before.items() if row.kind != OWN_KIND))
        for name, row in mine.items():
            old = before.get(name)
            if old is None:
                rows[name] = row
            elif not _is_cohort(name) or name.removeprefix(COHORT_PREFIX) in self._cohorts:
                rows[name] = msgspec.structs.replace(row, queues=old.queues, stated_used=old.stated_used)
            else:
                continue  # a cohort that is only named stays as it is
            own |= {name: nominal[name]} if name in nominal else {}
        backed = self._backed()
        for name, row in rows.items():
            more = [] if row.kind != OWN_KIND else backed.get(name.removeprefix(QUEUE_PREFIX), [])
            if more or not self._locals.keys().isdisjoint(row.queues):
                kept = [queue for queue in row.queues if queue not in self._locals]
                rows[name] = msgspec.structs.replace(row, queues=tuple(sorted((*kept, *more))))
            stopped = self._stopped(name, rows[name].queues, before.get(name))
            rows[name] = msgspec.structs.replace(rows[name], stopped=stopped)
        return [row for row in _with_totals(rows, own).values() if row != before.get(row.name)]

    def _rows(self, taken: Collection[str]) -> tuple[dict[str, Quota], dict[str, Resources]]:
        """Return quotas as their objects are written, and what cohorts have beside what is below them.

        Cohorts are those that are objects, and those that queues or cohorts only name.
        """
        backed = self._backed()
        rows: dict[str, Quota] = {}
        for name, share in self._queues.items():
            called = f"{QUEUE_PREFIX}{name}" if name in taken else name
            rows[called] = msgspec.structs.replace(
                _quota(called, share),
                queues=(queues := tuple(sorted(backed.get(name, ())))),
                stopped=self._stopped(name, queues),
                evicts_own=share.evicts.own,
                evicts_others=share.evicts.others,
            )
        named = [share.parent for share in (*self._queues.values(), *self._cohorts.values()) if share.parent]
        cohorts = {**{name: Share("") for name in sorted(named)}, **self._cohorts}
        own = {f"{COHORT_PREFIX}{name}": share.bounds.nominal for name, share in cohorts.items()}
        rows |= {called: _quota(called, cohorts[called.removeprefix(COHORT_PREFIX)]) for called in own}
        return rows, own

    def _stopped(self, name: str, queues: tuple[str, ...], before: Quota | None = None) -> tuple[str, ...]:
        """Return those of a quota's queues that take nothing in; all of them where it is stopped itself."""
        share = self._queues.get(name.removeprefix(QUEUE_PREFIX))
        was_stopped = before is not None and bool(before.queues) and {*before.queues} == {*before.stopped}
        if was_stopped if share is None else share.stopped:
            return queues
        old = before.stopped if before is not None and not was_stopped else ()
        return tuple(
            each for each in queues if (self._locals[each].stopped if each in self._locals else each in old)
        )

    def _backed(self) -> dict[str, list[str]]:
        """Return the LocalQueues of each ClusterQueue."""
        found: dict[str, list[str]] = {}
        for key, local in self._locals.items():
            found.setdefault(local.cluster_queue, []).append(key)
        return found

    def say(self, told: Unknowns, known: Collection[str] = ()) -> None:
        """Say what of Kueue's objects is not modelled, and what they name that is not there, nor `known`."""
        examples = told.examples
        queues = self._queues.items()
        every = [*queues, *((f"{COHORT_PREFIX}{name}", share) for name, share in self._cohorts.items())]
        examples(
            "flavors are not told apart, their quotas are summed up",
            [name for name, share in every if share.bounds.flavored],
        )
        stopped = [name for name, share in queues if share.stopped]
        stopped += [name for name, local in self._locals.items() if local.stopped]
        examples("queues that are stopped and take nothing in", stopped)
        unknown = {each.cluster_queue for each in self._locals.values()} - {*self._queues, *known}
        examples("not found: ClusterQueues that LocalQueues name", [name or "(none)" for name in unknown])
        examples(
            "LocalQueues from whose namespaces their ClusterQueue takes nothing in",
            [key for key, local in self._locals.items() if self._is_shut_out(local)],
        )
        examples(
            "newer workloads of equal priority evicted inside their ClusterQueue: only lower priorities go",
            [name for name, share in queues if share.evicts.newer_equal],
        )
        examples(
            "evictions for claims that borrow (borrowWithinCohort)",
            [name for name, share in queues if share.evicts.while_borrowing],
        )
        examples(
            "lending limits where nobody is evicted; what is idle is lent all the same",
            [name for name, share in every if share.parent and share.bounds.lending],
        )
        if queues:
            told.say("admission checks and uncovered resources of ClusterQueues")

    def _is_shut_out(self, local: Local) -> bool:
        """Whether the queue behind a LocalQueue does not select its namespace, as far as that is known."""
        backing = self._queues.get(local.cluster_queue)
        if backing is None:
            return False
        if backing.selector is None:
            return True
        labels = self._labels.get(local.namespace)
        return labels is not None and not selects(requirements_of(backing.selector), labels)


def queue_of(value: Any) -> str:
    """Return the queue that an object names for all its pods; nothing where it names none."""
    return _label_of(value, QUEUE_LABEL)


def class_in_queue_of(value: Any) -> str:
    """Return the WorkloadPriorityClass that an object names for its queue; nothing where it names none."""
    return _label_of(value, PRIORITY_LABEL) if queue_of(value) else ""


def workload_class_of(pod: Workload) -> str:
    """Return the WorkloadPriorityClass that a pod names itself; nothing where it names none."""
    return pod.labels.get(PRIORITY_LABEL, "")


def _label_of(value: Any, label: str) -> str:
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    text = labels.get(label) if isinstance(labels, dict) else None
    return text if isinstance(text, str) else ""


def with_queue(workload: Workload, queue: str) -> Workload:
    """Return a workload that names a queue by its label; one that names a queue already keeps it."""
    if not queue or workload.labels.get(QUEUE_LABEL):
        return workload
    return msgspec.structs.replace(workload, labels={**workload.labels, QUEUE_LABEL: queue})


def _quota(name: str, share: Share) -> Quota:
    """Return a queue or cohort with what it has by itself; without a parent it neither lends nor borrows."""
    nominal, borrowing, lending, _ = share.bounds
    if not share.parent:
        borrowing = lending = Resources(dict.fromkeys(nominal, 0))
    return Quota(
        name=name,
        min=nominal,
        parent=f"{COHORT_PREFIX}{share.parent}" if share.parent else "",
        weight=share.weight if share.parent else None,
        lending_limit=lending or None,
        borrowing_limit=borrowing or None,
        stated_used=share.used,
    )


def _is_cohort(name: str) -> bool:
    return name.startswith(COHORT_PREFIX)


def _own_part(cohort: Quota, quotas: Iterable[Quota]) -> Resources:
    """Return what a cohort has beside what the quotas below it have."""
    below = (quota.min for quota in quotas if quota.parent == cohort.name)
    return (cohort.min - sum(below, NOTHING)).at_least_zero()


def _with_totals(rows: Mapping[str, Quota], own: Mapping[str, Resources]) -> dict[str, Quota]:
    """Return quotas in which each cohort has its own and all below it; those in a circle count it once."""
    totals = dict(own)
    for name, row in rows.items():
        seen = {name}
        above = row.parent
        while above in totals and above not in seen:
            seen.add(above)
            totals[above] += own.get(name, row.min)
            above = rows[above].parent
    found = dict(rows)
    for name, total in totals.items():
        nothing = Resources(dict.fromkeys(total, 0)) or None
        limits = {} if rows[name].parent else {"lending_limit": nothing, "borrowing_limit": nothing}
        found[name] = msgspec.structs.replace(rows[name], min=total, **limits)
    return found
