"""Right-sized requests and limits of one container: what is advised, on what evidence, and why not less.

    memory request  = the most that was used, in any replica, plus a margin; rounded up to a step; where the
                      peaks of days rise, what that comes to in a week
    cpu request     = a percentile of decayed use, in the replica that needs most; rounded up to a step
    memory limit    = raised with the request; lowered, in the old ratio, where peaks and starts were seen
    cpu limit       = left alone, or removed where that is asked for

The hard thing is what use does not tell. Memory near its limit is cut off there: the true need is unknown, so
it is raised and never lowered; a container that was killed for want of memory is raised further, above the
limit that it had then: else each advice that is followed would call for the next. Where that limit is not
known, or there was calm for long since, it is not raised for the kill, and not lowered. A rise
that goes on (rising.py) keeps memory from being lowered under it, but raises nobody who has enough now. Too
few points, a short window or many dropped points advise nothing, unless memory was used beyond its request:
that needs no second point. A limit is never introduced.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import exp, expm1
from typing import Final, NamedTuple

from ullage.engine.usage.evidence import DAY_SECONDS, Evidence, Kill, Seen, key_of, started_seconds
from ullage.engine.usage.owners import Crew
from ullage.engine.usage.rising import HORIZON_DAYS
from ullage.model.cluster import Container, Outage, Workload
from ullage.model.resources import ResourceTypes

CPU: Final = "cpu"
MEMORY: Final = "memory"
SIZED: Final = (CPU, MEMORY)
MEBIBYTE: Final = 1 << 20
STEPS: Final = {CPU: 10, MEMORY: 16 * MEBIBYTE}
"""Advice is rounded up to these: a change of less is not worth a restart."""
POINTS_MIN: Final = 100
CONFIDENCE_MIN: Final = Fraction(4, 5)
NEAR_LIMIT: Final = Fraction(19, 20)
"""From this share of a limit on, use may have been cut off by it."""
RAISED: Final = (Fraction(6, 5), 100 * MEBIBYTE)
"""Memory that was cut off by its limit is raised by a fifth of it, and at least so many bytes."""
KILLED: Final = (Fraction(3, 2), 200 * MEBIBYTE)
"""The same after a kill."""
CALM_SECONDS: Final = 14 * DAY_SECONDS
"""After so long without another kill, which is two of every week's jobs, it speaks for the limit of now."""


class Rules(NamedTuple):
    """How advice is made: all that people may choose."""

    cpu_percentile: Fraction = Fraction(95)
    memory_margin: Fraction = Fraction(15, 100)
    days_min: Fraction = Fraction(7)
    saving_min: Fraction = Fraction(10, 100)
    removes_cpu_limits: bool = False
    only_growth: bool = False


class Sized(NamedTuple):
    """What is advised for one resource of a container; where nothing is, both amounts are as they are.

    `limit` and `advised_limit` are None where there is none. `reasons` say why it is not less, or nothing;
    `is_rising`, that daily peaks rise so fast that a week would use up the margin.
    """

    resource: str
    evidence: Evidence
    request: int
    limit: int | None
    advised_request: int
    advised_limit: int | None
    reasons: tuple[str, ...] = ()
    is_rising: bool = False

    @property
    def changes(self) -> bool:
        """Whether anything is advised."""
        return (self.request, self.limit) != (self.advised_request, self.advised_limit)

    @property
    def verdict(self) -> str:
        """One word: whether the request grows, shrinks or stays."""
        if self.advised_request == self.request:
            return "limit" if self.changes else "keep"
        return "grow" if self.advised_request > self.request else "shrink"

    def kept(self, *reasons: str) -> "Sized":
        """Return the same without a change."""
        return self._replace(
            advised_request=self.request, advised_limit=self.limit, reasons=(*self.reasons, *reasons)
        )


class ContainerAdvice(NamedTuple):
    """What is advised for one container, resource by resource."""

    container: Container
    sized: tuple[Sized, ...]


class Sizing(NamedTuple):
    """One container of a crew, and what is known of how it fared."""

    seen: Seen
    crew: Crew
    container: Container
    types: ResourceTypes
    rules: Rules
    guaranteed: bool = False

    def advice(self) -> ContainerAdvice:
        """Return what is advised for it."""
        return ContainerAdvice(self.container, tuple(self._sized(resource) for resource in SIZED))

    def _sized(self, resource: str) -> Sized:
        evidence = self.seen.evidence[resource]
        request = self.container.requests.of(resource)
        limit = self.container.limits.get(resource)
        now = Sized(resource, evidence, request, limit, request, limit)
        sized = self._memory(now) if resource == MEMORY else self._cpu(now)
        if sized.verdict == "shrink":
            return self._shrunk(sized)
        return sized

    def _shrunk(self, sized: Sized) -> Sized:
        """Return a smaller request, unless something speaks against it."""
        if self.container.role == "init":
            return sized.kept("an init container runs too shortly to be lowered by what was seen")
        if self.rules.only_growth:
            return sized.kept("only growth is asked for")
        saving = sized.request - sized.advised_request
        if saving < self.rules.saving_min * sized.request:
            return sized.kept(f"saves less than {_percent(self.rules.saving_min)} of the request")
        return sized

    # Memory

    def _memory(self, now: Sized) -> Sized:
        seen, limit = now.evidence, now.limit
        cut, past = self._kills(seen)
        held = self._why_not(seen)
        # To lower it takes much evidence; to raise it, one point above the request is enough.
        is_proven = cut is not None or 0 < now.request < seen.most
        if held and not is_proven:
            return now.kept(held)
        need, reasons = self._memory_need(now, cut)
        reasons += (f"{held}: it may need more",) if held else ()
        need = self._rounded(MEMORY, need)
        rising, why = self._risen(seen)
        if rising > need:
            if need <= now.request < rising:
                return now.kept(f"{why}: not lowered")
            uses_margin_up = exp(seen.growth * HORIZON_DAYS) > 1 + self.rules.memory_margin
            need, reasons, now = rising, (*reasons, why), now._replace(is_rising=uses_margin_up)
        if held and need <= now.request:
            return now.kept(held)
        if need < now.request and past:
            return now.kept(past)
        restarts = self._restarts(seen)
        if need < now.request and restarts:
            return now.kept(f"was started again {_times(restarts)} while it was observed: not lowered")
        advised_limit = limit if limit is None or limit >= need else need
        sized = now._replace(advised_request=need, advised_limit=advised_limit, reasons=reasons)
        if limit is not None and need < now.request and sized.verdict == "shrink":
            return self._with_lower_limit(sized)
        return sized

    def _memory_need(self, now: Sized, killed_at: int | None) -> tuple[int, tuple[str, ...]]:
        """Return how much memory is needed, and why that is so much."""
        seen, limit = now.evidence, now.limit
        show = self.types[MEMORY].readable
        margin = _percent(self.rules.memory_margin)
        need = _up(seen.most * (1 + self.rules.memory_margin))
        reasons = [f"at most {show(seen.most)} was used, plus {margin}"] if seen.points else []
        near = None if limit is None or not seen.points or seen.most < NEAR_LIMIT * limit else limit
        cuts = (
            (near, RAISED, "use came near the limit, the true need is unknown", "its limit "),
            (killed_at, KILLED, "killed for want of memory", "the limit then, " if limit is not None else ""),
        )
        for at, (ratio, least), why, what in cuts:
            raised = 0 if at is None else max(_up(at * ratio), at + least)
            if at is not None and raised > need:
                need = raised
                reasons = [f"{why}: {_percent(ratio - 1)} and at least {show(least)} above {what}{show(at)}"]
        return need, tuple(reasons)

    def _risen(self, seen: Evidence) -> tuple[int, str]:
        """Return how much memory is needed when daily peaks have risen for a week more, and why."""
        most = seen.most * Fraction(exp(seen.growth * HORIZON_DAYS))
        need = self._rounded(MEMORY, _up(most * (1 + self.rules.memory_margin)))
        show = self.types[MEMORY].readable
        return need, f"{rise_of(seen)}, to {show(_up(most))} in a week"

    def _with_lower_limit(self, sized: Sized) -> Sized:
        """Return advice with a limit that shrinks as the request does, where enough was seen to lower it."""
        seen, limit = sized.evidence, sized.limit
        assert limit is not None  # noqa: S101 - the caller has looked
        unseen = [
            *([] if seen.sees_peaks else [f"peaks between samples {seen.step_seconds} s apart"]),
            *([] if seen.sees_starts else ["peaks of a start"]),
        ]
        if unseen:
            why = f"{' and '.join(unseen)} were not seen: the limit stays"
            if self.guaranteed:
                return sized.kept(f"{why}, and the pod is Guaranteed: the request stays with it")
            return sized._replace(reasons=(*sized.reasons, why))
        ratio = Fraction(limit, sized.request) if sized.request else Fraction(1)
        lower = self._rounded(MEMORY, _up(sized.advised_request * max(ratio, Fraction(1))))
        return sized._replace(advised_limit=min(limit, lower))

    def _kills(self, seen: Evidence) -> tuple[int | None, str]:
        """Return the most at which a replica was killed lately, and why others forbid to lower it."""
        last_seconds = seen.first_seconds + seen.window_seconds
        told = (Kill(key_of(pod), each.ended_seconds) for pod, each in self._outages(seen) if each.killed)
        known: list[int] = []
        past = ""
        for kill in (*self.seen.kills, *told):
            at = self._limit_at(kill, seen)
            if at is None:
                past = past or "killed for want of memory under a limit that is not known: not lowered"
            elif kill.seconds is not None and last_seconds - kill.seconds >= CALM_SECONDS:
                days = (last_seconds - kill.seconds) // DAY_SECONDS
                past = past or f"killed for want of memory {days} days ago, and not since: not lowered"
            else:
                known.append(at)
        return max(known, default=None), past

    def _limit_at(self, kill: Kill, seen: Evidence) -> int | None:
        """Return the limit that a replica had as it was killed; None where nobody knows it any more.

        It had that of its pod, where that had started, else that of another one of its ReplicaSet.
        """
        for pod in self.crew.pods:
            made_by = f"{pod.namespace}/{pod.owner.removeprefix('ReplicaSet/')}"
            is_it = key_of(pod) == kill.pod and (kill.seconds is None or started_seconds(pod) <= kill.seconds)
            if is_it or (pod.owner.startswith("ReplicaSet/") and made_by == kill.pod.rpartition("-")[0]):
                for each in pod.containers:
                    if each.name == self.container.name:
                        limit = each.limits.get(MEMORY)
                        return max(each.requests.of(MEMORY), seen.most) if limit is None else limit
        return None

    def _restarts(self, seen: Evidence) -> int:
        """Return how often a replica started again since it is observed, as its status or a source tells."""
        return max((self.seen.restarts, *(each.restarts for _, each in self._outages(seen))))

    def _outages(self, seen: Evidence) -> Iterator[tuple[Workload, Outage]]:
        """Yield in which pod something ended since it is observed; what does not say when may have."""
        for pod in self.crew.pods:
            for each in pod.outages:
                is_old = each.ended_seconds is not None and each.ended_seconds < seen.first_seconds
                if each.container == self.container.name and not is_old:
                    yield pod, each

    # CPU

    def _cpu(self, now: Sized) -> Sized:
        seen, limit = now.evidence, now.limit
        removed = self.rules.removes_cpu_limits and limit is not None
        held = self._why_not(seen)
        if held:
            return now.kept(held)
        name = _number(self.rules.cpu_percentile)
        need = self._rounded(CPU, max(seen.percentile, 1))
        reasons = [f"{name} % of the time at most {self.types[CPU].readable(seen.percentile)} was used"]
        if limit is not None and seen.percentile >= NEAR_LIMIT * limit:
            need = max(need, now.request)
            reasons.append("use came near the limit, where it is throttled: not lowered")
        elif self.guaranteed and need < now.request and not removed:
            return now.kept("the pod is Guaranteed: its CPU limit would have to go down with the request")
        advised_limit = limit
        if removed:
            advised_limit = None
            reasons.append("the limit is removed, as asked for")
        elif limit is not None and need > limit:
            advised_limit = need
            reasons.append("the limit is raised to the request")
        return now._replace(advised_request=need, advised_limit=advised_limit, reasons=tuple(reasons))

    # Both

    def _why_not(self, seen: Evidence) -> str:
        """Return why evidence is not enough; empty where it is."""
        if not seen.points:
            return "nothing was observed of it"
        if seen.points < POINTS_MIN:
            return f"{seen.points} of the {POINTS_MIN} points that are needed"
        if seen.days < self.rules.days_min:
            days = _number(Fraction(int(seen.days * 10), 10))
            return f"observed for {days} days, {_number(self.rules.days_min)} are needed (--min-days)"
        if seen.confidence < CONFIDENCE_MIN:
            return f"{_percent(1 - seen.confidence)} of the points were dropped"
        return ""

    def _rounded(self, resource: str, amount: int) -> int:
        step = STEPS[resource]
        return self.types[resource].quantized(max(step, -(-amount // step) * step))


def rise_of(seen: Evidence) -> str:
    """Return in words how much daily peaks rise."""
    return f"daily peaks rise by {expm1(seen.growth) * 100:.1f} % a day"


def is_guaranteed(containers: tuple[Container, ...]) -> bool:
    """Whether all containers of a pod have limits for processors and memory, and ask for as much."""
    return bool(containers) and all(
        each.limits.get(resource) == each.requests.get(resource) and each.limits.get(resource)
        for each in containers
        for resource in SIZED
    )


def _up(amount: Fraction) -> int:
    return -(-amount.numerator // amount.denominator)


def _percent(share: Fraction) -> str:
    return f"{_number(Fraction(round(share * 1000), 10))} %"


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator / value.denominator:g}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
