"""What became of one batch that was asked for."""

from typing import Literal, NamedTuple

from ullage.model.plan import Refusal, Step
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Verdict


class Outcome(NamedTuple):
    """What became of one batch: how many replicas stand where, and why not all of them do.

    `requests` is what one replica takes from its node, which may be more than was asked for. `certificate`
    says how far that is known: placed by scores or by exact search; refused for good, or not known.
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

    def undone(self) -> "Outcome":
        """Return it with nothing that stands, because another one failed."""
        state = self.state if self.refusal else "init"
        return self._replace(placed=0, nodes=(), state=state)

    def steps(self) -> list[Step]:
        """Return the steps of a plan that bring it about."""
        if self.action == "keep":
            return []
        return [
            Step(self.action, self.subject, to_node=node, resources=self.requests, count=count)
            for node, count in self.nodes
        ]
