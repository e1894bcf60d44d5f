"""Cases through our own scheduler as it runs, judged by kube-scheduler's plugins.

All pods of a case wait at once. Those that were bound must have an order in which each was welcome where it
went, and nobody may be left for whom there is a place. The hard thing is when to ask: a pod without a place
is judged again after a while, so one that is left for whom there is a place counts only when it stays so. Who
wants a part of a published storage capacity may be left: we count what others were given of it, the judge
does not until it is published anew.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kube_cluster import KubeCluster
from parity.cases import Case
from parity.compare import UNKNOWN_TO_JUDGE, Difference, Verdicts, key_of
from parity.drawing import Object
from parity.on_plane import FLAGS, Clusters, VolumeController, verdict_on
from plane.client import Client
from plane.judge import Judge
from plane.plane import Plane

NAME = "ullage"
SETTLE_SECONDS_MAX = 20.0
POLL_SECONDS = 0.05
AGAIN_SECONDS = 0.5


@contextmanager
def own_scheduler(program: Path) -> Iterator["OwnScheduler"]:
    """Run etcd, the API server and our scheduler alone, under its own account."""
    with ExitStack() as stack:
        cluster = KubeCluster(program, ())
        cluster.plane = Plane(program, (), flags=FLAGS)
        stack.enter_context(cluster)
        judge = stack.enter_context(Judge(program))
        cluster.start("scheduler", "--scheduler-name", NAME)
        yield OwnScheduler(cluster.plane.client(), judge)


class OwnScheduler:
    """Our scheduler, which is given case after case."""

    def __init__(self, client: Client, judge: Judge) -> None:
        self._client = client
        self._judge = judge
        self._clusters = Clusters(client)

    def judge(self, case: Case) -> Verdicts:
        """Return what kube-scheduler's plugins have against where pods went, and against who is left."""
        with self._clusters.made(case):
            pods = [{**each, "spec": {**each["spec"], "schedulerName": NAME}} for each in case.pods]
            self._client.each(self._client.create, pods)
            return self._settled(case)

    def _settled(self, case: Case) -> Verdicts:
        volumes = VolumeController(self._client, case)
        began = time.monotonic()
        while True:
            for path in {path for pod in case.pods for path in volumes.open_claims(pod)}:
                volumes.bind(path)
            verdicts = {
                key_of(pod): verdict_on(self._client.get(self._client.path(pod))) for pod in case.pods
            }
            late = time.monotonic() - began > SETTLE_SECONDS_MAX
            if None in verdicts.values() and not late:
                time.sleep(POLL_SECONDS)
                continue
            found = differences(self._judge, case, verdicts)
            if late or not found:
                return Verdicts(found, [], sum(bool(node) for node in verdicts.values()))
            time.sleep(AGAIN_SECONDS)


def differences(judge: Judge, case: Case, verdicts: Mapping[str, str | None]) -> list[Difference]:
    """Return what a judge has against bindings, and who is left for whom there is a place."""
    objects = [each for each in case.objects if each["kind"] not in UNKNOWN_TO_JUDGE]
    steps = [{"pod": pod, "bind": node} for pod in case.pods if (node := verdicts[key_of(pod)])]
    placed = _in_order(judge, objects, steps)
    stray = [each for each in steps if each not in placed]
    found = [Difference(key_of(each["pod"]), each["bind"], "bound it", "refuses it") for each in stray]
    shared = _claims_of_published_capacity(case)
    for pod in case.pods:
        verdict = verdicts[key_of(pod)]
        if verdict is None:
            found.append(Difference(key_of(pod), "-", "says nothing", "-"))
        if not verdict and not pod["spec"].get("schedulingGates") and not _claims(pod) & shared:
            welcome = judge.judge(objects, [*placed, {"pod": pod}])[-1]["feasible"]
            found += [Difference(key_of(pod), node, "left it", "takes it") for node in welcome]
    return found


def _claims(pod: Object) -> set[str]:
    mounted = (each.get("persistentVolumeClaim") for each in pod["spec"].get("volumes", ()))
    return {f"{pod['metadata']['namespace']}/{each['claimName']}" for each in mounted if each}


def _claims_of_published_capacity(case: Case) -> set[str]:
    def of_kind(kind: str) -> list[Object]:
        return [each for each in case.objects if each["kind"] == kind]

    drivers = {
        each["metadata"]["name"] for each in of_kind("CSIDriver") if each["spec"].get("storageCapacity")
    }
    classes = {each["metadata"]["name"] for each in of_kind("StorageClass") if each["provisioner"] in drivers}
    return {
        key_of(each)
        for each in of_kind("PersistentVolumeClaim")
        if each["spec"].get("storageClassName") in classes
    }


def _in_order(judge: Judge, objects: Sequence[Object], steps: Sequence[Object]) -> list[Object]:
    """Return bindings in an order in which each was welcome: all of them, or as many as ever can be.

    Who goes first may shut out who goes later, so another order is tried wherever one ends too early.
    """
    longest: list[Object] = []
    seen: set[frozenset[int]] = set()
    ways: list[list[int]] = [[]]
    while ways and len(longest) < len(steps):
        way = ways.pop()
        if frozenset(way) in seen:
            continue
        seen.add(frozenset(way))
        done = [steps[number] for number in way]
        longest = max(longest, done, key=len)
        for number, each in enumerate(steps):
            if number not in way and each["bind"] in judge.judge(objects, [*done, each])[-1]["feasible"]:
                ways.append([*way, number])
    return longest
