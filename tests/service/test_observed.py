"""Usage from wherever it is: tables, documents and ledgers say the same, and who says nothing is told how."""

import shutil
from pathlib import Path

import pytest

from ullage.engine.usage.book import Stream
from ullage.engine.usage.ratio_evidence import LOOKED_AT
from ullage.engine.usage.summary import percentile, status_of
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.model.usage import MAX_USAGE, RESTARTS, USAGE, fraction_of
from ullage.render.json_text import to_yaml
from ullage.service.asked import Asked, read_cluster
from ullage.service.observed import NothingRecordedError, read_needed_usage, read_peaks_usage, read_usage
from ullage.sources.usage_documents import status_document
from ullage.stores.usage import Batch, Marks, append
from usage_builders import book, every
from usage_example import EXAMPLE, text

DEMO = Asked("demo")
NODE = Stream("node/n1", "memory")
API = Stream("workload/web/ReplicaSet/api", "memory")


def test_the_example_is_what_its_tables_make():
    assert EXAMPLE.read_text(encoding="utf-8") == text()
    assert len(text()) < 150_000


def test_a_table_is_read():
    found = read_usage(str(EXAMPLE), DEMO)
    assert found.figures(NODE).points == 168
    assert not found.streams("workload")


def test_a_snapshot_says_whose_pods_they_are():
    found = read_usage(str(EXAMPLE), DEMO, read_cluster(DEMO))
    pods = [found.figures(Stream(f"pod/web/api-{number}", "memory")).high for number in range(8)]
    assert max(pods) < found.figures(API).high <= sum(pods)
    assert found.streams("group", "memory") == [
        Stream("group/general", "memory"),
        Stream("group/gpu", "memory"),
    ]


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "some ledger"
    observed = book({NODE[:2]: every(300, [5, 9]), ("pod/web/api-0", "memory"): every(300, [1, 2])})
    append(path, Batch("test", observed, Marks(0, {}), 1000))
    return path


def in_containers(tmp_path, more=""):
    """The example as of containers alone: each pod has two of them, which use what it used together."""
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    at = lines[0].split(",").index("value")
    rows = [line.split(",") for line in lines[1:] if line.startswith("pod/")]
    halves = []
    for row in rows:
        for name, value in (("main", row[at]), ("side", "0")):
            named = [f"container/{row[0].removeprefix('pod/')}/{name}", *row[1:]]
            halves.append(",".join([*named[:at], value if row[at] else "", *named[at + 1 :]]))
    path = tmp_path / "containers.csv"
    path.write_text("\n".join([lines[0], *halves]) + more, "utf-8")
    return str(path)


def test_pods_are_summed_from_containers_where_nobody_observed_them(tmp_path):
    snapshot = read_cluster(DEMO)
    by_pods, by_containers = (
        read_usage(each, DEMO, snapshot) for each in (str(EXAMPLE), in_containers(tmp_path))
    )
    for kind in ("pod", "workload", "namespace", "quota"):
        streams = by_pods.streams(kind, measure=USAGE)
        assert streams
        for stream in streams:
            one, other = (each.figures(stream) for each in (by_pods, by_containers))
            assert (one.points, one.total, one.low, one.high) == (
                other.points,
                other.total,
                other.low,
                other.high,
            )


def test_a_pod_that_was_observed_itself_is_not_summed_from_its_containers(tmp_path):
    header = EXAMPLE.read_text(encoding="utf-8").splitlines()[0]
    row = {"subject": "pod/web/api-0", "resource": "memory", "time": "1767225600", "value": "3Gi"}
    more = "\n" + ",".join(row.get(each, "") for each in header.split(","))
    found = read_usage(in_containers(tmp_path, more), DEMO, read_cluster(DEMO))
    assert found.figures(Stream("pod/web/api-0", "memory")).points == 1
    assert found.figures(Stream("pod/web/api-0", "cpu")).points > 1


def test_events_of_containers_are_no_use_of_pods(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(
        f"subject,resource,time,value\ncontainer/web/api-0/api,{RESTARTS},1767225600,1\n", "utf-8"
    )
    assert [each.subject for each in read_usage(str(path), DEMO, read_cluster(DEMO)).streams()] == [
        "container/web/api-0/api"
    ]


def test_a_ledger_is_known_by_its_content_and_is_the_default(recorded):
    of_ledger = Asked("demo", ledger=str(recorded))
    for source, asked in ((str(recorded), DEMO), ("", of_ledger), ("recorded", of_ledger)):
        assert read_usage(source, asked).figures(NODE).total == 14
        assert read_usage(source, asked, read_cluster(DEMO)).figures(API).high == 2


def test_peaks_alone_are_those_of_everything_crowds_included(tmp_path):
    path, snapshot = tmp_path / "ledger.db", read_cluster(DEMO)
    observed = read_usage(str(EXAMPLE), DEMO)
    noted = [(each, "memory", MAX_USAGE) for each in ("node/n1", "pod/web/api-0", "container/web/api-0/api")]
    observed.merge(book({key: every(3600, [1 << 33] * 48, 1_768_000_000) for key in noted}))
    append(path, Batch("test", observed, Marks(0, {}), 1_768_435_200))
    whole, part = (
        read_usage(str(path), DEMO, snapshot),
        read_peaks_usage(str(path), DEMO, snapshot, "memory", LOOKED_AT),
    )
    meant = [
        each
        for kind in LOOKED_AT
        for measure in (USAGE, MAX_USAGE)
        for each in whole.streams(kind, "memory", measure)
    ]
    assert {API, Stream(*noted[0]), Stream(*noted[1])} <= {*meant}
    assert sorted(part.streams()) == sorted(meant)
    for stream in meant:
        days = whole.days(stream)
        assert part.days(stream) == days
        for day in days:
            assert (part.slots(stream, day, 1) == whole.slots(stream, day, 1)).all()


def test_parts_of_a_ledger_without_use_are_refused_as_all_of_it(tmp_path):
    path, snapshot = tmp_path / "ledger.db", read_cluster(DEMO)
    append(path, Batch("test", book({}), Marks(0, {}), 1000))
    told = set()
    for read in (
        lambda asked: read_usage("", asked, snapshot),
        lambda asked: read_needed_usage("", asked, snapshot, lambda _: []),
        lambda asked: read_peaks_usage("", asked, snapshot, "memory", LOOKED_AT),
    ):
        for asked in (
            Asked(ledger=str(path)),
            Asked(observed=str(path)),
            Asked(observed=str(tmp_path / "none")),
        ):
            with pytest.raises(NothingRecordedError) as refused:
                read(asked)
            told.add((bool(asked.observed), str(refused.value)))
    assert len(told) == 2


def test_documents_say_what_they_were_made_of(tmp_path):
    table = read_usage(str(EXAMPLE), DEMO)
    path = tmp_path / "usage.yaml"
    document = status_document(status_of(table, "node/n1"), ResourceTypes(), 1_768_435_200)
    path.write_text(to_yaml(document), encoding="utf-8")
    stated = read_usage(str(path), DEMO)
    assert stated.figures(NODE)[:5] == table.figures(NODE)._replace(total=stated.figures(NODE).total)[:5]
    share = fraction_of("95")
    exact, found = (percentile(each.figures(NODE), share) for each in (table, stated))
    assert abs(found - exact) * 100 <= exact
    assert stated.days(NODE) == [1_768_435_200 // 86_400]


def test_without_anything_observed_it_is_said_how_to_get_it(tmp_path):
    with pytest.raises(
        InputError, match=r"nothing was observed; name some with --usage FILE.csv.*usage observe"
    ):
        read_usage("", DEMO)
    empty = tmp_path / "empty.csv"
    empty.write_text("subject,resource,time,value\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"empty.csv: nothing was observed"):
        read_usage(str(empty), DEMO)


def test_a_ledger_without_usage_is_said_to_have_none(tmp_path):
    from stores.ledger_files import made

    path = made(tmp_path / "ledger")
    with pytest.raises(InputError, match="no usage is recorded in it"):
        read_usage(str(path), DEMO)
    with pytest.raises(InputError, match="no usage is recorded in it"):
        read_usage("", Asked("demo", ledger=str(path)))


def test_usage_is_recorded_in_no_cluster():
    with pytest.raises(InputError, match="usage is of files"):
        read_usage("", Asked("demo", ledger="kube"))


def test_an_address_is_no_source():
    with pytest.raises(InputError, match=r"write prometheus:URL; .* is -c URL --usage recorded"):
        read_usage("http://127.0.0.1:1", DEMO)


def test_a_status_needs_a_subject(tmp_path):
    path = tmp_path / "status.yaml"
    path.write_text("resourceStatus: [usage: [cpu: {mean: 1}]]\n", encoding="utf-8")
    with pytest.raises(InputError, match="write subject: node/NAME"):
        read_usage(str(path), DEMO)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.csv"):
        read_usage(str(tmp_path / "gone.csv"), DEMO)


def test_a_damaged_ledger_is_refused(recorded, tmp_path):
    broken = Path(shutil.copy(recorded, tmp_path / "broken"))
    data = bytearray(broken.read_bytes())
    data[4096:8192] = bytes(4096)
    broken.write_bytes(data)
    with pytest.raises(InputError, match="broken"):
        read_usage(str(broken), DEMO)
