"""What became of one batch that was asked for."""

from typing import Final, Literal, NamedTuple

from ullage.model.ledger import VOLUME_SPACE
from ullage.model.plan import Refusal, Step
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Verdict

ON_ITS_WAY_OUT: Final = "on its way out already"


class Threat(NamedTuple):
    """A quota, or several together, that could claim back so much of what others use."""

    claimants: tuple[str, ...]
    could_claim: Resources


class Evicted(NamedTuple):
    """A running workload that goes so that another can run; its quota, and whether it was over its min.

    Its `gang` is named where all of it goes; `breaks` are the disruption budgets that do not let it go.
    """

    workload: str
    node: str
    quota: str
    label: str
    requests: Resources
    gang: str = ""
    breaks: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why it may be evicted."""
        why = f"{self.label} in quota {self.quota}" if self.quota else "of lower priority, in no quota"
        return f"{why}, with all of gang {self.gang}" if self.gang else why


class Spared(NamedTuple):
    """A running workload that would go if it had run for the minimum; it may in so many seconds."""

    workload: str
    node: str
    quota: str
    left_seconds: int


class Leaving(NamedTuple):
    """A workload that is on its way out, and still holds what another waits for."""

    workload: str
    node: str
    quota: str
    requests: Resources


class Served(NamedTuple):
    """A volume and the local disk that serves it; `fresh` where a drive that nobody held is opened for it."""

    volume: str
    node: str
    place: str
    storage_class: str
    size_bytes: int
    fresh: bool


class ChosenVolume(NamedTuple):
    """A claim without a volume, and the free PersistentVolume that it gets."""

    claim: str
    volume: str


class Replanned(NamedTuple):
    """The disks of a replica that stays on its node and has them there as asked for, in place of what it had.

    `reservation` is the one that it had them by, none where it had nothing. A new replica is here with its
    `number`, which begins with 1, where it is the one whose claims are known already.
    """

    reservation: str
    node: str
    disks: tuple[Served, ...]
    number: int = 0


class Outcome(NamedTuple):
    """What became of one batch: how many replicas stand where, and why not all of them do.

    `requests` is what one replica takes from its node, which may be more than was asked for. `certificate`
    says how far that is known: placed by scores or by exact search; refused for good, or not known. `evicted`
    are those that go for it by the rules of quotas, in `evicting_turns` where replicas claim one after the
    other (0 for all at once); `fewest_proven` if in no turn a better set of them exists, and
    `evicted_min` how few could be enough. In the end `over_quota` of those placed are above the min of their
    quota, as are `pushed` who run already and are not now; `threats` are the quotas that could evict what is
    placed (all of them if `threats_complete`). `spared` would have gone for it if they had run for the
    minimum. `waits_for` are on their way out already: what is placed runs once they are gone. `disks` are
    those that serve its volumes, by replica: first those of replicas in `replanned`, then those of new ones.
    `chosen` are the free volumes that its open claims get; for others a volume is made.
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
    evicting_turns: int = 0
    evicted_min: int = 0
    over_quota: int = 0
    pushed: tuple[str, ...] = ()
    threats: tuple[Threat, ...] = ()
    threats_complete: bool = True
    spared: tuple[Spared, ...] = ()
    waits_for: tuple[Leaving, ...] = ()
    disks: tuple[Served, ...] = ()
    replanned: tuple[Replanned, ...] = ()
    chosen: tuple[ChosenVolume, ...] = ()

    @property
    def new_disks(self) -> tuple[Served, ...]:
        """The disks of replicas that come anew."""
        return self.disks[sum(len(each.disks) for each in self.replanned) :]

    def undone(self) -> "Outcome":
        """Return it with nothing that stands, because another one failed."""
        state = self.state if self.refusal else "init"
        return self._replace(
            placed=0,
            nodes=(),
            state=state,
            evicted=(),
            evicted_min=0,
            waits_for=(),
            disks=(),
            replanned=(),
            chosen=(),
        )

    def steps(self) -> list[Step]:
        """Return the steps of a plan that bring it about."""
        if self.action == "keep":
            return []
        leaving = [
            Step("wait", each.workload, from_node=each.node, resources=each.requests, evidence=ON_ITS_WAY_OUT)
            for each in self.waits_for
        ]
        leaving += [
            Step("evict", each.workload, from_node=each.node, resources=each.requests, evidence=each.reason)
            for each in self.evicted
        ]
        return (
            leaving
            + [
                Step(self.action, self.subject, to_node=node, resources=self.requests, count=count)
                for node, count in self.nodes
            ]
            + [_reserving(self.subject, each) for each in self.disks]
        )


def _reserving(subject: str, served: Served) -> Step:
    """Return the step that reserves a disk for a volume."""
    how = "opened for it" if served.fresh else "has room"
    return Step(
        "reserve",
        f"{subject}/{served.volume}",
        to_node=served.node,
        resources=Resources({VOLUME_SPACE: served.size_bytes}),
        evidence=f"{served.place}, {how}",
    )
