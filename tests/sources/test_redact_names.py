import pytest

from ullage.sources import redact_names
from ullage.sources.redact_names import Pseudonyms, keeps_values


def test_a_name_has_one_pseudonym_that_says_its_kind():
    names = Pseudonyms("s")
    assert names.of("node", "db-1") == names.of("node", "db-1") == Pseudonyms("s").of("node", "db-1")
    assert names.of("node", "db-1").startswith("node-")
    assert names.of("node", "db-1").removeprefix("node-") != names.of("workload", "db-1").removeprefix(
        "workload-"
    )


def test_another_seed_gives_another_pseudonym():
    assert Pseudonyms("s").of("node", "db-1") != Pseudonyms("t").of("node", "db-1")
    assert Pseudonyms("s" * 100).of("node", "a") != Pseudonyms("s" * 101).of("node", "a")


def test_no_name_stays_no_name():
    assert Pseudonyms("s").of("node", "") == ""


def test_two_names_never_share_a_pseudonym(monkeypatch):
    monkeypatch.setattr(redact_names, "_DIGITS", 1)
    names = Pseudonyms("s")
    assert len({names.of("node", str(number)) for number in range(200)}) == 200


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("kubernetes.io/hostname", True),
        ("topology.kubernetes.io/zone", True),
        ("node.k8s.io/x", True),
        ("nvidia.com/gpu.product", True),
        ("app", False),
        ("acme.example/team", False),
        ("notkubernetes.io/x", False),
        ("kubernetes.io", False),
    ],
)
def test_keys_of_well_known_domains_are_kept(key, kept):
    assert (Pseudonyms("s").label_key(key) == key) is kept


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("topology.kubernetes.io/zone", True),
        ("kubernetes.io/arch", True),
        ("node.kubernetes.io/instance-type", True),
        ("nvidia.com/gpu.product", True),
        ("app.kubernetes.io/name", False),
        ("node.kubernetes.io/pool", False),
        ("zone", False),
    ],
)
def test_values_are_kept_where_they_describe_the_machine(key, kept):
    assert keeps_values(key) is kept
    assert (Pseudonyms("s").label_value(key, "some-value") == "some-value") is kept


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("kubernetes.io/hostname", "node"),
        ("kubernetes.io/metadata.name", "namespace"),
        ("statefulset.kubernetes.io/pod-name", "workload"),
    ],
)
def test_a_label_that_names_a_thing_has_its_pseudonym(key, kind):
    names = Pseudonyms("s")
    assert names.label_value(key, "db-1") == names.of(kind, "db-1")
