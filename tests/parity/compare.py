"""One case through our engine and through kube-scheduler's own plugins: the same nodes, pod after pod.

Our side picks the node of each pod that fits, and both sides go on from there. The hard thing is that our
engine keeps its state from pod to pod and looks only at what has changed: so at the end everything is
worked out anew, from the first snapshot and from one in which the pods already run, and must come out alike.
"""

import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from parity.cases import Case
from parity.drawing import Object
from plane.judge import Judge
from ullage.engine.columns import Columns
from ullage.engine.placement.reasons import reasons_of
from ullage.engine.placement.shapes import Shape
from ullage.engine.trial import Trial
from ullage.model.cluster import Snapshot, Workload
from ullage.sources.kubernetes.dump import PROFILE, read_dump
from ullage.sources.policies import load_policy

UNKNOWN_TO_JUDGE = frozenset(("RuntimeClass",))
"""Kinds that only admission reads: what they add is written in the pods already."""
POLICIES = ("spread", "pack", "balanced", "preferences")
NAME = re.compile(r"\S*\d\S*")
"""Words with a digit in them: every name of a case, and no other word of a reason."""
GATED = "scheduling gates"


class Step(NamedTuple):
    """Our answer about one pod: the nodes that take it, why others do not, and the node chosen."""

    pod: str
    feasible: list[str]
    reasons: dict[str, str]
    chosen: str


class Difference(NamedTuple):
    """A node on which the two sides differ about a pod, or a pod about which the judge could not decide."""

    pod: str
    node: str
    ours: str
    theirs: str

    @property
    def sort(self) -> tuple[str, str]:
        """What it is about, whatever things are called: a shrunk case must still be about the same."""
        return NAME.sub("NAME", self.ours), NAME.sub("NAME", self.theirs)


class Verdicts(NamedTuple):
    """What came of a case: where the sides differ, and whom the judge refused, by plugin and reason."""

    differences: list[Difference]
    refusals: list[tuple[str, str]]
    placed: int


def snapshot_of(objects: Sequence[Object]) -> Snapshot:
    """Read objects as the dump that `kubectl get -o json` would have written."""
    written = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode()
    read = read_dump("-", stdin=io.BytesIO(written))
    return msgspec.structs.replace(read, policy=load_policy(PROFILE, read.resource_types))


def key_of(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


class Placing:
    """Our engine on a case, pod after pod."""

    def __init__(self, case: Case) -> None:
        self._snapshot = snapshot_of([*case.objects, *case.pods])
        self._workloads = {workload.key: workload for workload in self._snapshot.workloads}
        self._waiting = [self._workloads[key_of(pod)] for pod in case.pods]
        self._columns = Columns(self._snapshot)
        self.policy = POLICIES[case.seed % len(POLICIES)]
        self.trial = Trial(self._columns, self.policy)
        self._before = [self._open(self.trial, workload) for workload in self._waiting]
        self._mark = self.trial.mark()
        self.steps: list[Step] = []
        self._placements: list[tuple[Workload, int]] = []
        for workload in self._waiting:
            self._place(workload)

    def _place(self, workload: Workload) -> None:
        trial = self.trial
        shape = trial.shape_of(workload)
        open_rows = self._open(trial, workload)
        names = [trial.nodes[row].name for row in np.flatnonzero(open_rows)]
        reasons = self._reasons(workload, shape)
        row = -1 if workload.constraints.scheduling_gates else trial.pick(shape)
        assert (row >= 0) == bool(names), f"{workload.key}: pick says {row}, feasible {names}"
        chosen = ""
        if row >= 0:
            chosen = trial.nodes[row].name
            assert open_rows[row], f"{workload.key}: pick chose {chosen}, which is not feasible"
            trial.place(shape, row)
            self._placements.append((workload, row))
        self.steps.append(Step(workload.key, sorted(names), reasons, chosen))

    def _open(self, trial: Trial, workload: Workload) -> np.ndarray:
        if workload.constraints.scheduling_gates:
            return np.zeros(len(trial.nodes), np.bool_)
        return trial.feasible(trial.shape_of(workload)).copy()

    def _reasons(self, workload: Workload, shape: Shape) -> dict[str, str]:
        if workload.constraints.scheduling_gates:
            return {node.name: GATED for node in self.trial.nodes}
        found = reasons_of(self.trial, shape)
        return {node.name: found.of(row) for row, node in enumerate(self.trial.nodes)}

    def check_state(self, case: Case) -> list[Difference]:
        """Compare the state kept from pod to pod with the same state worked out anew, in three ways."""
        after = [self._open(self.trial, workload) for workload in self._waiting]
        replayed = Trial(self._columns, self.policy)
        for workload, row in self._placements:
            replayed.place(replayed.shape_of(workload), row)
        found = self._changed(after, [self._open(replayed, each) for each in self._waiting], "replayed")
        if not any(workload.volumes for workload in self._waiting):
            found += self._changed(after, self._with_running(case), "read as running")
        self.trial.undo(self._mark)
        undone = [self._open(self.trial, workload) for workload in self._waiting]
        return found + self._changed(self._before, undone, "undone")

    def _with_running(self, case: Case) -> list[np.ndarray]:
        """Judge every pod once more on a cluster in which the placed ones were running from the start."""
        chosen = {step.pod: step.chosen for step in self.steps if step.chosen}
        running = [_bound(pod, chosen[key_of(pod)]) for pod in case.pods if key_of(pod) in chosen]
        again = [_renamed(pod) for pod in case.pods]
        snapshot = snapshot_of([*case.objects, *running, *again])
        workloads = {workload.key: workload for workload in snapshot.workloads}
        fresh = Trial(Columns(snapshot))
        return [self._open(fresh, workloads[key_of(pod)]) for pod in again]

    def _changed(self, one: Sequence[np.ndarray], other: Sequence[np.ndarray], what: str) -> list[Difference]:
        return [
            Difference(workload.key, self.trial.nodes[row].name, f"{what}: {here[row]}", f"{there[row]}")
            for workload, here, there in zip(self._waiting, one, other, strict=True)
            for row in np.flatnonzero(here != there)
        ]


def _bound(pod: Object, node: str) -> Object:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}


def _renamed(pod: Object) -> Object:
    return {**pod, "metadata": {**pod["metadata"], "name": f"{pod['metadata']['name']}-again"}}


def compare(case: Case, judge: Judge) -> Verdicts:
    """Judge a case on both sides."""
    placing = Placing(case)
    objects = [each for each in case.objects if each["kind"] not in UNKNOWN_TO_JUDGE]
    asked = [{"pod": pod, "bind": step.chosen} for pod, step in zip(case.pods, placing.steps, strict=True)]
    verdicts = judge.judge(objects, asked)
    names = [node.name for node in placing.trial.nodes]
    differences = []
    refusals = []
    for step, verdict in zip(placing.steps, verdicts, strict=True):
        differences += _differences(step, verdict, names)
        refusals += [
            (plugin, reason)
            for node, plugin in verdict["plugin"].items()
            for reason in verdict["reasons"][node]
        ]
    differences += placing.check_state(case)
    return Verdicts(differences, refusals, sum(bool(step.chosen) for step in placing.steps))


def _differences(step: Step, verdict: Mapping[str, object], names: Sequence[str]) -> list[Difference]:
    theirs = set(verdict["feasible"])
    ours = set(step.feasible)
    return [
        Difference(
            step.pod,
            name,
            "takes it" if name in ours else step.reasons[name] or "refused without a reason",
            "takes it" if name in theirs else _refusal(verdict, name),
        )
        for name in names
        if (name in ours) != (name in theirs)
    ]


def _refusal(verdict: Mapping[str, object], name: str) -> str:
    if verdict.get("error"):
        return f"failed: {verdict['error']}"
    return f"{verdict['plugin'].get(name, '')}: {'; '.join(verdict['reasons'].get(name, ()))}"
