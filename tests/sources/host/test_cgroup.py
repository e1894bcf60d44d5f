import pytest

from ullage.model.errors import InputError
from ullage.sources.host.cgroup import folders_upwards, parse_cpu_quota, parse_memory_limit
from ullage.sources.host.mounts import Mount

GIB = 1024**3


@pytest.mark.parametrize(
    ("machine", "version", "limit_bytes", "quota_milli"),
    [
        ("container-v1", "v1", GIB // 2, 1500),
        ("container-v2", "v2", 2 * GIB, 2500),
        ("hybrid", "hybrid", 4 * GIB, None),
        ("kvm-host", "v2", None, None),
        ("bare-tools", "none", None, None),
    ],
)
def test_version_and_bounds_of_the_own_group(facts_of, machine, version, limit_bytes, quota_milli):
    cgroup = facts_of(machine).cgroup
    assert cgroup.version == version
    assert cgroup.memory_limit_bytes == limit_bytes
    assert cgroup.cpu_quota_milli == quota_milli


def test_the_tightest_bound_on_the_way_up_holds(facts_of):
    cgroup = facts_of(
        "hybrid",
        (
            "|9223372036854771712\n|\n@file /sys/fs/cgroup/memory/system",
            "|8\n|\n@file /sys/fs/cgroup/memory/system",
        ),
    ).cgroup
    assert cgroup.memory_limit_bytes == 8
    assert cgroup.path == "/system.slice/ullage.service"


def test_a_bound_that_cannot_be_read_is_noted_and_costs_only_itself(facts_of):
    facts = facts_of(
        "container-v1", ("|536870912\n", ""), ("memory.limit_in_bytes\n|\n", "memory.limit_in_bytes\n")
    )
    assert facts.cgroup.memory_limit_bytes is None
    assert facts.cgroup.cpu_quota_milli == 1500
    (problem,) = [problem for problem in facts.problems if problem.probe == "cgroup-memory"]
    assert problem.reason.endswith("permission denied")


@pytest.mark.parametrize(
    ("root", "path", "folders"),
    [
        ("/", "/", ["/cg"]),
        ("/", "/a/b", ["/cg/a/b", "/cg/a", "/cg"]),
        ("/docker/x", "/docker/x", ["/cg"]),
        ("/docker/x", "/docker/x/y", ["/cg/y", "/cg"]),
        ("/docker/x", "/docker/xy", ["/cg"]),
        ("/..", "/", ["/cg"]),
    ],
)
def test_the_root_of_the_mount_is_cut_off_the_path(root, path, folders):
    mount = Mount(root, "/cg", (), "cgroup2", "cgroup2", ())
    assert list(folders_upwards(mount, path)) == folders


@pytest.mark.parametrize("path", ["/a/../b", "/x" * 65])
def test_paths_that_climb_or_never_end_are_refused(path):
    with pytest.raises(InputError):
        folders_upwards(Mount("/", "/cg", (), "cgroup2", "cgroup2", ()), path)


@pytest.mark.parametrize(
    ("text", "limit"), [("max\n", None), ("0\n", 0), ("1048576\n", 1048576), ("9223372036854771712\n", None)]
)
def test_memory_limits(text, limit):
    assert parse_memory_limit(text, where="x") == limit


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("max 100000\n", None),
        ("-1 100000", None),
        ("150000 100000", 1500),
        ("1 3", 333),
        ("50000 100000", 500),
    ],
)
def test_cpu_quotas_are_thousandths_of_a_processor(text, milli):
    assert parse_cpu_quota(text, where="x") == milli


@pytest.mark.parametrize("text", ["", "max", "1 0", "-2 100000", "max max", "1 2 3"])
def test_other_quotas_are_refused(text):
    with pytest.raises(InputError):
        parse_cpu_quota(text, where="x")
