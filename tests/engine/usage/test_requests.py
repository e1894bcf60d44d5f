"""What is advised for a container, and why not less: each rule by the numbers that it is about."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import BUILT_IN_TYPES, pod, resources, size
from ullage.engine.usage.evidence import Part, seen_of
from ullage.engine.usage.owners import Crew, Owner
from ullage.engine.usage.requests import SIZED, Rules, Sized, Sizing, is_guaranteed
from ullage.model.cluster import Container, Outage
from ullage.model.usage import MAX_USAGE, OOM_KILLS, RESTARTS
from usage_builders import DAY, book, every

MIB = 1 << 20
HOUR = 3600
START = 100 * DAY
RULES = Rules()


def hourly(amount, days=14, peak=None):
    """Hourly use for some days, with one peak in the middle."""
    amounts = [amount] * (24 * days)
    if peak is not None:
        amounts[len(amounts) // 2] = peak
    return every(HOUR, amounts, START)


def closely(amount, days=8):
    return every(300, [amount] * (288 * days), START)


def sized(
    used, resource="memory", request="4Gi", limit="4Gi", rules=RULES, *, more=None, replicas=1, **fields
) -> Sized:
    """What is advised for one resource of a container called c, in pods p0, p1, … of a crew."""
    part = Container(
        "c",
        fields.pop("role", "main"),
        resources({resource: request}) if request else resources(),
        resources({resource: limit}) if limit else resources(),
    )
    guaranteed = fields.pop("guaranteed", False)
    gone, now = fields.pop("gone", ()), fields.pop("now", part)
    fields = {"started_seconds": START - DAY, **fields}
    pods = tuple(pod(f"p{number}", namespace="n", containers=(part,), **fields) for number in range(replicas))
    streams = {("container/n/p0/c", resource): used} if used is not None else {}
    observed = book({**streams, **(more or {})})
    newer = () if now is part else (pod("p9", namespace="n", containers=(now,)),)
    crew = Crew(Owner("n", "Deployment", "w"), (*newer, *pods), gone)
    decays = {name: BUILT_IN_TYPES[name].is_compressible for name in SIZED}
    (seen,) = seen_of(observed, [Part(crew, now)], rules.cpu_percentile / 100, decays)
    sizing = Sizing(seen, crew, now, BUILT_IN_TYPES, rules, guaranteed)
    return next(each for each in sizing.advice().sized if each.resource == resource)


def request_and_limit(found: Sized, resource="memory"):
    show = BUILT_IN_TYPES[resource].print
    limit = found.advised_limit
    return show(found.advised_request), None if limit is None else show(limit)


def test_memory_is_the_most_that_was_used_plus_a_margin_rounded_up_to_a_step():
    found = sized(hourly(1000 * MIB, peak=1700 * MIB))
    assert found.advised_request == -(-1700 * 115 // 100 // 16) * 16 * MIB
    assert found.verdict == "shrink"


def test_the_margin_can_be_chosen():
    found = sized(hourly(1600 * MIB), rules=Rules(memory_margin=Fraction(1, 2)))
    assert found.advised_request == 2400 * MIB


def test_a_peak_of_one_replica_counts_for_all():
    more = {("container/n/p1/c", "memory"): hourly(100 * MIB, peak=2000 * MIB)}
    assert sized(hourly(100 * MIB), replicas=2, more=more).advised_request == 2304 * MIB


def test_a_peak_that_no_sample_saw_counts_where_the_source_noted_it():
    more = {("container/n/p0/c", "memory", MAX_USAGE): hourly(2000 * MIB)}
    found = sized(hourly(100 * MIB), more=more, started_seconds=START + DAY)
    assert found.advised_request == 2304 * MIB
    assert found.advised_limit == 2304 * MIB, "peaks and starts are known, so the limit goes down too"
    assert sized(hourly(100 * MIB), more=more).advised_limit == 4096 * MIB, "no start was seen"


def rising(first, a_day, days=10, seconds=300):
    """Use that rises by the same share every day."""
    points = range(days * DAY // seconds)
    return every(seconds, [int(first * (1 + a_day) ** (each * seconds / DAY)) for each in points], START)


STARTED = {"started_seconds": START + DAY}


def test_memory_is_not_lowered_below_what_daily_peaks_rise_to_in_a_week():
    found = sized(rising(1000 * MIB, 0.03), **STARTED)
    peak = 1000 * 1.03**10
    assert found.advised_request == pytest.approx(peak * 1.03**7 * 1.15 * MIB, abs=24 * MIB)
    assert found.advised_limit == found.advised_request
    assert found.reasons[-1].startswith("daily peaks rise by 3.0 % a day, to 1.6")
    assert found.is_rising
    assert not sized(rising(1000 * MIB, 0.01)).is_rising, "a week of it is within the margin"


def test_memory_that_rises_above_its_request_within_a_week_keeps_request_and_limit():
    found = sized(rising(1000 * MIB, 0.08), **STARTED)
    assert request_and_limit(found) == ("4Gi", "4Gi")
    assert "not lowered" in found.reasons[-1]


def test_a_rise_alone_raises_nobody_but_who_must_grow_grows_with_it():
    assert sized(rising(1000 * MIB, 0.05), request="1920Mi").verdict == "keep"
    found = sized(rising(1000 * MIB, 0.05), request="1Gi", limit="")
    assert found.advised_request > 1000 * 1.05**17 * 1.15 * MIB


@pytest.mark.parametrize("by", ["container/n/p{}/c", "pod/n/p{}"])
def test_what_rises_is_the_highest_peak_of_any_replica(by):
    halves = {
        (by.format(0), "memory"): rising(1000 * MIB, 0.03)[: 6 * 288],
        (by.format(1), "memory"): rising(1000 * MIB, 0.03)[5 * 288 :],
    }
    assert sized(None, replicas=2, more=halves).evidence.growth == pytest.approx(np.log(1.03))
    beside = {(by.format(2), "memory"): closely(3000 * MIB, days=10)}
    assert sized(None, replicas=3, more=halves | beside).evidence.growth == 0


def test_a_rise_that_the_source_noted_counts_as_one_that_was_sampled():
    more = {("container/n/p0/c", "memory", MAX_USAGE): rising(1000 * MIB, 0.03)}
    assert sized(closely(500 * MIB, days=10), more=more).is_rising


def test_memory_that_falls_or_stays_or_began_within_a_day_does_not_rise():
    for used in (rising(1000 * MIB, -0.03), rising(1000 * MIB, 0)):
        assert not sized(used).evidence.growth
    daily = every(
        HOUR, [(1000 if hour % 24 == 12 else 500) * MIB for hour in range(18, 240)], START + 18 * HOUR
    )
    assert not sized(daily).evidence.growth, "the first day has no noon"


@pytest.mark.parametrize(
    ("used", "fields", "limit", "said"),
    [
        (
            hourly(100 * MIB),
            {},
            "4Gi",
            "peaks between samples 3600 s apart and peaks of a start were not seen",
        ),
        (closely(100 * MIB), {}, "4Gi", "peaks of a start were not seen: the limit stays"),
        (closely(100 * MIB), {"started_seconds": START + DAY}, "128Mi", ""),
    ],
)
def test_a_limit_is_lowered_only_where_peaks_and_a_start_were_seen(used, fields, limit, said):
    found = sized(used, **fields)
    assert request_and_limit(found) == ("128Mi", limit)
    assert said in " ".join(found.reasons)


def test_a_limit_that_is_lowered_keeps_its_ratio_to_the_request():
    found = sized(closely(800 * MIB), request="2Gi", limit="4Gi", started_seconds=START + DAY)
    assert request_and_limit(found) == ("928Mi", "1856Mi")


def test_a_limit_that_is_lowered_never_grows_by_rounding():
    rules = Rules(saving_min=Fraction(0))
    found = sized(
        closely(1766 * MIB), request="2033Mi", limit="2040Mi", rules=rules, started_seconds=START + DAY
    )
    assert request_and_limit(found) == ("2032Mi", "2040Mi")


def test_a_limit_is_never_introduced():
    assert sized(hourly(1 * MIB), limit="").advised_limit is None
    assert sized(hourly(9000 * MIB), limit="").advised_limit is None


def test_a_request_that_outgrows_its_limit_takes_it_along():
    found = sized(hourly(600 * MIB), request="256Mi", limit="640Mi")
    assert request_and_limit(found) == ("704Mi", "704Mi")


@pytest.mark.parametrize(
    ("peak", "request_", "wanted"),
    [
        (948, "1Gi", "1104Mi"),  # just below 19/20 of the limit: the margin alone
        (973, "1Gi", "1232Mi"),  # from there on it may have been cut off: a fifth above the limit
        (1024, "64Mi", "1232Mi"),
    ],
)
def test_memory_near_its_limit_is_cut_off_there_and_raised_above_it(peak, request_, wanted):
    found = sized(hourly(100 * MIB, peak=peak * MIB), request=request_, limit="1Gi")
    assert request_and_limit(found)[0] == wanted
    assert found.verdict == "grow"


def test_what_came_near_a_small_limit_is_raised_by_100_mebibytes_at_least():
    found = sized(hourly(64 * MIB), request="64Mi", limit="64Mi")
    assert request_and_limit(found) == ("176Mi", "176Mi")


def test_a_kill_raises_memory_further_even_on_short_evidence():
    outages = (Outage("c", 2, killed=True, ended_seconds=START + 5),)
    found = sized(hourly(100 * MIB, days=1), request="1Gi", limit="1Gi", outages=outages)
    assert request_and_limit(found) == ("1536Mi", "1536Mi")
    assert "killed for want of memory" in found.reasons[0]


def test_a_kill_of_another_container_or_before_the_window_does_not_count():
    other = (Outage("d", 2, killed=True),)
    old = (Outage("c", 2, killed=True, ended_seconds=START - 5),)
    assert sized(hourly(100 * MIB), outages=other).verdict == "shrink"
    assert sized(hourly(100 * MIB), outages=old).verdict == "shrink"


def test_kills_that_a_source_counts_are_kills():
    more = {("container/n/p0/c", OOM_KILLS): every(HOUR, [0, 1], START)}
    assert sized(hourly(100 * MIB), request="1Gi", limit="1Gi", more=more).advised_request == 1536 * MIB


@pytest.mark.parametrize("limit", ["1536Mi", "8Gi"])
@pytest.mark.parametrize(
    ("kind", "killed"),
    [("ReplicaSet/w-5c6f7d8b9d", "w-7d9f8c6b5c-bcdfg"), ("StatefulSet/p", "p0"), ("DaemonSet/w", "w-bcdfg")],
)
def test_a_kill_under_a_limit_that_nobody_knows_raises_nothing_and_lowers_nothing(limit, kind, killed):
    fields = {
        "request": limit, "limit": limit, "owner": kind, "gone": (killed,),
        "started_seconds": START + 4 * DAY,
        "more": {(f"container/n/{killed}/c", OOM_KILLS): [(START + 3 * DAY, 1)]},
    }  # fmt: skip
    found = sized(closely(1000 * MIB), **fields)
    assert request_and_limit(found) == (BUILT_IN_TYPES["memory"].print(size(limit)),) * 2
    assert found.reasons[-1] == "killed for want of memory under a limit that is not known: not lowered"


def test_after_a_kill_a_limit_is_raised_above_what_it_was_then():
    fields = {"owner": "ReplicaSet/w-5c6f7d8b9d", "started_seconds": START + 4 * DAY}
    gone = ("w-5c6f7d8b9d-bcdfg",)
    more = {("container/n/w-5c6f7d8b9d-bcdfg/c", OOM_KILLS): [(START + 3 * DAY, 1)]}
    for limit, wanted in (("1Gi", "1536Mi"), ("1536Mi", "2304Mi")):
        found = sized(closely(100 * MIB), request=limit, limit=limit, more=more, gone=gone, **fields)
        assert request_and_limit(found)[1] == wanted, "it had the template of a pod that is there"
    now = Container("c", "main", resources(memory="1Gi"), resources(memory="2Gi"))
    old = (Outage("c", 1, killed=True, ended_seconds=START + 5),)
    found = sized(closely(900 * MIB), request="1Gi", limit="1Gi", outages=old, now=now)
    assert request_and_limit(found) == ("1536Mi", "2Gi"), "the old pod was killed, the template is new"


def test_calm_for_two_weeks_speaks_for_a_limit():
    outages = (Outage("c", 1, killed=True, ended_seconds=START + DAY),)
    for days, wanted in ((14, "1536Mi"), (16, "1Gi")):
        found = sized(hourly(100 * MIB, days=days), request="1Gi", limit="1Gi", outages=outages)
        assert request_and_limit(found)[1] == wanted
    assert found.reasons == ("killed for want of memory 14 days ago, and not since: not lowered",)


@settings(max_examples=30)
@given(
    st.integers(1, 2000), st.sampled_from(["StatefulSet/p", "ReplicaSet/w-5c6f7d8b9d"]), st.integers(1, 12)
)
def test_advice_that_is_followed_after_one_kill_comes_to_rest(most, owner, killed_day):
    """The pod of each round is made from the advice of the one before, after the kill."""
    limit, started, seen = "1Gi", START - DAY, set()
    more = {("container/n/p0/c", OOM_KILLS): [(START + killed_day * DAY, 1)]}
    for _ in range(6):
        found = sized(
            hourly(most * MIB), request=limit, limit=limit, more=more, owner=owner,
            started_seconds=started,
        )  # fmt: skip
        limit, started = f"{found.advised_limit // MIB}Mi", START + 13 * DAY
        seen.add(limit)
    assert len(seen) == 1, "what the first advice says is enough for all that follow"


def test_memory_of_what_was_started_again_is_not_lowered():
    found = sized(hourly(100 * MIB), outages=(Outage("c", 3, ended_seconds=START + 5),))
    assert (found.verdict, found.reasons) == (
        "keep",
        ("was started again 3 times while it was observed: not lowered",),
    )


def test_restarts_that_a_source_counts_are_restarts():
    more = {("container/n/p0/c", RESTARTS): every(DAY, [3, 1], START)}
    found = sized(closely(100 * MIB), more=more)
    assert found.reasons == ("was started again 4 times while it was observed: not lowered",)
    assert sized(hourly(5000 * MIB), limit="", more=more).verdict == "grow"


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (None, "nothing was observed of it"),
        ([(START, None)], "nothing was observed of it"),
        (every(DAY, [5 * MIB] * 20, START), "20 of the 100 points that are needed"),
        (hourly(5 * MIB, days=6), "observed for 6 days, 7 are needed (--min-days)"),
        (every(HOUR, [5 * MIB, 5 * MIB, None] * 112, START), "33.3 % of the points were dropped"),
    ],
)
@pytest.mark.parametrize(("resource", "request_"), [("cpu", "2"), ("memory", "2Gi")])
def test_too_little_evidence_advises_nothing_and_says_why(used, said, resource, request_):
    found = sized(used, resource, request=request_, limit="")
    assert not found.changes
    assert found.reasons == (said,)


def test_memory_used_beyond_its_request_is_raised_on_little_evidence_and_told_so():
    found = sized([(START, 5000 * MIB)], request="4Gi", limit="")
    assert request_and_limit(found) == ("5760Mi", None)
    assert found.reasons[-1] == "1 of the 100 points that are needed: it may need more"
    assert not sized([(START, 5000 * MIB)], request="", limit="").changes


def test_a_week_of_hourly_points_is_a_week():
    assert sized(hourly(5 * MIB, days=7)).changes


def test_a_saving_that_is_not_worth_it_is_left():
    assert sized(hourly(1700 * MIB), request="2Gi", limit="2Gi").reasons[-1] == (
        "saves less than 10 % of the request"
    )


def test_where_only_growth_is_asked_for_nothing_shrinks():
    assert not sized(hourly(5 * MIB), rules=Rules(only_growth=True)).changes
    assert sized(hourly(5000 * MIB), rules=Rules(only_growth=True)).verdict == "grow"


def test_an_init_container_grows_and_never_shrinks():
    assert not sized(hourly(5 * MIB), role="init").changes
    assert sized(hourly(5000 * MIB), role="init").verdict == "grow"


def test_cpu_is_a_percentile_of_use_rounded_up_to_a_step():
    used = every(HOUR, [100] * 310 + [900] * 26, START)
    assert request_and_limit(sized(used, "cpu", "2", ""), "cpu") == ("900m", None)
    rules = Rules(cpu_percentile=Fraction(80))
    assert request_and_limit(sized(used, "cpu", "2", "", rules), "cpu") == ("100m", None)
    assert request_and_limit(sized(every(HOUR, [0] * 336, START), "cpu", "2", ""), "cpu") == ("10m", None)


def test_old_use_counts_less_by_half_each_week():
    used = every(HOUR, [900] * 168 + [100] * 168 * 4, 98 * DAY)
    assert sized(used, "cpu", "2", "", Rules(cpu_percentile=Fraction(95))).advised_request == 100
    assert sized(used, "cpu", "2", "", Rules(cpu_percentile=Fraction(98))).advised_request == 900


def test_the_replica_that_needs_most_decides_about_cpu():
    more = {(f"container/n/p{number}/c", "cpu"): hourly(50) for number in range(1, 30)}
    assert sized(hourly(700), "cpu", "2", "", replicas=30, more=more).advised_request == 700


def test_a_cpu_limit_is_left_alone_unless_it_is_to_be_removed():
    assert request_and_limit(sized(hourly(100), "cpu", "1", "2"), "cpu") == ("100m", "2")
    rules = Rules(removes_cpu_limits=True)
    assert request_and_limit(sized(hourly(100), "cpu", "1", "2", rules), "cpu") == ("100m", None)


def test_cpu_that_is_throttled_at_its_limit_is_not_lowered():
    found = sized(hourly(955), "cpu", request="1", limit="1")
    assert (found.verdict, found.reasons[-1]) == (
        "keep",
        "use came near the limit, where it is throttled: not lowered",
    )


def test_a_guaranteed_pod_stays_guaranteed():
    assert not sized(hourly(100), "cpu", "1", "1", guaranteed=True).changes
    assert not sized(hourly(100 * MIB), guaranteed=True).changes
    seen = sized(closely(100 * MIB), guaranteed=True, started_seconds=START + DAY)
    assert request_and_limit(seen) == ("128Mi", "128Mi")


def test_guaranteed_is_what_asks_for_all_that_it_may_have():
    both = resources(cpu="1", memory="1Gi")
    assert is_guaranteed((Container("a", "main", both, both),))
    assert not is_guaranteed((Container("a", "main", both, resources(memory="1Gi")),))
    assert not is_guaranteed(())


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, size("64Gi")), min_size=100, max_size=200),
    st.integers(0, size("64Gi")),
    st.none() | st.integers(1, size("64Gi")),
    st.booleans(),
)
def test_no_advice_is_below_what_was_used_plus_the_margin(amounts, request_, limit, killed):
    outages = (Outage("c", 1, killed=True),) if killed else ()
    found = sized(
        every(DAY // 10, amounts, START),
        request=str(request_),
        limit=str(limit) if limit else "",
        rules=Rules(saving_min=Fraction(0)),
        outages=outages,
        started_seconds=START + DAY,
    )
    if found.changes:
        need = max(amounts) * (1 + RULES.memory_margin)
        assert found.advised_request >= need
        assert (found.advised_limit is None) == (limit is None)
        assert found.advised_limit is None or found.advised_limit >= found.advised_request
        if limit and max(amounts) * 20 >= limit * 19:
            assert found.advised_limit > limit
