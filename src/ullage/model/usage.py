"""What is really used, apart from what is asked for: the seed's summaries, by subject, measure and resource.

A subject is `node/N`, `pod/NS/P`, `container/NS/P/C`, `workload/NS/OWNER`, `namespace/NS`, `group/G`,
`quota/Q`, `drives/CLASS` or `cluster`. Amounts are integers in the internal steps of their resource.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from ullage.model.constraints import Record
from ullage.model.resources import NOTHING, Amount, Resources

Measure = Literal["usage", "maxusage", "committed"]
"""What was observed: use at a moment, the most used since a start, or what was promised."""
USAGE: Final = "usage"
MAX_USAGE: Final = "maxusage"
COMMITTED: Final = "committed"
MEASURES: Final = (USAGE, MAX_USAGE, COMMITTED)

PERCENTILES: Final = ("10", "50", "90", "95", "99", "99.5", "99.9")
"""Those that every summary has."""

RESTARTS: Final = "ullage.dev/restarts"
OOM_KILLS: Final = "ullage.dev/oom-kills"
EVENTS: Final = frozenset((RESTARTS, OOM_KILLS))
"""Events of containers as amounts: how many happened since the point before; no point where none did."""

KINDS: Final = (
    "node", "pod", "container", "workload", "namespace", "group", "quota", "drives", "cluster",
)  # fmt: skip
"""What can be observed, as the first word of a subject."""


LASTING: Final = "95"
"""The percentile that says what is used as a rule."""


class UsageSummary(Record, frozen=True):
    """What many observations of one amount come to; whatever is not known is left out.

    `confidence` is the share of the points that were expected which arrived, from 0 to 1.
    """

    mean: Amount | None = None
    max: Amount | None = None
    min: Amount | None = None
    count: int | None = None
    percentiles: Mapping[str, Amount] = {}
    window_seconds: int | None = None
    dropped_points: int | None = None
    confidence: Fraction | None = None

    @property
    def as_a_rule(self) -> Amount | None:
        """What is used as a rule: what is enough 95 % of the time; where nobody knows that, the mean."""
        return self.percentiles.get(LASTING, self.max if self.mean is None else self.mean)


def contradiction_in(summary: UsageSummary) -> str:
    """Return what can be true of no observations whatever; nothing where all of a summary may be."""
    ranked = sorted(summary.percentiles.items(), key=lambda each: fraction_of(each[0]))
    named = ((f"percentile {name}", each) for name, each in ranked)
    parts = [("min", summary.min), *named, ("max", summary.max)]
    known = [(name, each.value) for name, each in parts if each is not None]
    for (name, amount), (next_name, next_amount) in pairwise(known):
        if next_amount < amount:
            return f"{next_name} is below {name}"
    if summary.mean is not None:
        if summary.min is not None and summary.mean.value < summary.min.value:
            return "mean is below min"
        if known and known[-1][0] in {"max", "percentile 100"} and summary.mean.value > known[-1][1]:
            return f"mean is above {known[-1][0]}"
    return ""


class ResourceStatus(Record, frozen=True):
    """All that is known of the use of one subject, by measure and resource."""

    subject: str
    usage: Mapping[str, UsageSummary] = {}
    maxusage: Mapping[str, UsageSummary] = {}
    predicted: Mapping[str, UsageSummary] = {}


class Promised(NamedTuple):
    """What a subject asked for, and what it may have; a resource without a bound is not in `limit`.

    `pods` of `all_pods` were observed and count.
    """

    request: Resources = NOTHING
    limit: Resources = NOTHING
    pods: int = 0
    all_pods: int = 0


def kind_of(subject: str) -> str:
    """Return the kind of a subject: its first word."""
    return subject.partition("/")[0]


def fraction_of(percentile: str) -> Fraction:
    """Return a percentile's name as a share: "99.5" is 199/200."""
    return Fraction(percentile) / 100
