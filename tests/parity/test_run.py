"""A run says what it did; a difference is named, shrunk, saved, and an exit status of 1."""

import copy

import pytest
import yaml

from parity import run
from parity.cases import case
from parity.compare import compare

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("plane_program")]


class BlindToTaints:
    """A judge that does not see taints, so that an engine which does is in the wrong."""

    def __init__(self, judge):
        self._judge = judge

    def judge(self, objects, steps):
        seen = copy.deepcopy(list(objects))
        for each in seen:
            each.get("spec", {}).pop("taints", None)
        return self._judge.judge(seen, steps)


def test_a_run_without_a_difference_names_its_seeds_and_what_it_saw(capsys, tmp_path):
    status = run.main(["--cases", "3", "--seed", "5", "--output", str(tmp_path)])
    said = capsys.readouterr().out
    assert status == 0
    assert "seeds 5 to 7: 3 cases judged" in said
    assert all(kind in said for kind in case(5).kinds)
    assert list(tmp_path.iterdir()) == []


def test_a_difference_is_named_shrunk_and_saved(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "compare", lambda asked, judge: compare(asked, BlindToTaints(judge)))
    seed = next(each for each in range(1, 200) if "taints" in case(each).kinds)
    arguments = ["--cases", "1", "--output", str(tmp_path), "--seed"]
    while run.main([*arguments, str(seed)]) == 0:
        seed += 1
    said = capsys.readouterr().out
    assert f"seed {seed}: " in said
    assert "taint " in said

    saved = (tmp_path / f"seed-{seed}.yaml").read_text(encoding="utf-8")
    assert saved in said
    node, pod = yaml.safe_load_all(saved)
    assert (node["kind"], pod["kind"]) == ("Node", "Pod")
    assert node["spec"].keys() == {"taints"}
