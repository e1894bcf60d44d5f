"""May this workload have this node: fit, resize, caps, and the sentences that say why not."""

import pytest

from builders import GPU, node, policy, resources, workload
from ullage.engine.capacity.admission import (
    ABSENT,
    Place,
    admit,
    admit_resize,
    explain_shortfalls,
    judge,
    shortfall_of,
    show_down,
    terms_of,
)
from ullage.engine.capacity.bounds import figures_of
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import Amount, ResourceTypes
from ullage.model.settings import rules_for
from ullage.model.verdict import Shortfall, Terms, Verdict

TYPES = ResourceTypes()


def place(machine, promised=None, **settings) -> Place:
    """A node as admission sees it, with what is promised on it and a policy."""
    rules = rules_for(policy(**settings), TYPES)
    return Place(
        machine.record.name, figures_of(machine.record, rules, promised or resources()), rules, TYPES
    )


def admitted(where: Place, **requests) -> bool:
    return admit(where, workload("w", **requests)).admitted


class TestFill:
    def test_a_node_may_be_filled_to_its_limit_exactly(self):
        where = place(node("n1", memory="10"), resources(memory="4"))
        assert admitted(where, memory="6")
        assert not admitted(where, memory="7")

    def test_a_node_that_must_stay_below_its_limit_keeps_one_step(self):
        where = place(node("n1", memory="10"), resources(memory="4"), fill="below")
        assert admitted(where, memory="5")
        assert not admitted(where, memory="6")
        assert shortfall_of(where, "memory", 6).missing == Amount("memory", 1)

    @pytest.mark.parametrize("fill", ["exact", "below"])
    def test_a_request_of_nothing_fits_even_where_nothing_is_free(self, fill):
        full = place(node("n1", memory="10"), resources(memory="99"), fill=fill)
        assert admitted(full, memory="0")
        assert admitted(full, more={GPU: "0"})
        assert not admitted(full, memory="1")

    def test_promises_beyond_the_limit_are_missing_too(self):
        over = place(node("n1", memory="10"), resources(memory="12"))
        short = shortfall_of(over, "memory", 1)
        assert (short.missing, short.free) == (Amount("memory", 3), Amount("memory", 0))
        assert explain_shortfalls([short], over) == (
            "node n1: memory short by 3 (asked 1, over-committed by 2, has 10)"
        )
        assert shortfall_of(over, "memory", 5, held=4).missing == Amount("memory", 1)

    def test_every_resource_is_judged(self):
        where = place(node("n1", cpu="4", memory="10"))
        verdict = judge(where, "w", resources(cpu="5", memory="11"))
        assert [short.resource for short in verdict.shortfalls] == ["cpu", "memory"]
        assert verdict.reason == (
            "node n1: cpu short by 1 (asked 5, free 4 of 4); "
            "node n1: memory short by 1 (asked 11, free 10 of 10); "
            "fits if the requests are at most 4 of cpu and 10 of memory"
        )


class TestResize:
    def test_only_what_it_grows_by_is_new(self):
        where = place(node("n1", memory="10"), resources(memory="9"))
        old = workload("w", memory="4")
        assert admit_resize(where, old, workload("w", memory="5")).admitted
        assert not admit_resize(where, old, workload("w", memory="6")).admitted

    def test_below_its_limit_growth_leaves_one_step(self):
        where = place(node("n1", memory="10"), resources(memory="8"), fill="below")
        old = workload("w", memory="4")
        assert admit_resize(where, old, workload("w", memory="5")).admitted
        assert not admit_resize(where, old, workload("w", memory="6")).admitted

    @pytest.mark.parametrize("fill", ["exact", "below"])
    @pytest.mark.parametrize("new", ["0", "3", "4"])
    def test_shrinking_and_restarting_are_always_admitted(self, new, fill):
        over = place(node("n1", memory="10"), resources(memory="50"), fill=fill)
        assert admit_resize(over, workload("w", memory="4"), workload("w", memory=new)).admitted

    def test_a_workload_larger_than_its_node_may_still_shrink(self):
        where = place(node("n1", cpu="4"), resources(cpu="9"), cpu_ratio="unlimited")
        assert admit_resize(where, workload("w", cpu="9"), workload("w", cpu="8")).admitted
        assert not admit_resize(where, workload("w", cpu="9"), workload("w", cpu="10")).admitted

    def test_a_new_resource_counts_in_full(self):
        where = place(node("n1", cpu="4", memory="10"), resources(cpu="4"))
        verdict = admit_resize(where, workload("w", cpu="4"), workload("w", cpu="4", memory="11"))
        assert [short.missing for short in verdict.shortfalls] == [Amount("memory", 1)]

    def test_the_remedy_of_a_resize_counts_what_it_holds(self):
        where = place(node("n1", memory="10"), resources(memory="9"))
        verdict = admit_resize(where, workload("a/w", memory="4"), workload("a/w", memory="8"))
        assert verdict.workload == "a/w"
        assert verdict.reason == (
            "node n1: memory short by 3 (asked 8, free 1 of 10); fits if the request is at most 5"
        )


class TestCpu:
    @pytest.mark.parametrize("ratio", ["unlimited", "4"])
    def test_one_workload_never_gets_more_cpus_than_its_node_has(self, ratio):
        where = place(node("n1", cpu="4"), cpu_ratio=ratio)
        assert admitted(where, cpu="4")
        verdict = admit(where, workload("w", cpu="4001m"))
        assert verdict.shortfalls[0].missing == Amount("cpu", 1)
        assert verdict.reason == (
            "node n1: cpu short by 1m (asked 4, one workload gets at most the node's 4); "
            "fits if the request is at most 4"
        )

    def test_at_a_ratio_the_limit_bounds_all_of_them(self):
        where = place(node("n1", cpu="4"), resources(cpu="14"), cpu_ratio="4")
        assert admitted(where, cpu="2")
        assert admit(where, workload("w", cpu="3")).reason == (
            "node n1: cpu short by 1 (asked 3, free 2 of 4 at ratio 4); fits if the request is at most 2"
        )

    def test_without_a_bound_others_do_not_count(self):
        assert admitted(place(node("n1", cpu="4"), resources(cpu="400"), cpu_ratio="unlimited"), cpu="4")

    def test_the_larger_of_both_shortages_counts(self):
        where = place(node("n1", cpu="4"), resources(cpu="15"), cpu_ratio="4")
        assert shortfall_of(where, "cpu", 6000).missing == Amount("cpu", 5000)

    def test_a_grown_workload_meets_the_size_of_its_node(self):
        where = place(node("n1", cpu="4"), resources(cpu="3"), cpu_ratio="2")
        verdict = admit_resize(where, workload("w", cpu="3"), workload("w", cpu="5"))
        assert verdict.reason == (
            "node n1: cpu short by 1 (asked 5, one workload gets at most the node's 4); "
            "fits if the request is at most 4"
        )

    def test_other_resources_may_exceed_their_node_within_the_limit(self):
        where = place(node("n1", memory="10"), memory_ratio="2")
        assert admitted(where, memory="20")
        assert not admitted(where, memory="21")

    def test_an_unlimited_resource_is_still_no_larger_than_its_node(self):
        where = place(node("n1", memory="10"), resources(memory="99"), memory_ratio="unlimited")
        assert admitted(where, memory="10")
        assert shortfall_of(where, "memory", 12) == Shortfall(
            "n1", "memory", Amount("memory", 12), Amount("memory", 99), Amount("memory", 10),
            Amount("memory", 10), Amount("memory", 2), eviction_could_help=False,
        )  # fmt: skip


class TestEviction:
    """It could help where the request fits an empty node and something is there to go."""

    @pytest.mark.parametrize(
        ("promised", "requested", "held", "helps"),
        [
            ("4", 10, 0, True),
            ("4", 11, 0, False),
            ("1", 10, 0, True),
            ("40", 10, 0, True),
            ("40", 11, 0, False),
            ("5", 10, 4, True),
            ("12", 13, 12, False),
            ("12", 9, 8, True),
        ],
    )
    def test_by_promises(self, promised, requested, held, helps):
        where = place(node("n1", memory="10"), resources(memory=promised))
        assert shortfall_of(where, "memory", requested, held).eviction_could_help is helps

    def test_a_node_that_must_stay_below_its_limit_takes_one_less(self):
        where = place(node("n1", memory="10"), resources(memory="4"), fill="below")
        assert shortfall_of(where, "memory", 9).eviction_could_help
        assert not shortfall_of(where, "memory", 10).eviction_could_help

    def test_what_the_system_itself_uses_cannot_be_evicted(self):
        busy = node("n1", memory="10").using(memory="8")
        assert not shortfall_of(place(busy, committed="actual"), "memory", 5).eviction_could_help
        shared = place(busy, resources(memory="1"), committed="actual")
        assert shortfall_of(shared, "memory", 5).eviction_could_help

    def test_a_workload_that_alone_is_over_its_node_gets_no_room_by_evicting_others(self):
        alone = place(node("n1", memory="10"), resources(memory="9"))
        assert not shortfall_of(alone, "memory", 11, held=9).eviction_could_help

    def test_no_eviction_makes_a_node_larger(self):
        where = place(node("n1", cpu="4"), resources(cpu="15"), cpu_ratio="4")
        assert shortfall_of(where, "cpu", 4000).eviction_could_help
        assert not shortfall_of(where, "cpu", 4001).eviction_could_help

    def test_what_a_node_does_not_have_cannot_be_freed(self):
        where = place(node("n1", cpu="4"), resources(memory="5"))
        assert not shortfall_of(where, "memory", 1).eviction_could_help


class TestShortfall:
    def test_every_number_is_there(self):
        where = place(node("n1", memory="16").reserving(memory="1"), resources(memory="12"))
        assert shortfall_of(where, "memory", 7, held=2) == Shortfall(
            "n1", "memory", Amount("memory", 7), Amount("memory", 12), Amount("memory", 15),
            Amount("memory", 3), Amount("memory", 2), eviction_could_help=True,
        )  # fmt: skip

    def test_a_resource_that_the_node_lacks_is_short_in_full(self):
        where = place(node("n1", cpu="4"))
        assert shortfall_of(where, GPU, 2) == Shortfall(
            "n1", GPU, Amount(GPU, 2), Amount(GPU, 0), Amount(GPU, 0), Amount(GPU, 0), Amount(GPU, 2),
            eviction_could_help=False,
        )  # fmt: skip

    @pytest.mark.parametrize(("requested", "held"), [(0, 0), (-1, 0), (-1, -2), (5, 5), (5, 6)])
    def test_nothing_asked_or_nothing_grown_is_never_short(self, requested, held):
        assert shortfall_of(place(node("n1", memory="0")), "memory", requested, held) is None

    def test_the_terms_of_a_resource_that_is_absent_are_zero(self):
        zero = Amount("memory", 0)
        assert terms_of("n1", "memory", ABSENT) == Terms(
            "n1", "memory", zero, zero, "none", zero, "unlimited", zero, None, zero, zero, zero
        )


class TestVerdict:
    def test_it_shows_every_term_of_the_resources_that_are_named(self):
        machine = node("n1", cpu="4", memory="16").reserving(memory="2").using(memory="9")
        where = place(machine, resources(memory="5"), memory_ratio="1.5", committed="actual")
        shown = Terms(
            "n1", "memory", Amount("memory", 16), Amount("memory", 2), "stated", Amount("memory", 14), "1.5",
            Amount("memory", 5), Amount("memory", 9), Amount("memory", 7), Amount("memory", 21),
            Amount("memory", 14),
        )  # fmt: skip
        assert admit(where, workload("ns/w", memory="14")) == Verdict(
            "ns/w", "n1", admitted=True, terms=(shown,)
        )

    def test_no_bound_is_shown_as_such(self):
        terms = admit(place(node("n1", cpu="4"), cpu_ratio="unlimited"), workload("w", cpu="1")).terms[0]
        assert (terms.ratio, terms.limit, terms.free, terms.actual) == ("unlimited", None, None, None)

    def test_a_resource_that_the_node_lacks_has_no_terms(self):
        verdict = admit(place(node("n1", cpu="4")), workload("w", cpu="1", gpu=1))
        assert [terms.resource for terms in verdict.terms] == ["cpu"]
        assert [short.resource for short in verdict.shortfalls] == [GPU]
        assert not verdict.admitted

    def test_asking_for_nothing_is_admitted_without_terms(self):
        assert admit(place(node("n1")), workload("w")) == Verdict("w", "n1", admitted=True)


class TestSentences:
    """Fact, number, remedy."""

    @pytest.mark.parametrize(
        ("machine", "promised", "settings", "asked", "sentence"),
        [
            (
                node("n3", memory="16Gi").reserving(memory="1Gi"),
                resources(memory="12.5Gi"),
                {},
                {"memory": "4Gi"},
                (
                    "node n3: memory short by 1.5Gi (asked 4Gi, free 2.5Gi of 16Gi after 1Gi reserve); "
                    "fits if the request is at most 2.5Gi"
                ),
            ),
            (
                node("n3", memory="16Gi").reserving(memory="1Gi"),
                resources(memory="15Gi"),
                {},
                {"memory": "4Gi"},
                "node n3: memory short by 4Gi (asked 4Gi, free 0 of 16Gi after 1Gi reserve)",
            ),
            (
                node("n3", memory="8Gi"),
                resources(memory="9Gi"),
                {"memory_ratio": "1.25"},
                {"memory": "2Gi"},
                (
                    "node n3: memory short by 1Gi (asked 2Gi, free 1Gi of 8Gi at ratio 1.25); "
                    "fits if the request is at most 1Gi"
                ),
            ),
            (
                node("n3", memory="9Gi"),
                resources(memory="8Gi"),
                {"memory_ratio": "4/3", "memory_reserve": "3Gi"},
                {"memory": "2Gi"},
                "node n3: memory short by 2Gi (asked 2Gi, free 0 of 9Gi after 3Gi reserve at ratio 4/3)",
            ),
            (
                node("n3", memory="8Gi"),
                resources(),
                {"memory_ratio": "unlimited"},
                {"memory": "9Gi"},
                (
                    "node n3: memory short by 1Gi (asked 9Gi, one workload gets at most the node's 8Gi); "
                    "fits if the request is at most 8Gi"
                ),
            ),
            (
                node("n3", cpu="8"),
                resources(),
                {},
                {"cpu": "9"},
                "node n3: cpu short by 1 (asked 9, free 8 of 8); fits if the request is at most 8",
            ),
            (node("n3", cpu="8"), resources(), {}, {"gpu": 2}, f"node n3 has no {GPU} (asked 2)"),
            (
                node("n3", memory="0"),
                resources(),
                {"memory_ratio": "unlimited"},
                {"memory": "1Gi"},
                "node n3 has no memory (asked 1Gi)",
            ),
        ],
    )
    def test_word_for_word(self, machine, promised, settings, asked, sentence):
        where = place(machine, promised, **settings)
        verdict = admit(where, workload("w", **asked))
        assert verdict.reason == sentence
        assert explain_shortfalls(verdict.shortfalls[:1], where) == sentence

    def test_a_remedy_of_one_step_is_offered(self):
        where = place(node("n1", memory="10"), resources(memory="9"))
        assert admit(where, workload("w", memory="2")).reason.endswith("; fits if the request is at most 1")

    @pytest.mark.parametrize(
        ("resource", "amount", "shown"),
        [
            ("memory", 5 << 29, "2.5Gi"),
            ("memory", 1 << 30, "1Gi"),
            ("memory", (1 << 30) - 1, "1073741823"),
            ("memory", (1 << 30) + 1, "1Gi"),
            ("memory", 1_288_490_189, "1.2Gi"),
            ("memory", 1_288_490_188, "1288490188"),
            ("cpu", 1999, "1999m"),
            ("cpu", 1990, "1.99"),
            ("memory", INT64_MAX, str(INT64_MAX)),
            ("pods", 0, "0"),
        ],
    )
    def test_a_remedy_is_never_rounded_up(self, resource, amount, shown):
        assert show_down(resource, amount, TYPES) == shown
