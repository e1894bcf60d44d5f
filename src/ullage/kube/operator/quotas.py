"""What quotas use, and which pods are over: written where the cluster says something else.

Level-triggered: whatever was missed or failed, the next look finds it. Labels are written at once, statuses
at most once a second. Two things are hard. One pod may change the entitlements of all quotas, and one node
the warnings, so a quota of which nothing else has changed is told its own only now and then. And a label
that is taken away right after it was written looks as if nothing had happened, so what was written is looked
at again until it was seen.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ullage.engine.columns import Columns
from ullage.engine.quota.audit import CAPACITY_LABEL
from ullage.engine.quota.cluster_capacity import cluster_capacity
from ullage.engine.quota.following import FollowedQuotas, QuotaFigures, Relabelled
from ullage.engine.quota.standing import OVER_QUOTA
from ullage.engine.quota.validation import findings_by_quota
from ullage.kube.events import Events, Subject
from ullage.kube.following import Following
from ullage.kube.operator.statuses import NOWHERE, Statuses, Verdict, Wanted, is_valid, valid
from ullage.kube.operator.writing import Pace, Writing
from ullage.model.cluster import Quota
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.verdict import Finding
from ullage.sources.kubernetes.api.client import ApiClient, segment
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import NOS, OWN_GROUP, QUOTA_KINDS

STATUS_SECONDS: Final = 1.0
ENTITLEMENT_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 5.0
"""After how long what failed, or was not seen since it was written, is looked at again."""
MESSAGES_MAX: Final = 5
TOLD_MAX: Final = 100
"""Pods that are told by an event that they are over quota, of one look; the label tells all."""
_ELASTIC: Final = Kind(NOS, "ElasticQuota")
_COMPOSITE: Final = Kind(NOS, "CompositeElasticQuota")
_OWN: Final = Kind(OWN_GROUP, "Quota")
_SUFFIX: Final = "-composite"
_HOLDS: Final = Verdict(holds=True, reason="Valid", message="it holds")


class QuotaKeeper:
    """Keeps labels of pods and statuses of quotas as they should be."""

    def __init__(
        self, client: ApiClient, following: Following, statuses: Statuses, writing: Writing, events: Events
    ) -> None:
        self._client = client
        self._following = following
        self._statuses = statuses
        self._writing = writing
        self._events = events
        self._quotas: FollowedQuotas | None = None
        self._labels_stale = self._statuses_stale = self._entitlements_stale = False
        self._stated_seen = -1
        self._unconfirmed: dict[str, str] = {}  # by pod, its label; who is gone is forgotten
        self._pace, self._slow_pace = Pace(STATUS_SECONDS), Pace(ENTITLEMENT_SECONDS)
        self._again = Pace(AGAIN_SECONDS)
        self._figures_of: dict[tuple[Kind, str], QuotaFigures] = {}
        self.labels_written = 0
        self.figures: Sequence[QuotaFigures] = ()

    @property
    def wait_seconds(self) -> float | None:
        """After how long there is something to write, if nothing happens; None for never."""
        waits = [self._again.wait_seconds] if self._unconfirmed else []
        if self._statuses_stale:
            waits.append(self._pace.wait_seconds)
        if self._entitlements_stale:
            waits.append(self._slow_pace.wait_seconds)
        return min(waits, default=None)

    def seen(self, columns: Columns, delta: Delta) -> None:
        """Take a change of the cluster into account."""
        self._confirm(delta)
        if self._quotas is None:
            self._quotas = FollowedQuotas(columns)
            self._labels_stale = self._statuses_stale = True
        elif self._quotas.advance(columns, delta):
            self._labels_stale = self._statuses_stale = True
        if self._stated_seen != self._following.stated_changes:
            self._stated_seen = self._following.stated_changes
            self._statuses_stale = True

    async def write(self, columns: Columns) -> None:
        """Write what should be otherwise; what fails is left for the next time."""
        if self._quotas is None:
            return
        if self._unconfirmed and self._again.is_due:
            self._look_again(self._quotas, columns)
        if self._labels_stale:
            self._labels_stale = False
            await self._label(self._quotas.labels())
        all_due = self._entitlements_stale and self._slow_pace.is_due
        if (self._statuses_stale or all_due) and self._pace.is_due:
            self._pace.begun()
            self._statuses_stale = False
            self.figures = self._quotas.figures()
            await self._state(columns)

    # Labels

    async def _label(self, wanted: Sequence[Relabelled]) -> None:
        if not wanted:
            return
        not_written = set(await self._writing.each(wanted, self._write_label))
        if not self._unconfirmed:  # else it goes on: whoever writes all the time would never look
            self._again.begun()
        self._unconfirmed.update((each.workload, each.label) for each in wanted)
        over = [each for each in wanted if each.label == OVER_QUOTA and each not in not_written]
        for each in over[:TOLD_MAX]:
            namespace, _, name = each.workload.partition("/")
            facts = self._following.mirror.facts(each.workload)
            subject = Subject("Pod", name, namespace, facts.uid if facts else "")
            note = f"beyond the min of quota {each.quota}: it may be evicted when others claim theirs back"
            self._events.say(subject, "OverQuota", note, action="Labelling")

    def _confirm(self, delta: Delta) -> None:
        """Forget the pods that a change tells of: their labels are compared with it."""
        if self._unconfirmed:
            for row in delta.workloads:
                self._unconfirmed.pop(row.key, None)
            for key in delta.dropped.get("workloads", ()):
                self._unconfirmed.pop(key, None)

    def _look_again(self, quotas: FollowedQuotas, columns: Columns) -> None:
        """Have the labels compared that are not what they should be since they were to be written."""
        workloads = columns.snapshot.workloads
        rows = ((workloads.get(key), label) for key, label in self._unconfirmed.items())
        other = [row.key for row, label in rows if row and row.labels.get(CAPACITY_LABEL, "") != label]
        quotas.look_again(other)
        self._labels_stale |= bool(other)
        self._unconfirmed.clear()

    async def _write_label(self, wanted: Relabelled) -> None:
        namespace, _, name = wanted.workload.partition("/")
        path = f"/api/v1/namespaces/{segment(namespace)}/pods/{segment(name)}"
        facts = self._following.mirror.facts(wanted.workload)
        metadata: dict[str, Any] = {"labels": {CAPACITY_LABEL: wanted.label or None}}
        if facts is not None:
            metadata["uid"] = facts.uid  # another pod of that name is none of our business
        await self._client.patch(path, {"metadata": metadata})
        self.labels_written += 1

    # Statuses

    async def _state(self, columns: Columns) -> None:
        """Write what each quota uses and whether it holds."""
        all_due = self._slow_pace.is_due
        if all_due:
            self._slow_pace.begun()
        self._entitlements_stale = False
        wanted = [self._paced(each, all_due=all_due) for each in self._wanted(columns)]
        failed = await self._writing.each(
            (each for each in wanted if self._statuses.differ(each)), self._write_status
        )
        if failed:
            self._statuses_stale = True
            self._pace.begun(AGAIN_SECONDS)

    async def _write_status(self, wanted: Wanted) -> None:
        if await self._statuses.write(wanted):
            self._tell(wanted)

    def _paced(self, wanted: Wanted, *, all_due: bool) -> Wanted:
        """Leave an entitlement, and warnings, for later where they are all that has changed."""
        if all_due:
            return wanted
        before = wanted.before.status
        slow = {"entitlement"} & before.keys()
        slow |= {"conditions"} if is_valid(before) and is_valid(wanted.status) else set()
        rest = {name: value for name, value in wanted.status.items() if name not in slow}
        without = wanted._replace(status=rest)
        if self._statuses.differ(without):
            return wanted
        self._entitlements_stale |= self._statuses.differ(wanted)
        return without

    def _wanted(self, columns: Columns) -> Iterable[Wanted]:
        """Yield what the status of each quota should say."""
        snapshot = columns.snapshot
        types = snapshot.resource_types
        wrong = findings_by_quota(snapshot.quotas, cluster_capacity(columns), types)
        by_name = {each.quota.name: each for each in self.figures}
        self._figures_of.clear()
        for quota in snapshot.quotas:
            kind, key = _object_of(quota, self._following)
            if kind is None:
                continue
            before = self._following.stated[kind].get(key, NOWHERE)
            verdict = _verdict(wrong[quota.name]) if quota.name in wrong else _HOLDS
            status: dict[str, Any] = {"conditions": valid(before, verdict), "used": {}}
            figures = by_name.get(quota.name)
            if figures is not None:
                self._figures_of[kind, key] = figures
                status["used"] = types.print(figures.used)
            if kind == _OWN:
                status["entitlement"] = types.print(figures.entitlement) if figures else {}
                status["borrowed"] = types.print(figures.borrowed) if figures else {}
                status["observedGeneration"] = before.generation
            yield Wanted(kind, key, before, status)
        for left_out in self._following.mirror.unreadable:
            known = left_out.kind in QUOTA_KINDS and left_out.kind in self._following.stated
            if known and left_out.key in self._following.stated[left_out.kind]:
                before = self._following.stated[left_out.kind][left_out.key]
                verdict = Verdict(holds=False, reason="Unreadable", message=left_out.why)
                yield Wanted(left_out.kind, left_out.key, before, {"conditions": valid(before, verdict)})

    def _tell(self, wanted: Wanted) -> None:
        """Say that a quota begins to use more than its min, or ceases to."""
        found = self._figures_of.get((wanted.kind, wanted.key))
        if found is None:
            return
        before = _beyond(found.quota, _read(wanted.before.status.get("used"), self._following.types))
        now = _beyond(found.quota, found.used)
        if now and not before:
            note = f"uses more {', '.join(now)} than its min: others may claim back what is theirs"
            self._statuses.say(wanted, "Borrowing", note)
        elif before and not now:
            self._statuses.say(wanted, "BorrowingEnded", "uses no more than its min")


def _object_of(quota: Quota, following: Following) -> tuple[Kind | None, str]:
    """Return the object that a quota was read from; two kinds may have one name."""
    if quota.kind == "ElasticQuota":
        return _ELASTIC, quota.name
    if quota.kind == "CompositeElasticQuota":
        known = following.stated[_COMPOSITE]
        plain = quota.name.removesuffix(_SUFFIX)
        return _COMPOSITE, quota.name if quota.name in known else plain
    return (_OWN, quota.name) if quota.name in following.stated[_OWN] else (None, "")


def _verdict(found: Sequence[Finding]) -> Verdict:
    """Return whether a quota holds, with what is wrong with it, errors first; warnings do not keep it."""
    lines = [f"{each.message}; {each.remedy}" if each.remedy else each.message for each in found]
    holds = all(each.severity != "error" for each in found)
    return Verdict(holds, "Warned" if holds else "Invalid", " · ".join(lines[:MESSAGES_MAX]))


def _beyond(quota: Quota, used: Mapping[str, int]) -> list[str]:
    """Return the resources of which more is used than the min that is named."""
    return sorted(name for name, least in quota.min.items() if used.get(name, 0) > least)


def _read(stated: Any, types: ResourceTypes) -> Resources:
    """Return the use that a status states; nothing where somebody has written something else."""
    try:
        return types.parse(stated) if isinstance(stated, dict) else Resources()
    except InputError:
        return Resources()
