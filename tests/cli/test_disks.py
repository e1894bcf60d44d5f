"""`ullage disks list|fragmentation`: on the demo cluster, in every format."""

import json

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("word", ["list", "fragmentation"])
def test_every_format(ask, matches_golden, word, output):
    result = ask("disks", word, "-c", "demo", "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"disks-{word}.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    "case",
    [
        ("list-node", ("list", "node/s1"), 0),
        ("fragmentation-size", ("fragmentation", "--size", "HDDLVG=3500G", "--size", "NVMELVG=300Gi"), 0),
        ("fragmentation-no", ("fragmentation", "--size", "4Ti"), 2),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.parametrize("width", [80, 120])
def test_answers_as_people_read_them(ask, matches_golden, case, width):
    name, words, code = case
    result = ask("disks", *words, "-c", "demo", "--width", width)
    assert (result.code, result.err) == (code, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"disks-{name}-{width}.txt", result.out)


def test_the_numbers_of_the_demo(ask):
    report = json.loads(ask("disks", "list", "-c", "demo", "-o", "json").out)
    assert (report["apiVersion"], report["kind"]) == ("ullage.dev/v1", "DiskList")
    for each in report["totals"]:
        parts = ("usedBytes", "promisedBytes", "freeBytes", "closedBytes")
        assert each["sizeBytes"] == sum(each[part] for part in parts)
    report = json.loads(ask("disks", "fragmentation", "-c", "demo", "-o", "json").out)
    assert (report["apiVersion"], report["kind"]) == ("ullage.dev/v1", "DiskFragmentation")
    shares = {each["storageClass"]: each for each in report["classes"]}
    assert shares["NVMELVG"]["strandedBytes"] > 1 << 40
    assert shares["HDDLVG"]["repack"]["drive"] == "s1-hdd-3"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "s1"), "'s1' has no disks; write node/NAME, or leave it out"),
        (("list", "node/s2"), "no node 's2'; did you mean s1"),
        (("fragmentation", "--size", "large"), "--size: "),
        (("lst",), "no command 'lst'; did you mean 'list'?"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask("disks", *words, "-c", "demo")
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert message in result.err
