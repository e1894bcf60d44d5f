from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES, effective_settings
from ullage.model.resources import ResourceTypes
from ullage.model.settings import rules_for
from ullage.sources.policies import CHAIN_MAX, builtin_names, describe_profile, load_policy, read_policy_file

TYPES = ResourceTypes()
GIB = 1 << 30
HEAD = "apiVersion: ullage.dev/v1\nkind: Policy\n"


def rules(name):
    return rules_for(load_policy(name, TYPES), TYPES)


@pytest.fixture
def write(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + text, encoding="utf-8")
        return str(path)

    return written


def refusal(path, **options):
    with pytest.raises(InputError) as raised:
        load_policy(path, TYPES, **options)
    return str(raised.value)


MEMORY_RESERVES = {
    "kubernetes": (0, 0),
    "nos": (0, 0),
    "csi-baremetal": (0, 0),
    "ganeti": (0, GIB),
    "htools": (0, 4 * GIB),
    "zos": (10, 2 * GIB),
}
CPU_RATIOS = {"kubernetes": 1, "nos": 1, "csi-baremetal": 1, "ganeti": 4, "htools": 4, "zos": None}


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_each_profile_keeps_back_what_its_system_does(name):
    reserve = rules(name).reserves["memory"]
    assert (reserve.percent, reserve.floor, reserve.cap) == (*MEMORY_RESERVES[name], None)
    assert rules(name).reserves_by_user == frozenset()


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_each_profile_shares_cpus_as_its_system_does(name):
    assert rules(name).ratio("cpu") == CPU_RATIOS[name]
    assert rules(name).ratio("memory") == 1


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_only_the_system_named_differs(name):
    found = rules(name)
    assert found.committed == ("actual" if name == "zos" else "promised")
    assert found.fill == ("below" if name == "htools" else "exact")
    assert found.cpu_factor == ("score" if name in {"ganeti", "htools"} else "capacity")
    assert found.storage_mode == {"zos": "zos", "csi-baremetal": "compat"}.get(name, "exact")
    assert found.quota_mode == ("nos" if name == "nos" else "by-kind")
    assert found.spare_nodes == 0


def test_zos_knows_its_machines_and_its_order():
    zos = rules("zos")
    assert zos.admission_order == ("zmount", "volume", "qsfs", "network", "ipv4", "ip", "zmachine", "zlogs")
    sizes = (zos.machine_memory_bytes, zos.machine_root_small_bytes, zos.machine_root_large_bytes)
    assert sizes == (250 << 20, 500 << 20, 2 * GIB)
    assert (zos.cache_unit_bytes, zos.cache_grow_percent, zos.cache_shrink_percent) == (5 * GIB, 60, 20)
    assert (zos.cache_period_seconds, zos.cache_fallback_bytes) == (300, 500 << 20)


def test_nos_counts_a_whole_gpu_as_32_gigabytes():
    assert rules("nos").gpu_memory_gigabytes == 32


def test_every_profile_is_a_file_that_says_what_it_is():
    assert builtin_names() == PROFILE_NAMES
    for name in PROFILE_NAMES:
        policy = load_policy(name, TYPES)
        assert policy.name == name
        assert all(layer.built_in for layer in policy.layers)
        assert policy.layers[-1].origin == f"profile {name}"
        assert describe_profile(name).endswith(".")


def test_an_unknown_profile_has_no_description():
    with pytest.raises(InputError, match="'borg' is no profile; use kubernetes, ganeti"):
        describe_profile("borg")


def test_a_file_lies_over_the_profile_it_inherits(write):
    path = write("ours.yaml", "inherits: zos\ncluster: {memory-ratio: 1.5}\nnodes: {n1: {swap: 8Gi}}\n")
    policy = load_policy(path, TYPES)
    assert policy.name == "ours"
    assert [(layer.origin, layer.built_in) for layer in policy.layers] == [
        ("profile zos", True),
        (path, False),
    ]
    assert rules_for(policy, TYPES).ratio("memory") == Fraction(3, 2)
    assert rules_for(policy, TYPES).committed == "actual"
    assert rules_for(policy, TYPES, node="n1").swap_bytes == 8 * GIB
    assert effective_settings(policy)["memory-ratio"].origin == path


def test_a_file_that_inherits_nothing_stands_alone(write):
    policy = load_policy(write("alone.yaml", "name: mine\ncluster: {spare-nodes: 2}\n"), TYPES)
    assert policy.name == "mine"
    assert len(policy.layers) == 1
    assert rules_for(policy, TYPES).spare_nodes == 2


def test_a_file_is_found_relative_to_the_one_that_inherits_it(write):
    write("base/site.yaml", "inherits: ganeti\ncluster: {memory-reserve: 2Gi, cpu-ratio: 2}\n")
    path = write("team.yaml", "inherits: base/site.yaml\ngroups: {gpu: {cpu-ratio: 1}}\n")
    policy = load_policy(path, TYPES)
    assert [layer.built_in for layer in policy.layers] == [True, False, False]
    assert rules_for(policy, TYPES).ratio("cpu") == 2
    assert rules_for(policy, TYPES, group="gpu").ratio("cpu") == 1
    assert rules_for(policy, TYPES).reserves_by_user == {"memory"}


def test_json_is_read_too(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(
        '{"apiVersion": "ullage.dev/v1", "kind": "Policy", "cluster": {"memory-ratio": 1.25}}',
        encoding="utf-8",
    )
    assert rules_for(load_policy(str(path), TYPES), TYPES).ratio("memory") == Fraction(5, 4)


def test_a_circle_of_inheritance_is_named(write, tmp_path):
    a, b = write("a.yaml", "inherits: b.yaml"), write("b.yaml", "inherits: a.yaml")
    assert f"b.yaml:3:11: inherits: policies inherit in a circle: {a} -> {b} -> {a}; let one" in refusal(a)
    itself = write("self.yaml", "inherits: ./self.yaml")
    assert f"circle: {itself} -> {itself}" in refusal(itself)
    (tmp_path / "link.yaml").symlink_to("c.yaml")
    assert "in a circle" in refusal(write("c.yaml", "inherits: link.yaml"))


def test_a_chain_of_inheritance_has_an_end(write):
    for number in range(CHAIN_MAX + 1):
        write(f"{number}.yaml", f"inherits: {number + 1}.yaml")
    long = write("start.yaml", "inherits: 1.yaml")
    write(f"{CHAIN_MAX}.yaml", "")
    assert f"more than {CHAIN_MAX} policies inherit one another" in refusal(long)
    assert len(load_policy(write("start.yaml", "inherits: 2.yaml"), TYPES).layers) == CHAIN_MAX


BAD = {
    "an unknown setting": (
        "cluster: {memory-rato: 2}",
        "p.yaml:3:24: cluster.memory-rato: setting 'memory-rato'",
    ),
    "a bad value": (
        "nodes: {n1: {memory-ratio: 2000000}}",
        "nodes.n1.memory-ratio: ratio 2000000 is above 1000000",
    ),
    "a bad value of a group": ("groups: {g: {fill: full}}", "groups.g.fill: 'full' is none of exact, below"),
    "a switch": ("cluster: {fill: on}", "cluster.fill: expected a whole number, a number or text"),
    "an unknown base": ("inherits: borg", "policy 'borg' is neither a profile nor a file; use kubernetes"),
    "a duplicate key": ("cluster: {}\ncluster: {}", '"cluster"'),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_with_its_place(write, text, said):
    assert said in refusal(write("p.yaml", text))


@pytest.mark.parametrize("field", ["settings: {storage-mode: zos}", "profile: zos"])
def test_a_field_that_policies_do_not_have_is_refused(write, field):
    name = field.partition(":")[0]
    path = write("ours.yaml", f"{field}\n")
    assert refusal(path).startswith(f"{path}:3:{len(name) + 3}: {name}: a policy has no field '{name}'; ")


def test_an_unknown_setting_is_kept_where_it_is_to_be_reported(write):
    policy = load_policy(write("p.yaml", "cluster: {memory-rato: 2}"), TYPES, checked=False)
    assert policy.layers[0].cluster == {"memory-rato": "2"}


def test_a_name_that_is_nothing_is_refused():
    assert refusal("borg").startswith("policy 'borg' is neither a profile nor a file; use kubernetes, ganeti")


def test_a_file_holds_one_policy(write, tmp_path):
    path = write("two.yaml", "name: a\n---\n" + HEAD)
    with pytest.raises(InputError, match="2 documents where one policy is expected"):
        read_policy_file(path)
    with pytest.raises(InputError, match="is a folder"):
        read_policy_file(str(tmp_path))


def test_an_unknown_base_is_named_with_its_file_and_field(tmp_path):
    path = tmp_path / "ours.yaml"
    path.write_text("apiVersion: ullage.dev/v1\nkind: Policy\ninherits: nope\n")
    with pytest.raises(InputError, match=r"ours\.yaml:3:11: inherits: policy 'nope' is neither"):
        load_policy(str(path), ResourceTypes())
