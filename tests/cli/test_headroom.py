"""`ullage headroom`: counts on the demo cluster and on a dump, in every format."""

import csv
import io
import json
from pathlib import Path

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}
ROOT = Path(__file__).resolve().parents[2]
MACHINES = "ganeti:tests/cli/files/overcommitted.txt"
TWICE = "tests/cli/files/overcommitted-twice.yaml"
SHAPES = ("--shape", "cpu=4,memory=8Gi", "--shape", "cpu=8,memory=64Gi,nvidia.com/gpu=1")


@pytest.mark.parametrize("output", FORMATS)
def test_two_shapes_in_every_format(ask, matches_golden, output):
    result = ask("headroom", "-c", "demo", *SHAPES, "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"headroom.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("width", [80, 120])
def test_sets_of_manifests(ask, files, matches_golden, width):
    result = ask("headroom", "-c", "demo", "-f", files / "shop.yaml", "--together", "--width", width)
    assert (result.code, result.err) == (0, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"headroom-together-{width}.txt", result.out)


@pytest.mark.parametrize("output", FORMATS)
def test_a_shape_that_shrinks_in_every_format(ask, matches_golden, output):
    result = ask("headroom", "-c", "demo", "--tiered", "--shape", "cpu=4,memory=8Gi", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"headroom-tiered.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    "case", [("twice", ("--policy", TWICE), 0), ("full", (), 2)], ids=lambda case: case[0]
)
@pytest.mark.parametrize("width", [80, 120])
def test_machines_shrink_from_the_largest_of_their_policy(ask, matches_golden, monkeypatch, case, width):
    name, words, code = case
    monkeypatch.chdir(ROOT)
    result = ask("headroom", "-c", MACHINES, *words, "--tiered", "--width", width)
    assert (result.code, result.err) == (code, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"headroom-tiered-{name}-{width}.txt", result.out)


def test_no_room_for_one_of_them_is_exit_code_two(ask):
    line = ("headroom", "-c", "demo", "--shape", "cpu=1", "--shape", "cpu=60")
    assert ask(*line).code == 2
    assert ask(*line, "--exit-zero").code == 0


@pytest.mark.parametrize("placement", ["spread", "pack", "balanced", "preferences"])
def test_as_many_fit_as_are_counted_and_no_more(ask, placement):
    shape = ("--shape", "cpu=2,memory=4Gi", "--placement", placement)
    (found,) = json.loads(ask("headroom", "-c", "demo", *shape, "-o", "json").out)["workloads"]
    assert ask("fit", "-c", "demo", *shape, "--replicas", found["more"]).code == 0
    assert ask("fit", "-c", "demo", *shape, "--replicas", found["more"] + 1).code == 2


def test_csv_has_the_shape_as_it_can_be_asked_for_again(ask):
    rows = list(csv.DictReader(io.StringIO(ask("headroom", "-c", "demo", *SHAPES, "-o", "csv").out)))
    assert [(row["workload"], row["more"]) for row in rows] == [
        ("cpu=4,memory=8Gi", "7"),
        ("cpu=8,memory=64Gi,nvidia.com/gpu=1", "5"),
    ]


def test_a_dump_and_its_snapshot_give_the_same(ask, tmp_path):
    dump, saved = ROOT / "examples/maintenance.yaml", tmp_path / "saved.ullage"
    assert ask("snapshot", "save", "-c", dump, saved).code == 0
    found = [
        json.loads(ask("headroom", "-c", path, "--shape", "cpu=1,memory=2Gi", "-o", "json").out)["workloads"]
        for path in (dump, saved)
    ]
    assert found[0] == found[1]
    assert found[0][0]["more"] == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to count is named; use either --shape cpu=4,memory=8Gi or -f FILE"),
        (("--shape", "cpu=1", "-f", "x.yaml"), "both -f and --shape are given"),
        (("--shape", "cpu=1", "--shape", "cpu=1000m"), "--shape: cpu=1 is named twice"),
        (("--shape", "cpu"), "--shape: 'cpu' is no resource with its amount"),
        (("--shape", "cpu=1", "-n", "nowhere"), "no namespace 'nowhere'"),
        (("--shape", "cpu=1", "--placement", "best"), "invalid value for '--placement'"),
        (("-f", "missing.yaml"), "missing.yaml: cannot be read"),
        (("--tiered",), "no shape to start from is named; use --shape cpu=4,memory=8Gi"),
        (("--tiered", "-f", "x.yaml"), "--tiered shrinks one shape"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask("headroom", "-c", "demo", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1
