"""The tour asks questions of the demo cluster and of nothing else."""

import pytest

from ullage.cli.main import COMMANDS
from ullage.service.tour import FAREWELL, STOPS


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.question)
def test_each_stop_is_a_question_with_a_command_on_the_demo_cluster(stop):
    assert stop.question.endswith("?")
    assert stop.words[0] in COMMANDS
    assert "demo" in stop.words
    assert stop.line == f"ullage {' '.join(stop.words)}"


def test_what_to_try_next_names_commands_that_exist():
    for _, line in FAREWELL:
        words = line.rpartition("ullage ")[2].split()
        assert words[0] in COMMANDS
