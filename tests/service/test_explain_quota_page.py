"""How `explain quota/Q` reads."""

from fractions import Fraction

from builders import cluster, node, pod, quota
from ullage.service.explain_quota import explain_quota


def shared(kind="ElasticQuota", **fields):
    pods = [pod(f"a/p{number:02}", cpu="1", created_seconds=number) for number in range(50)]
    return cluster(
        node("n", cpu="60").holding(*pods),
        quota("a", {"cpu": "40"}, {"cpu": "55"}, kind=kind, **fields),
        quota("b", {"cpu": "20"}, kind=kind),
    )


def test_the_formula_has_its_numbers(asked, read):
    text = read(explain_quota(shared(), "a", asked), width=120)
    assert text.startswith(
        "quota a uses 50 cpu, guaranteed 40 cpu; it borrows 10 cpu; 10 of 50 workloads over"
    )
    assert "cpu in mode nos, which applies" in text
    assert "40 / (40 + 20) x 20 = 13.33, rounded down" in text
    assert "cpu in mode fair, if it applied" in text
    assert "40 + 0: min(min, demand) of each" in text
    assert text.splitlines()[-1] == "Next: ullage quota risk -c small.json"


def test_when_a_workload_was_made_is_told_as_a_time(asked):
    page = explain_quota(shared(), "a", asked).page()
    (table,) = [block for block in page.blocks if block.title == "Its workloads"]
    created = {row[0].text: row[-1].text for row in table.rows}
    assert (created["a/p00"], created["a/p49"]) == ("-", "1970-01-01T00:00:49Z")


def test_a_max_below_what_is_guaranteed_is_told(asked, read):
    free = cluster(
        node("n", cpu="8"),
        quota("a", {"cpu": "4"}, {"cpu": "5"}, kind="ElasticQuota"),
        quota("b", {"cpu": "4"}, kind="ElasticQuota"),
    )
    text = read(explain_quota(free, "a", asked), width=120)
    assert "at most  max" in text
    assert "=  entitlement  5" in text
    assert "at most  max" not in read(explain_quota(free, "b", asked), width=120)


def test_the_mode_that_applies_comes_first(asked, read):
    text = read(explain_quota(shared("Quota"), "a", asked), width=120)
    assert text.index("cpu in mode fair, which applies") < text.index("cpu in mode nos, if it applied")


def test_what_would_be_admitted(asked, read):
    text = read(explain_quota(shared(), "a", asked), width=120)
    line = next(line for line in text.splitlines() if line.startswith("cpu       "))
    assert line.split() == ["cpu", "5", "10", "10", "5", "3.33"]


def test_weights_are_told_where_some_are_stated(asked, read):
    text = read(explain_quota(shared("Quota", weight=Fraction(1, 2)), "a", asked), width=120)
    assert "shared by weight: a 1/2, b min" in text


def test_the_way_to_the_root_is_told(asked, read):
    tree = cluster(
        node("n", cpu="9").holding(pod("low/x", cpu="1")),
        quota("top", {"cpu": "6"}, namespaces=()),
        quota("mid", {"cpu": "5"}, parent="top"),
        quota("low", {"cpu": "2"}, parent="mid", queues=("low/queue",)),
    )
    text = read(explain_quota(tree, "low", asked), width=120)
    assert "top > mid" in text
    assert "what mid is entitled to" in text
    assert "low/queue" in text
    assert "Above it" in text
    assert "of it for its own workloads  3 cpu" in read(explain_quota(tree, "mid", asked), width=120)


def test_many_members_are_shortened(asked):
    found = explain_quota(shared(), "a", asked)
    assert (len(found.page().main_table.rows), len(found.shortened().main_table.rows)) == (50, 40)


def test_long_sums_are_cut(asked, read):
    many = cluster(node("n", cpu="9"), *(quota(f"q{number:02}", {"cpu": "1"}) for number in range(12)))
    text = read(explain_quota(many, "q00", asked), width=160)
    assert "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 4 others" in text


def test_what_others_could_claim_is_told_whatever_labels_say(asked, read):
    world = cluster(node("n", cpu="4").holding(pod("a/x", cpu="4")), quota("a"), quota("b", {"cpu": "4"}))
    text = " ".join(read(explain_quota(world, "a", asked)).split())
    assert text.startswith(
        "quota a uses 4 cpu, guaranteed nothing; it borrows 4 cpu; 0 of 1 workload over quota; "
        "others could claim back 4 cpu"
    )


def test_cordoned_nodes_are_told_where_they_count_with_what_runs_there(asked, read):
    closed = node("m", cpu="30").holding(pod("b/p", cpu="2")).cordoned()
    snapshot = cluster(node("n", cpu="8"), closed, quota("a", {"cpu": "4"}), quota("b", {"cpu": "4"}))
    text = read(explain_quota(snapshot, "a", asked), width=120)
    assert "capacity        10  of the cluster, of 1 cordoned node what runs there" in text
