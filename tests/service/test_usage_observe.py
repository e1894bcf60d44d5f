"""Recording: what a source tells counts once, whole or not at all, however often it is read."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stores.ledger_files import made_by_version_1
from ullage.engine.usage.book import Stream
from ullage.model.errors import InputError
from ullage.service import usage_observe as module
from ullage.service.asked import Asked, read_cluster
from ullage.service.observed import read_usage
from ullage.service.usage_observe import ObserveQuestion, source_name, usage_observe
from ullage.stores.usage import read_book, read_marks
from ullage.stores.verify import verify
from usage_builders import DAY
from usage_example import EXAMPLE

HEADER = "subject,resource,time,value\n"
NOW = 1_795_000_000


@pytest.fixture(autouse=True)
def at_one_time(monkeypatch):
    monkeypatch.setenv("ULLAGE_NOW", str(NOW))


def observed(path, ledger, cluster="", **options):
    answer = usage_observe(
        Asked(cluster, ledger=str(ledger)), ObserveQuestion(str(path), **options), lambda _: None
    )
    return answer.data()


def content(book):
    return [
        (*row[:2], *row.figures[:7], row.figures.buckets.tolist(), row.figures.counts.tolist(),
         None if row.slots is None else row.slots.tolist())
        for row in book.rows()
    ]  # fmt: skip


def test_a_table_is_recorded_with_crowds_and_promises(tmp_path):
    ledger = tmp_path / "new" / "ledger.db"
    report = observed(EXAMPLE, ledger, "demo")
    assert (report["points"], report["dropped"], report["known"]) == (4200, 4, 0)
    book = read_book(ledger)
    asked = Asked("demo")
    usage = [row for row in content(book) if row[0].measure == "usage"]
    assert usage == content(read_usage(str(EXAMPLE), asked, read_cluster(asked)))
    committed = {(each.subject, each.resource) for each in book.streams(measure="committed")}
    assert {("cluster", "memory"), ("group/gpu", "cpu"), ("quota/web", "memory")} <= committed
    assert any(subject.startswith("drives/") for subject, _ in committed)
    assert verify(ledger) == []


WEB = "workload/shop/StatefulSet/web"
SHOP = """
apiVersion: ullage.dev/v1
kind: Snapshot
nodes: [{name: n1, capacity: {cpu: "8", memory: 16Gi}}]
workloads:
""" + "".join(
    f"  - {{name: web-{k}, namespace: shop, owner: StatefulSet/web, node: n1, requests: {{cpu: '1'}}}}\n"
    for k in range(3)
)


@pytest.fixture
def shop(tmp_path):
    """A cluster with three pods, and a function that writes what was observed of some of them."""
    cluster = tmp_path / "shop.yaml"
    cluster.write_text(SHOP, encoding="utf-8")

    def table(name, pods, begin=0, hours=2):
        path = tmp_path / name
        rows = (
            f"pod/shop/web-{pod},cpu,{NOW // DAY * DAY + at},1\n"
            for at in range(begin * 3600, (begin + hours) * 3600, 300)
            for pod in pods
        )
        path.write_text(HEADER + "".join(rows), encoding="utf-8")
        return path

    return str(cluster), table


def used_at_most(ledger, cluster, subject=WEB):
    asked = Asked(cluster, ledger=str(ledger))
    return read_usage("", asked, read_cluster(asked)).figures(Stream(subject, "cpu")).high // 1000


def test_pods_of_several_sources_are_added_up(tmp_path, shop):
    (cluster, table), ledger = shop, tmp_path / "ledger.db"
    for pod in range(3):
        observed(table(f"agent-{pod}.csv", [pod]), ledger, cluster)
        assert used_at_most(ledger, cluster) == used_at_most(ledger, cluster, "cluster") == pod + 1
    assert not read_book(ledger).streams_of(WEB), "sums of some are not kept"
    assert verify(ledger) == []


@pytest.mark.parametrize(
    ("then", "cluster_named"),
    [
        pytest.param({"pods": [1, 2]}, (True, True), id="others at the same time, from the same table"),
        pytest.param({"pods": [0, 1, 2], "begin": 2}, (True, False), id="without sums after some with"),
        pytest.param({"pods": [0, 1, 2], "begin": 2}, (False, True), id="with sums after some without"),
    ],
)
def test_sums_that_are_not_of_everybody_are_made_when_somebody_asks(tmp_path, shop, then, cluster_named):
    (cluster, table), ledger = shop, tmp_path / "ledger.db"
    first = {"pods": [0]} if then["pods"] == [1, 2] else {"pods": [0, 1, 2]}
    for part, is_named in zip((first, then), cluster_named, strict=True):
        observed(table("table.csv", hours=4, **part), ledger, cluster if is_named else "")
    assert not read_book(ledger).streams_of(WEB)
    asked = Asked(cluster, ledger=str(ledger))
    found = read_usage("", asked, read_cluster(asked)).figures(Stream(WEB, "cpu"))
    assert (found.total // found.points, found.high) == (3000, 3000)
    hours = 4 if then["pods"] == [1, 2] else 6
    assert found.points == hours * 12, "all that was told"


def test_sums_of_one_source_go_on_by_five_minutes_while_it_tells_of_all(tmp_path, shop):
    (cluster, table), ledger = shop, tmp_path / "ledger.db"
    for begin in (0, 2, 4):
        observed(table("table.csv", [0, 1, 2], begin), ledger, cluster)
    assert read_book(ledger).figures(Stream(WEB, "cpu")).points == 6 * 12


@pytest.mark.parametrize("phase", [0, 60], ids=["at one moment, line by line", "half of them a minute later"])
def test_a_table_that_tells_of_some_at_a_time_is_added_up_over_all(tmp_path, shop, phase):
    """A sum of those who happen to be new is no sum of all."""
    (cluster, _), ledger, path = shop, tmp_path / "ledger.db", tmp_path / "grows.csv"
    text = HEADER
    for at in range(0, 3600, 300):
        for pod in range(3):
            text += f"pod/shop/web-{pod},cpu,{NOW // DAY * DAY + at + pod * phase},1\n"
            path.write_text(text, encoding="utf-8")
            observed(path, ledger, cluster)
    asked = Asked(cluster, ledger=str(ledger))
    found = read_usage("", asked, read_cluster(asked)).figures(Stream(WEB, "cpu"))
    assert (found.total // found.points, found.high) == (3000, 3000)


def test_what_was_told_as_such_is_not_mixed_with_sums(tmp_path, shop):
    (cluster, table), ledger = shop, tmp_path / "ledger.db"
    told = tmp_path / "told.csv"
    told.write_text(f"{HEADER}{WEB},cpu,{NOW // DAY * DAY},7\n", encoding="utf-8")
    observed(told, ledger, cluster)
    observed(table("table.csv", [0, 1, 2]), ledger, cluster)
    found = read_book(ledger).figures(Stream(WEB, "cpu"))
    assert (found.points, found.high) == (1, 7000)


def test_reading_again_counts_nothing_twice(tmp_path):
    ledger = tmp_path / "ledger.db"
    observed(EXAMPLE, ledger)
    before = content(read_book(ledger))
    report = observed(EXAMPLE, ledger)
    assert (report["points"], report["known"]) == (0, 4200)
    assert content(read_book(ledger)) == before


def test_containers_that_are_kept_by_week_are_known_when_they_are_read_again(tmp_path):
    ledger, table = tmp_path / "ledger.db", tmp_path / "usage.csv"
    rows = (f"container/shop/web/main,cpu,{NOW - at * 6 * 3600},1\n" for at in range(20))
    table.write_text(HEADER + "".join(rows), encoding="utf-8")
    observed(table, ledger)
    report = observed(table, ledger)
    assert (report["points"], report["known"], report.get("late", 0)) == (0, 20, 0)


def test_points_behind_what_was_recorded_are_told_as_too_late_and_do_not_count(tmp_path):
    ledger, table = tmp_path / "ledger.db", tmp_path / "usage.csv"
    day = NOW // DAY * DAY
    seconds = [day - 2 * DAY, day, day + 300, day + 600, day + 900]

    def offered(*places):
        rows = (f"node/n1,cpu,{seconds[place]},{place + 1}\n" for place in places)
        table.write_text(HEADER + "".join(rows), encoding="utf-8")
        return observed(table, ledger)

    def told(report):
        return report["points"], report["known"], report.get("late", 0)

    assert told(offered(1, 3)) == (2, 0, 0)
    assert told(offered(0, 1, 2, 3, 4)) == (1, 2, 2)
    assert told(offered(0)) == (0, 0, 1)
    assert told(offered(1, 3, 4)) == (0, 3, 0)
    assert read_book(ledger).figures(Stream("node/n1", "cpu")).total == (2 + 4 + 5) * 1000


def test_what_came_too_late_stands_on_the_page(tmp_path):
    ledger, table = tmp_path / "ledger.db", tmp_path / "usage.csv"
    for rows in ("node/n1,cpu,86400,1\n", "node/n1,cpu,100,1\n"):
        table.write_text(HEADER + rows, encoding="utf-8")
        answer = usage_observe(Asked(ledger=str(ledger)), ObserveQuestion(str(table)))
    page = answer.page()
    assert "has nothing that is newer than what" in page.verdict.text
    assert ("too late, not counted", "1") in [tuple(each.text for each in row) for row in page.blocks[0].rows]


def test_what_was_forgotten_is_not_told_as_too_late(tmp_path):
    ledger, table = tmp_path / "ledger.db", tmp_path / "usage.csv"
    day = NOW // DAY * DAY
    rows = "".join(f"pod/a/p,cpu,{day - back * DAY},1\n" for back in (50, 40, 1))
    table.write_text(HEADER + rows, encoding="utf-8")
    observed(table, ledger)
    again = observed(table, ledger)
    assert (again["points"], again["known"], again.get("late", 0)) == (0, 3, 0)


def test_a_table_that_has_grown_counts_for_what_is_new(tmp_path):
    ledger, table = tmp_path / "ledger.db", tmp_path / "usage.csv"
    table.write_text(HEADER + "node/n1,cpu,100,1\nnode/n1,cpu,200,2\n")
    observed(table, ledger)
    table.write_text(table.read_text() + "node/n1,cpu,300,3\nnode/n2,cpu,100,7\n")
    report = observed(table, ledger)
    assert (report["points"], report["known"]) == (2, 2)
    book = read_book(ledger)
    assert book.figures(Stream("node/n1", "cpu")).total == 6000
    assert book.figures(Stream("node/n2", "cpu")).total == 7000


POINTS = st.lists(
    st.tuples(
        st.sampled_from(("node/n1", "pod/web/api-0", "pod/web/api-1", "pod/web/gone-1")),
        st.integers(0, 90),
        st.integers(0, 50),
    ),
    min_size=1,
    max_size=25,
    unique_by=lambda point: point[:2],
)


@settings(max_examples=15)
@given(POINTS, st.lists(st.integers(0, 25), max_size=2))
def test_whatever_is_read_again_is_the_same_as_reading_it_once(tmp_path_factory, points, cuts):
    # Days up to 90: pods of the first ones are forgotten on the way, and offered again.
    folder = tmp_path_factory.mktemp("usage")
    lines = [
        f"{pod},cpu,{day * DAY},{amount}\n" for pod, day, amount in sorted(points, key=lambda each: each[1])
    ]
    table, once, often = folder / "usage.csv", folder / "once.db", folder / "often.db"
    for cut in (*sorted(min(cut, len(lines)) for cut in cuts if cut), len(lines), len(lines)):
        table.write_text(HEADER + "".join(lines[:cut]))
        observed(table, often, "demo")
        expected = content(read_book(often))
        observed(table, often, "demo")
        assert content(read_book(often)) == expected
    observed(table, once, "demo")
    node = Stream("node/n1", "cpu")  # of which all is kept
    assert read_book(often).figures(node)[:7] == read_book(once).figures(node)[:7]


def test_an_interrupted_reading_leaves_nothing_and_the_next_one_has_all(tmp_path, monkeypatch):
    ledger = tmp_path / "ledger.db"
    read = module.observations

    def interrupted(*arguments, **options):
        for place, each in enumerate(read(*arguments, **options)):
            if place:
                raise KeyboardInterrupt
            yield each

    with monkeypatch.context() as patched:
        patched.setattr(module, "observations", interrupted)
        assert observed(EXAMPLE, ledger)["readings"] == 0
    assert not ledger.exists()
    assert observed(EXAMPLE, ledger)["points"] == 4200


def test_readings_follow_each_other_until_the_time_is_over(tmp_path):
    ledger, table = tmp_path / "ledger.db", tmp_path / "usage.csv"
    table.write_text(HEADER + "node/n1,cpu,100,1\n")
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        table.write_text(table.read_text() + f"node/n1,cpu,{100 + len(slept)},1\n")
        if len(slept) == 3:
            raise KeyboardInterrupt

    question = ObserveQuestion(str(table), every_seconds=5)
    report = usage_observe(Asked(ledger=str(ledger)), question, sleep).data()
    assert (report["readings"], report["points"], report["known"]) == (3, 3, 3)
    assert all(4 < seconds <= 5 for seconds in slept)
    assert read_book(ledger).figures(Stream("node/n1", "cpu")).points == 3


def test_a_reading_that_fails_among_others_is_told_and_the_others_go_on(tmp_path):
    ledger, table = tmp_path / "ledger.db", tmp_path / "usage.csv"

    def sleep(_):
        if table.exists():
            raise KeyboardInterrupt
        table.write_text(HEADER + "node/n1,cpu,100,1\n")

    report = usage_observe(Asked(ledger=str(ledger)), ObserveQuestion(str(table), 5), sleep).data()
    assert (report["readings"], report["points"]) == (1, 1)
    assert len(report["failures"]) == 1


def test_a_single_reading_that_fails_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"gone\.csv"):
        observed(tmp_path / "gone.csv", tmp_path / "ledger.db")


def test_the_future_is_not_recorded(tmp_path):
    table = tmp_path / "usage.csv"
    table.write_text(HEADER + f"node/n1,cpu,{NOW + 2 * DAY},1\n")
    with pytest.raises(InputError, match="is of the future"):
        observed(table, tmp_path / "ledger.db")
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize(
    ("asked", "source", "refusal"),
    [
        (Asked(), "x.csv", "name its file with --ledger FILE"),
        (Asked(ledger="l.db"), "", "nothing to observe is named"),
        (Asked(ledger="kube"), "x.csv", "usage is of files"),
        (Asked("demo", ledger="l.db"), "metrics", "demo has no metrics API"),
    ],
)
def test_what_cannot_be_recorded_is_refused(asked, source, refusal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=refusal):
        usage_observe(asked, ObserveQuestion(source))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("prometheus:http://127.0.0.1:9090/?window=1d", "prometheus:http://127.0.0.1:9090"),
        ("prometheus:", "prometheus:"),
        ("metrics", "metrics"),
        ("host", "host"),
    ],
)
def test_a_source_is_known_by_what_it_is_and_not_by_how_it_is_asked(source, name):
    assert source_name(source) == name


def test_without_a_source_what_is_committed_of_a_cluster_is_recorded(tmp_path):
    ledger = tmp_path / "ledger.db"
    report = observed("", ledger, "demo")
    assert (report["readings"], report["points"]) == (1, 0)
    streams = read_book(ledger).streams()
    assert Stream("cluster", "memory", "committed") in streams
    assert {each.measure for each in streams} == {"committed"}
    page = usage_observe(Asked("demo", ledger=str(ledger)), ObserveQuestion()).page()
    assert page.verdict.text.startswith("what is committed of demo is recorded")


def test_a_ledger_of_before_is_brought_up_to_date_before_its_promises_are_read(tmp_path):
    ledger = made_by_version_1(tmp_path / "ledger")
    assert observed(EXAMPLE, ledger, "demo")["points"] == 4200
    assert verify(ledger) == []


def test_a_file_is_the_same_from_wherever_it_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert source_name("usage.csv") == source_name(f"{tmp_path}/./usage.csv")


def test_a_source_with_a_history_is_asked_from_where_it_was_left(tmp_path, monkeypatch):
    ledger, asked = tmp_path / "ledger.db", []
    read = module.observations

    def noted(source, *rest, since_seconds):
        asked.append(since_seconds)
        return read(source, *rest)

    monkeypatch.setattr(module, "observations", noted)
    for _ in range(2):
        observed(EXAMPLE, ledger, "demo")
    last = max(
        at for stream, at in read_marks(ledger, source_name(str(EXAMPLE))).last_seconds.items()
        if stream.measure == "usage"
    )  # fmt: skip
    assert asked == [None, last - 3600]


def test_the_page_says_how_much_was_recorded(tmp_path):
    asked = Asked(ledger=str(tmp_path / "ledger.db"))
    page = usage_observe(asked, ObserveQuestion(str(EXAMPLE))).page()
    assert page.verdict.text.startswith("4200 points of")
    assert "usage show" in page.next_command
    again = usage_observe(asked, ObserveQuestion(str(EXAMPLE))).page()
    assert "nothing that" in again.verdict.text
    assert msgspec.to_builtins(again.verdict)["tone"] == "yes"
