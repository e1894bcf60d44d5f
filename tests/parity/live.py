"""Cases through a running kube-scheduler: our placements must be accepted, our refusals shared.

Each pod that we place is held by a gate until the node that we chose is nominated; kube-scheduler looks at
the nominated node first and takes it if its filters do. A pod that we refuse is let loose at once and must
stay without a node. The hard thing: what the API server has said reaches the scheduler a moment later, so a
difference counts only if it comes again when there was more time.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parity.cases import Case
from parity.compare import Difference, Placing, Step, Verdicts
from parity.drawing import Object
from parity.on_plane import FLAGS, Clusters, VolumeController, verdict_on
from plane.client import Client
from plane.plane import Plane
from plane.settings import SCHEDULER

HOLD = "example.com/held"
SETTLE_SECONDS = (0.03, 0.3, 1.5)
"""How long the scheduler is given to see the cluster, try after try."""
ANSWER_SECONDS_MAX = 30.0
POLL_SECONDS = 0.003


class LiveError(Exception):
    """The plane did not do what it must for a case to be judged."""


@contextmanager
def live_scheduler(program: Path) -> Iterator["LiveScheduler"]:
    """Run etcd, the API server and kube-scheduler alone: no controller changes what a case says."""
    with Plane(program, {SCHEDULER}, flags=FLAGS) as plane:
        yield LiveScheduler(plane.client())


class LiveScheduler:
    """A kube-scheduler that is asked about case after case."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clusters = Clusters(client)

    def judge(self, case: Case) -> Verdicts:
        """Judge a case; whatever differs is judged again with more time before it counts."""
        steps = Placing(case).steps
        found: list[Difference] = []
        for settle_seconds in SETTLE_SECONDS:
            with self._clusters.made(case):
                time.sleep(settle_seconds)
                found = _Walk(self._client, case).differences(steps)
            if not found:
                break
        return Verdicts(found, [], sum(bool(step.chosen) for step in steps))


class _Walk:
    """The pods of one case, one after the other."""

    def __init__(self, client: Client, case: Case) -> None:
        self._client = client
        self._case = case
        self._volumes = VolumeController(client, case)
        self._to_be_bound: list[str] = []

    def differences(self, steps: list[Step]) -> list[Difference]:
        found = []
        for pod, step in zip(self._case.pods, steps, strict=True):
            landed = self._placed(pod, step.chosen) if step.chosen else self._refused(pod)
            if landed != step.chosen:
                ours = (
                    f"chose {step.chosen}" if step.chosen else "; ".join(sorted(set(step.reasons.values())))
                )
                found.append(Difference(step.pod, landed or "-", ours, "took it" if landed else "refused it"))
                break
        self._await_bindings()
        return found

    def _refused(self, pod: Object) -> str:
        """Let a pod loose and take it away again; return the node it got, if any."""
        self._client.create(pod)
        path = self._client.path(pod)
        landed = self._wait(path, verdict_on)
        if not landed:
            self._client.delete(path)
        return landed

    def _placed(self, pod: Object, node: str) -> str:
        """Nominate a node for a pod and let it loose; return the node it got, if any."""
        gated = {**pod, "spec": {**pod["spec"], "schedulingGates": [{"name": HOLD}]}}
        self._client.create(gated)
        path = self._client.path(pod)
        self._client.patch(f"{path}/status", {"status": {"nominatedNodeName": node}})
        claims = self._volumes.open_claims(pod)
        self._client.patch(path, {"spec": {"schedulingGates": None}})
        if not claims:
            return self._wait(path, verdict_on)
        self._to_be_bound.append(path)
        return self._wait(path, lambda found: self._verdict_by_claims(found, claims))

    def _verdict_by_claims(self, pod: Object, claims: Sequence[str]) -> str | None:
        """Do for claims what the volume controller does; the node of the first claim is that of the pod."""
        verdict = verdict_on(pod)
        if verdict is not None:
            return verdict
        nodes = [self._volumes.bind(path) for path in claims]
        return pod["status"].get("nominatedNodeName") if all(nodes) else None

    def _await_bindings(self) -> None:
        """Wait for pods whose claims kube-scheduler still looks at: it must not do so in the next case."""
        for path in self._to_be_bound:
            self._wait(path, verdict_on)

    def _wait(self, path: str, decided: Callable[[Any], str | None]) -> str:
        began = time.monotonic()
        while (verdict := decided(self._client.get(path))) is None:
            if time.monotonic() - began > ANSWER_SECONDS_MAX:
                raise LiveError(f"kube-scheduler says nothing of {path} after {ANSWER_SECONDS_MAX:g} s")
            time.sleep(POLL_SECONDS)
        return verdict
