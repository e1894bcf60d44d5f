"""Swap behind over-committed memory in hcheck: warned of on stderr where a policy tells it, else nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ullage.service.htools.options import Printed
from ullage.service.htools.tools import run_tool

Run = Callable[..., Printed]
NODES = (
    "n1|17408|1024|12288|102400|81920|8|M|uuid-1|1",
    "n2|17408|1024|16384|102400|81920|8|N|uuid-1|1",
    "n3|17408|1024|16384|102400|102400|8|Y|uuid-1|1",
)
INSTANCES = ("web|4096|20480|1|running|Y|n1|n2|drbd||1", "off|9999|0|1|ADMIN_down|Y|n1||ext||1")
SIZES = "128,1,1024,1,1,1|128,1,1024,1,1,1;32768,8,1048576,16,8,12|drbd,ext|4.0|32.0"
RATIO = (f"|{SIZES}|1.5",)
SHORT = "Warning: node {}: swap short by 4Gi (has 4Gi, memory-ratio 1.5 of 16Gi needs 8Gi)\n"
OVERRUN = (
    "Warning: node n2: memory and swap short by 2Gi (used 20Gi, 20Gi of it kept for failover; "
    "there are 16Gi and 2Gi of swap)\n"
)


@pytest.fixture
def hcheck(data, tmp_path: Path) -> Run:
    """Run hcheck with these settings of a policy, if any."""

    def run(*words: str, policy: str | None = None, **sections: tuple[str, ...]) -> Printed:
        file = data(**{"nodes": NODES, "instances": INSTANCES, "policies": RATIO, **sections})
        path = tmp_path / "policy.yaml"
        path.write_text(f"apiVersion: ullage.dev/v1\nkind: Policy\ninherits: ganeti\n{policy}\n", "utf-8")
        named = [] if policy is None else ["--policy", str(path)]
        return run_tool("hcheck", ["-t", file, "--no-simulation", *named, *words])

    return run


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        pytest.param(None, "", id="the text format tells of no swap"),
        pytest.param(
            "cluster: {memory-ratio: 3}",
            "Warning: memory-ratio 3 of the policy is not used; give it as --memory-ratio\n",
            id="nor does this policy, whose ratio is not used",
        ),
        pytest.param("cluster: {memory-ratio: 1.5}", "", id="the ratio of the cluster itself"),
        pytest.param(
            "cluster: {swap: 4Gi}", SHORT.format("n1") + SHORT.format("n2"), id="of nodes that are online"
        ),
        pytest.param("nodes: {n2: {swap: 4Gi}}", SHORT.format("n2"), id="of nodes of which it is known"),
        pytest.param(
            "groups: {default: {swap: 8Gi}}\nnodes: {n1: {swap: 4Gi}}", SHORT.format("n1"), id="the nearest"
        ),
        pytest.param("cluster: {swap: 8Gi}", "", id="just enough"),
    ],
)
def test_too_little_swap_for_the_ratio_is_warned_of_where_it_is_known(hcheck, policy, told):
    printed, without = hcheck(policy=policy), hcheck()
    assert printed.stderr == told
    assert (printed.stdout, printed.code) == (without.stdout, without.code)


def test_memory_and_swap_that_hold_less_than_is_used_are_warned_of(hcheck):
    instances = ("web|20480|20480|1|running|Y|n1|n2|drbd||1",)
    printed = hcheck("--memory-ratio=1", policy="nodes: {n2: {swap: 2Gi}}", instances=instances)
    assert printed.stderr.endswith(OVERRUN)


def test_a_quiet_tool_does_not_warn(hcheck):
    assert not hcheck("-q", policy="cluster: {swap: 4Gi}").stderr


def test_a_policy_that_cannot_be_read_ends_the_tool(hcheck):
    printed = hcheck(policy="cluster: {swap: much}")
    assert printed.code == 1
    assert printed.stderr.startswith("Error: ")
    assert "swap" in printed.stderr
