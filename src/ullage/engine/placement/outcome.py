"""What became of one batch that was asked for."""

from typing import Literal, NamedTuple

from ullage.model.plan import Refusal, Step
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Verdict


class Threat(NamedTuple):
    """A quota that could claim back so much of what others borrow."""

    quota: str
    could_claim: Resources


class Evicted(NamedTuple):
    """A running workload that goes so that another can run; its quota, and whether it was over its min."""

    workload: str
    node: str
    quota: str
    label: str
    requests: Resources

    @property
    def reason(self) -> str:
        """Why it may be evicted."""
        return f"{self.label} in quota {self.quota}" if self.quota else "of lower priority, in no quota"


class Outcome(NamedTuple):
    """What became of one batch: how many replicas stand where, and why not all of them do.

    `requests` is what one replica takes from its node, which may be more than was asked for. `certificate`
    says how far that is known: placed by scores or by exact search; refused for good, or not known. `evicted`
    are those that go for it by the rules of quotas; `fewest_proven` if no better set of them exists. Of those
    placed, `over_quota` are above the min of their quota; `threats` are the quotas that could evict them.
    """

    subject: str
    kind: str
    replicas: int
    placed: int
    state: Literal["ok", "error", "init", "paused", "deleted"]
    nodes: tuple[tuple[str, int], ...]
    verdict: Verdict | None = None
    refusal: Refusal | None = None
    requests: Resources = NOTHING
    action: Literal["place", "resize", "keep"] = "place"
    certificate: Literal["greedy", "exact", "impossible", "unknown"] = "greedy"
    certificate_note: str = ""
    evicted: tuple[Evicted, ...] = ()
    fewest_proven: bool = True
    over_quota: int = 0
    threats: tuple[Threat, ...] = ()

    def undone(self) -> "Outcome":
        """Return it with nothing that stands, because another one failed."""
        state = self.state if self.refusal else "init"
        return self._replace(placed=0, nodes=(), state=state, evicted=())

    def steps(self) -> list[Step]:
        """Return the steps of a plan that bring it about."""
        if self.action == "keep":
            return []
        leaving = [
            Step("evict", each.workload, from_node=each.node, resources=each.requests, evidence=each.reason)
            for each in self.evicted
        ]
        return leaving + [
            Step(self.action, self.subject, to_node=node, resources=self.requests, count=count)
            for node, count in self.nodes
        ]
