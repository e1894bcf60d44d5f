"""The instance policy of a group or a cluster, as Ganeti's JSON has it."""

from fractions import Fraction
from typing import Final, cast, get_args

from ullage.model.ganeti import MIB, DiskTemplate, InstancePolicy, Size
from ullage.sources.ganeti.json_fields import Fields

BOUNDS_MAX: Final = 500
MEMORY_RATIO: Final = "memory-ratio"
TEMPLATES: Final = "disk-templates"


def read_policy(fields: Fields) -> InstancePolicy:
    """Return a policy; the memory ratio alone may be left out."""
    pairs = fields.objects("minmax")
    if len(pairs) > BOUNDS_MAX:
        raise fields.error(f"key 'minmax' lists {len(pairs)} pairs", remedy=f"list at most {BOUNDS_MAX}")
    known = get_args(DiskTemplate)
    templates = tuple(
        fields.one_of(TEMPLATES, each, "DiskTemplate", known) for each in fields.texts(TEMPLATES)
    )
    return InstancePolicy(
        _size(fields.within("std")),
        tuple((_size(each.within("min")), _size(each.within("max"))) for each in pairs),
        cast("tuple[DiskTemplate, ...]", templates),
        _ratio(fields, "vcpu-ratio"),
        _ratio(fields, "spindle-ratio"),
        read_memory_ratio(fields),
    )


def read_memory_ratio(fields: Fields) -> Fraction | None:
    """Return the memory ratio of a policy, None where it states none."""
    if not fields.has(MEMORY_RATIO):
        return None
    ratio = _ratio(fields, MEMORY_RATIO)
    if ratio < 0:
        raise fields.error(f"key '{MEMORY_RATIO}': {float(ratio)} is below zero", remedy="use 0 or more")
    return ratio


def _size(fields: Fields) -> Size:
    return Size(
        fields.whole("memory-size") * MIB,
        fields.whole("cpu-count"),
        fields.whole("disk-size") * MIB,
        fields.whole("disk-count"),
        fields.whole("nic-count"),
        fields.whole("spindle-use"),
    )


def _ratio(fields: Fields, key: str) -> Fraction:
    """Return a ratio as it is written: 1.1 is eleven tenths."""
    return Fraction(str(fields.number(key, signed=True)))
