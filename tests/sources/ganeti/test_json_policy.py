from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, Size
from ullage.sources.ganeti import json_policy
from ullage.sources.ganeti.json_fields import Fields
from ullage.sources.ganeti.json_policy import read_policy

SIZE = {
    "memory-size": 1,
    "cpu-count": 2,
    "disk-size": 3,
    "disk-count": 4,
    "nic-count": 5,
    "spindle-use": 6,
}
POLICY = {
    "std": SIZE,
    "minmax": [{"min": SIZE, "max": SIZE}],
    "disk-templates": ["drbd", "ext"],
    "vcpu-ratio": 4.5,
    "spindle-ratio": 32,
}


def read(**changed):
    return read_policy(Fields(POLICY | {key.replace("_", "-"): value for key, value in changed.items()}, "p"))


def test_every_key_of_a_policy_is_read():
    size = Size(MIB, 2, 3 * MIB, 4, 5, 6)
    policy = read()
    assert (policy.standard, policy.bounds) == (size, ((size, size),))
    assert policy.templates == ("drbd", "ext")
    assert (policy.cpu_ratio, policy.spindle_ratio) == (Fraction(9, 2), Fraction(32))
    assert policy.memory_ratio is None


def test_a_ratio_is_the_decimal_that_is_written():
    assert read(memory_ratio=1.1).memory_ratio == Fraction(11, 10)
    assert read(memory_ratio=0).memory_ratio == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"memory_ratio": -1}, "p: key 'memory-ratio': -1.0 is below zero"),
        ({"vcpu_ratio": "4"}, "p: key 'vcpu-ratio': Unable to read Double"),
        ({"disk_templates": ["lvm"]}, 'Invalid string value for type DiskTemplate: "lvm"'),
        ({"std": SIZE | {"nic-count": None}}, "key 'nic-count': Unable to read Int"),
        ({"minmax": [{"min": SIZE}]}, "p: key 'max' not found"),
    ],
)
def test_a_bad_key_is_named(changed, said):
    with pytest.raises(InputError) as raised:
        read(**changed)
    assert said in str(raised.value)


def test_the_number_of_bounds_is_bounded(monkeypatch):
    monkeypatch.setattr(json_policy, "BOUNDS_MAX", 0)
    with pytest.raises(InputError, match="key 'minmax' lists 1 pairs"):
        read()
