"""Tables of observations: what is read, in bounded batches, and where a mistake is said to stand."""

import gzip
import io
import sys

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from ullage.engine.usage.book import Book, Stream
from ullage.model.errors import InputError
from ullage.sources.given import giving
from ullage.sources.usage import csv_samples
from ullage.sources.usage.csv_samples import read_csv, seconds_of, subject_problem

HEADER = "subject,resource,time,value\n"


def table(tmp_path, text, name="usage.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def points(path):
    """Every point as a row, in order."""
    return sorted(
        (each.subjects[number], each.resource, each.measure, seconds, amount)
        for each in read_csv(path)
        for number, seconds, amount in zip(
            each.numbers.tolist(), each.at_seconds.tolist(), each.amounts.tolist(), strict=True
        )
    )


def refusal(path):
    with pytest.raises(InputError) as raised:
        list(read_csv(path))
    return str(raised.value)


def test_amounts_are_in_the_steps_of_their_resource(tmp_path):
    path = table(
        tmp_path,
        HEADER
        + "node/n1,cpu,0,2\nnode/n1,cpu,1,250m\nnode/n1,kubernetes.io/cpu,2,1.5\n"
        + "node/n1,memory,0,1Gi\nnode/n1,memory,1,4096\nnode/n1,example.com/licences,0,7\n",
    )
    assert points(path) == [
        ("node/n1", "cpu", "usage", 0, 2000),
        ("node/n1", "cpu", "usage", 1, 250),
        ("node/n1", "cpu", "usage", 2, 1500),
        ("node/n1", "example.com/licences", "usage", 0, 7),
        ("node/n1", "memory", "usage", 0, 1 << 30),
        ("node/n1", "memory", "usage", 1, 4096),
    ]


def test_an_empty_value_is_a_point_that_was_dropped(tmp_path):
    path = table(tmp_path, HEADER + "node/n1,cpu,60,\nnode/n1,cpu,120,1\n")
    book = Book()
    assert sum(book.add(each) for each in read_csv(path)) == 1
    assert book.figures(Stream("node/n1", "cpu")).dropped == 1


def test_columns_may_stand_in_any_order_and_a_measure_may_be_named(tmp_path):
    path = table(
        tmp_path,
        "\ufeffmeasure,value,time,resource,subject\n,1,5,cpu,cluster\nmaxusage,2,5,cpu,cluster\n\n",
    )
    assert points(path) == [
        ("cluster", "cpu", "maxusage", 5, 2000),
        ("cluster", "cpu", "usage", 5, 1000),
    ]


def test_what_is_compressed_is_unpacked(tmp_path):
    path = table(tmp_path, gzip.compress((HEADER + "node/a,cpu,5,1\n").encode()), "usage.csv.gz")
    assert points(path) == [("node/a", "cpu", "usage", 5, 1000)]


def test_damaged_compressed_data_is_refused(tmp_path):
    packed = gzip.compress((HEADER + "node/a,cpu,5,1\n" * 1000).encode())
    assert "damaged gzip data" in refusal(table(tmp_path, packed[:-20]))


def test_standard_input_and_what_was_sent_along_are_read(tmp_path, monkeypatch):
    text = (HEADER + "node/a,cpu,5,1\n").encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert points("-") == [("node/a", "cpu", "usage", 5, 1000)]
    with giving({"-": text}):
        assert points("-") == [("node/a", "cpu", "usage", 5, 1000)]
        assert "was not sent along" in refusal(table(tmp_path, HEADER))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "usage.csv:1: there is no column subject"),
        ("subject,time,value\n", "usage.csv:1: there is no column resource"),
        ("subject,resource,time,value,colour\n", "usage.csv:1: column 'colour' is unknown"),
        ("subject,resource,time,value,time\n", "usage.csv:1: column time is there twice"),
        (HEADER + "node/a,cpu,5\n", "usage.csv:2: 3 fields where the first line names 4"),
        (HEADER + "node/a,cpu,5,1\nnode/a,cpu,5,x\n", "usage.csv:3: "),
        (HEADER + "node/a,cpu,5,-1\n", "usage.csv:2: -1 cannot be used"),
        (HEADER + "node/a,memory,5,9000000000000000000\n", "usage.csv:2: 9000000000000000000 cannot be used"),
        (HEADER + "node/a,cpu,yesterday,1\n", "usage.csv:2: 'yesterday' is no usable time"),
        (HEADER + "node/a,cpu,-5,1\n", "usage.csv:2: '-5' is no usable time"),
        (HEADER + "planet/a,cpu,5,1\n", "usage.csv:2: nothing can be observed of 'planet/a'"),
        (HEADER + "pod/a,cpu,5,1\n", "usage.csv:2: 'pod/a' does not name a pod"),
        (HEADER + "node/a,colour,5,1\n", "usage.csv:2: resource name 'colour'"),
        ("subject,resource,time,value,measure\nnode/a,cpu,5,1,love\n", "usage.csv:2: 'love' is no measure"),
        (HEADER + '"node/a,cpu,5,1\n', "usage.csv:2: unexpected end of data"),
        (HEADER + "node/" + "a" * 70_000 + ",cpu,5,1\n", "usage.csv:2: a line of more than"),
        (HEADER.encode() + b"node/\xff,cpu,5,1\n", "usage.csv:2: is not UTF-8"),
    ],
)
def test_a_mistake_is_one_line_that_says_where(tmp_path, text, said):
    told = refusal(table(tmp_path, text))
    assert said in told
    assert told.count("usage.csv") == 1
    assert "\n" not in told


def test_a_file_that_is_not_there_is_named():
    assert "/nowhere/usage.csv: cannot be read: no such file" in refusal("/nowhere/usage.csv")


def test_points_are_handed_on_in_batches_that_do_not_grow(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_samples, "BATCH_POINTS", 100)
    path = table(tmp_path, HEADER + "".join(f"node/n{i % 7},cpu,{i},1\n" for i in range(1000)))
    sizes = [len(each.numbers) for each in read_csv(path)]
    assert sum(sizes) == 1000
    assert max(sizes) <= 100
    assert len(points(path)) == 1000


def test_the_number_of_subjects_and_points_is_bounded(tmp_path, monkeypatch):
    path = table(tmp_path, HEADER + "".join(f"node/n{i},cpu,{i},1\n" for i in range(1000)))
    monkeypatch.setattr(csv_samples, "SUBJECTS_MAX", 10)
    assert "usage.csv:12: more than 10 subjects" in refusal(path)
    monkeypatch.undo()
    monkeypatch.setattr(csv_samples, "BATCH_POINTS", 100)
    monkeypatch.setattr(csv_samples, "POINTS_MAX", 250)
    assert "more than 250 points" in refusal(path)


def test_a_bad_first_page_is_told_before_anything_is_handed_on(tmp_path):
    reading = read_csv(table(tmp_path, "a,b\n1,2\n"))
    with pytest.raises(InputError):
        next(reading)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("1767225600", 1767225600),
        ("2026-01-01T00:00:00Z", 1767225600),
        ("2026-01-01T01:00:00+01:00", 1767225600),
        ("2026-01-01T00:00:00.999Z", 1767225600),
    ],
)
def test_a_time_is_seconds_or_rfc_3339(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00", "2026-01-01", "1e9", "", " 5", "9" * 19, "\uff11"])
def test_a_time_without_its_zone_or_beyond_all_days_is_refused(text):
    with pytest.raises(InputError):
        seconds_of(text)


@pytest.mark.parametrize(
    "subject",
    ["node/n", "pod/ns/p", "container/ns/p/c", "workload/ns/Deployment/web", "workload/ns/web",
     "namespace/ns", "group/g", "quota/a", "drives/HDD", "cluster"],
)  # fmt: skip
def test_a_subject_of_every_kind_has_a_name(subject):
    assert subject_problem(subject) == ""


@pytest.mark.parametrize(
    "subject", ["", "node", "node/", "node/a/b", "pod/ns", "cluster/a", "node/\x1b", "x/y"]
)
def test_what_names_nothing_is_no_subject(subject):
    assert subject_problem(subject)


@examples(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 10**9), st.integers(0, 10**15)), max_size=50)
)
def test_what_is_written_is_read(tmp_path_factory, rows):
    text = HEADER + "".join(f"node/{name},memory,{at},{value}\n" for name, at, value in rows)
    path = table(tmp_path_factory.mktemp("table"), text)
    assert points(path) == sorted((f"node/{name}", "memory", "usage", at, value) for name, at, value in rows)
