"""hcheck: what is counted, what exit code follows, and what differs from Ganeti's own on purpose."""

import pytest

from ullage.service.htools.tools import run_tool

ROOM = "|8192|0|{}|102400|{}|8|{}|uuid-1|1"


def node(name: str, free: int, disk_free: int = 81920, flag: str = "N") -> str:
    return name + ROOM.format(free, disk_free, flag)


def figures(path: str, *words: str) -> tuple[dict[str, str], int]:
    printed = run_tool("hcheck", ["-t", path, "--machine-readable", *words])
    return dict(line.split("=", 1) for line in printed.stdout.splitlines()), printed.code


@pytest.fixture
def offline_standby(data) -> str:
    """A cluster in which the standby of an instance is offline, and could be elsewhere."""
    return data(
        nodes=(node("a", 7168), node("b", 8192, 102400), node("c", 8192, flag="Y")),
        instances=("web|1024|20480|1|running|Y|a|c|drbd||1",),
    )


def test_secondaries_on_offline_nodes_are_counted_not_offline_nodes(offline_standby: str) -> None:
    found, code = figures(offline_standby)
    assert found["HCHECK_INIT_CLUSTER_OFFLINE_SEC"] == "1"
    assert code == 1


def test_an_offline_node_without_instances_is_no_problem(data) -> None:
    path = data(nodes=(node("a", 8192), node("b", 8192), node("c", 8192, flag="Y")), instances=())
    found, code = figures(path)
    assert found["HCHECK_INIT_CLUSTER_NEED_REBALANCE"] == "0"
    assert code == 0


def test_of_a_cluster_without_nodes_a_script_finds_every_key(data) -> None:
    found, code = figures(data(nodes=(), instances=()))
    keys = ["N1_FAIL", "CONFLICT_TAGS", "OFFLINE_PRI", "OFFLINE_SEC", "GN1_FAIL", "NEED_REBALANCE"]
    assert [found[f"HCHECK_INIT_CLUSTER_{key}"] for key in keys] == ["0"] * 6
    assert code == 0


def test_the_last_verdict_is_about_the_state_after_balancing(offline_standby: str) -> None:
    found, code = figures(offline_standby)
    assert found["HCHECK_INIT_CLUSTER_NEED_REBALANCE"] == "1"
    assert found["HCHECK_FINAL_CLUSTER_OFFLINE_SEC"] == "0"
    assert found["HCHECK_FINAL_CLUSTER_NEED_REBALANCE"] == "0"
    assert found["HCHECK_OK"] == "1"
    assert code == 1


def test_without_a_simulation_the_exit_code_is_0(offline_standby: str) -> None:
    printed = run_tool("hcheck", ["-t", offline_standby, "--no-simulation"])
    assert printed.code == 0
    assert printed.stdout.startswith("Running in no-simulation mode.\n")
    assert "after rebalancing" not in printed.stdout


def test_without_capacity_checks_nodes_that_cannot_be_evacuated_are_not_counted(offline_standby: str) -> None:
    found, _ = figures(offline_standby, "--no-capacity-checks")
    assert not [key for key in found if key.endswith("GN1_FAIL")]


def test_nothing_is_said_where_a_user_wants_quiet(offline_standby: str) -> None:
    printed = run_tool("hcheck", ["-t", offline_standby, "-q"])
    assert (printed.stdout, printed.code) == ("", 1)
