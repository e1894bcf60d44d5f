"""What hosts can give: recorded machines."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ullage.model.errors import InputError
from ullage.service.asked import Asked, read_whole
from ullage.service.inspect import inspect_answers, inspect_here, inspect_of, save_facts
from ullage.sources.host.collect import collect
from ullage.sources.host.facts import Problem
from ullage.sources.host.recorded import parse_bundle
from ullage.sources.host.ssh import HostAnswer

MACHINES = Path(__file__).parent.parent / "sources" / "host" / "machines"
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
NAMES = sorted(path.stem for path in MACHINES.glob("*.txt"))


def facts_of(name):
    return collect(NOON, machine=parse_bundle((MACHINES / f"{name}.txt").read_bytes()))


@pytest.mark.parametrize("name", NAMES)
def test_any_machine_has_a_page_in_any_format(read, name):
    answer = inspect_of(facts_of(name))
    assert answer.yes
    for output in ("table", "wide", "json", "csv", "md", "html"):
        assert read(answer, 80, output)


def test_the_document_is_the_hosts_facts():
    data = inspect_of(facts_of("kvm-host")).data()
    assert (data["apiVersion"], data["kind"]) == ("ullage.dev/v1", "HostFacts")


def test_saved_documents_are_a_cluster(tmp_path):
    save_facts(str(tmp_path / "hosts"), [facts_of("kvm-host"), facts_of("lvm-two-groups")])
    snapshot = read_whole(Asked(str(tmp_path / "hosts")))
    assert len(snapshot.nodes) == 2
    assert snapshot.policy.name == "zos"


def test_two_hosts_of_one_name_are_not_saved_over_each_other(tmp_path):
    with pytest.raises(InputError, match="2 hosts call themselves"):
        save_facts(str(tmp_path), [facts_of("kvm-host")] * 2)
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_did_not_answer_is_named_and_makes_it_a_no(read):
    lost = HostAnswer(host="lost", problem=Problem(probe="ssh", reason="no route", remedy="call someone"))
    answer = inspect_answers([HostAnswer(host="k", facts=facts_of("kvm-host")), lost])
    assert not answer.yes
    assert answer.notes == ("lost: no route",)
    assert [each["kind"] for each in answer.data()] == ["HostFacts"]
    text = read(answer)
    assert text.startswith("✗ 1 of 2 hosts answered")
    assert "lost: no route" in text
    assert inspect_answers([HostAnswer(host="k", facts=facts_of("kvm-host"))]).yes


def test_this_host_can_be_asked_and_saved(tmp_path):
    answer = inspect_here(save=str(tmp_path))
    (path,) = tmp_path.iterdir()
    assert json.loads(path.read_text())["hostname"] == answer.data()["hostname"]
