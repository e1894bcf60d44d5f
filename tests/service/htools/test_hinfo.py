"""hinfo: groups, instances that are split over two, and the terms of the score."""

from ullage.service.htools.tools import run_tool


def test_split_instances_are_named_beside_the_result(data) -> None:
    path = data(
        groups=("one|uuid-1|preferred||", "two|uuid-2|preferred||"),
        nodes=("a|4096|0|3072|102400|81920|8|N|uuid-1|1", "b|4096|0|4096|102400|81920|8|N|uuid-2|1"),
        instances=("web|1024|20480|1|running|Y|a|b|drbd||1",),
    )
    printed = run_tool("hinfo", ["-t", path])
    assert "Found instances belonging to multiple node groups:\n" in printed.stdout
    assert printed.stderr == "  web\n"


def test_counts_have_their_singular(data) -> None:
    path = data(nodes=("a|4096|0|4096|102400|102400|8|N|uuid-1|1",), instances=())
    lines = run_tool("hinfo", ["-t", path, "-v"]).stdout.splitlines()
    assert lines[:5] == [
        "Loaded cluster tags: ",
        "Cluster is empty.",
        "Loaded 1 node, 0 instances, 1 node group",
        "No split instances found",
        "Node group information:",
    ]
    assert "Cluster is N+1 happy" in lines


def test_without_a_node_that_is_online_there_are_no_terms(data) -> None:
    path = data(nodes=("a|4096|0|4096|102400|102400|8|Y|uuid-1|1",), instances=())
    lines = run_tool("hinfo", ["-t", path]).stdout.splitlines()
    assert lines[-3:] == ["Cluster coefficients:", "   Field Value Weight", "Cluster score: 0.00000000"]


def test_a_group_with_a_node_that_fails_is_unhappy(data) -> None:
    path = data(
        nodes=("a|4096|0|96|102400|81920|8|N|uuid-1|1", "b|4096|0|96|102400|81920|8|N|uuid-1|1"),
        instances=("web|4000|20480|1|running|Y|a|b|drbd||1", "x|4000|20480|1|running|Y|b||ext||1"),
    )
    printed = run_tool("hinfo", ["-t", path, "-v"])
    assert "Cluster is N+1 unhappy\n" in printed.stdout
    assert " False " in printed.stdout


def test_more_detail_shows_the_policy_and_the_common_domain(data) -> None:
    printed = run_tool("hinfo", ["-t", data(tags=("a", "b")), "-vv"])
    assert "Loaded cluster tags: a,b\n" in printed.stdout
    assert "Loaded cluster ipolicy: IPolicy {iPolicyMinMaxISpecs = [" in printed.stdout
    assert "iPolicyMemoryRatio" not in printed.stdout
    assert "Note: Stripping common suffix of '.example.com' from names\n" in printed.stdout


def test_the_policy_shows_a_memory_ratio_where_one_is_in_force(data) -> None:
    printed = run_tool("hinfo", ["-t", data(), "-vv", "--memory-ratio=2"])
    assert "iPolicyMemoryRatio = 1.0}" in printed.stdout
