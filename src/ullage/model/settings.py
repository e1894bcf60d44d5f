"""The table of policy settings: what each means, which texts it takes, and the typed rules they give.

A new rule that differs between systems is one row of SETTINGS and one field of Rules. Settings with a
resource in their name (`memory-ratio`, `example.com/licences-reserve`) are two patterns: every resource
may have a ratio and a reserve.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.model import quantity
from ullage.model.errors import InputError
from ullage.model.policy import Effective, Policy, effective_settings
from ullage.model.resources import ResourceTypes, canonical_name

UNLIMITED: Final = "unlimited"
RATIO_MAX: Final = 1_000_000
RATIO_SUFFIX: Final = "-ratio"
RESERVE_SUFFIX: Final = "-reserve"
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_FRACTION: Final = re.compile(r"([0-9]{1,160})/([0-9]{1,160})")
"""Long enough for every number that a source states, however many digits it was written with."""


class ReserveRule(NamedTuple):
    """What is kept back of a resource: a share of capacity, at least `floor`, at most `cap`."""

    percent: Fraction
    floor: int
    cap: int | None


class Setting(NamedTuple):
    """One row of the table: its key, its default, how its text is read, and what it decides."""

    key: str
    default: str
    read: Callable[[str], object]
    meaning: str


class Rules(msgspec.Struct, frozen=True):
    """The settings of one place, typed. A resource missing from `ratios` has ratio 1; None is unlimited."""

    ratios: Mapping[str, Fraction | None] = {}
    reserves: Mapping[str, ReserveRule] = {}
    reserves_by_user: frozenset[str] = frozenset()
    committed: Literal["promised", "actual"] = "promised"
    cpu_factor: Literal["capacity", "score"] = "capacity"
    fill: Literal["exact", "below"] = "exact"
    consumption: Literal["asked", "by-kind"] = "asked"
    spare_nodes: int = 0
    swap_bytes: int | None = None
    storage_mode: Literal["exact", "compat", "zos"] = "exact"
    volume_group_spare_bytes: int = 0
    thin_pool_ratio: Fraction = Fraction(0)
    drive_over_provisioning_percent: int = 100
    drive_minimal_available_percent: int = 0
    few_drives: Literal["yes", "no"] = "yes"
    quota_mode: Literal["by-kind", "nos", "fair"] = "by-kind"
    quota_order: tuple[str, ...] = ("created", "requests", "name")
    quota_run_min_seconds: int = 0
    placement: Literal["spread", "pack", "balanced", "preferences"] = "spread"
    gpu_memory_gigabytes: int = 32
    admission_order: tuple[str, ...] = ()
    machine_memory_bytes: int = 0
    machine_root_small_bytes: int = 0
    machine_root_large_bytes: int = 0
    cache_unit_bytes: int = 5 << 30
    cache_grow_percent: int = 60
    cache_shrink_percent: int = 20
    cache_period_seconds: int = 300
    cache_fallback_bytes: int = 500 << 20

    def ratio(self, resource: str) -> Fraction | None:
        """Return how far a resource may be promised beyond what is allocatable; None is without bound."""
        return self.ratios.get(resource, _ONE)


_ONE: Final = Fraction(1)


def parse_ratio(text: str) -> Fraction | None:
    """Return a ratio exactly, below 1 where less may be promised than there is; None for `unlimited`."""
    if text == UNLIMITED:
        return None
    ratio = parse_fraction(text)
    if ratio > RATIO_MAX:
        raise InputError(f"ratio {text} is above {RATIO_MAX}", remedy="use unlimited for no bound")
    return ratio


def parse_fraction(text: str) -> Fraction:
    """Return a plain decimal (`1.5`) or a fraction (`4/3`) exactly."""
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    parts = _FRACTION.fullmatch(text)
    if parts is None or not int(parts.group(2)):
        raise InputError(
            f"{text!r} is no number", remedy="write a decimal such as 1.5 or a fraction such as 4/3"
        )
    return Fraction(int(parts.group(1)), int(parts.group(2)))


def print_fraction(value: Fraction) -> str:
    """Return a decimal where that is exact, else numerator/denominator."""
    if value < 0:
        return f"-{print_fraction(-value)}"
    for digits in range(10):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole, decimals = divmod(scaled.numerator, 10**digits)
            return f"{whole}.{decimals:0{digits}d}" if digits else str(whole)
    return f"{value.numerator}/{value.denominator}"


def parse_reserve(text: str, parse_amount: Callable[[str], int]) -> ReserveRule:
    """Return the rule written as `1Gi`, `10%` or `10%, at least 2Gi, at most 16Gi`."""
    percent, floor, cap = Fraction(0), 0, None
    first, *rest = [part.strip() for part in text.split(",")]
    if first.endswith("%"):
        percent = parse_fraction(first[:-1].strip())
        if percent > 100:
            raise InputError(f"reserve {text!r} is above 100%", remedy="keep at most 100%")
    else:
        floor = parse_amount(first)
        if rest:
            raise InputError(f"reserve {text!r}: bounds need a percentage", remedy="write 10%, at least 2Gi")
    for part in rest:
        if part.startswith("at least "):
            floor = parse_amount(part.removeprefix("at least ").strip())
        elif part.startswith("at most "):
            cap = parse_amount(part.removeprefix("at most ").strip())
        else:
            raise InputError(
                f"reserve {text!r}: {part!r} is unknown", remedy="write 10%, at least 2Gi, at most 8Gi"
            )
    if floor < 0 or (cap is not None and cap < floor):
        raise InputError(
            f"reserve {text!r} has no room between its bounds", remedy="use 0 <= at least <= at most"
        )
    return ReserveRule(percent, floor, cap)


def _choice(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise InputError(f"{text!r} is none of {', '.join(words)}", remedy=f"for example {words[0]}")
        return text

    return read


def _whole(lowest: int, highest: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not lowest <= int(text) <= highest:
            raise InputError(
                f"{text!r} is no whole number from {lowest} to {highest}", remedy=f"use {lowest}"
            )
        return int(text)

    return read


def _bytes(text: str) -> int:
    amount = quantity.parse_amount(text)
    if amount < 0:
        raise InputError(f"{text!r} is negative", remedy="use 0 or more")
    return amount


def _some_bytes(text: str) -> int:
    amount = _bytes(text)
    if not amount:
        raise InputError(f"{text!r} is nothing", remedy="use 1 or more")
    return amount


def _optional_bytes(text: str) -> int | None:
    return None if text == "unknown" else _bytes(text)


def _bounded_ratio(text: str) -> Fraction:
    ratio = parse_ratio(text)
    if ratio is None:
        raise InputError(f"{text!r} is no number", remedy=f"use at most {RATIO_MAX}")
    return ratio


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


ORDER_CRITERIA: Final = ("created", "-created", "requests", "-requests", "priority", "-priority", "name")
"""By what workloads of a quota can be ordered; a minus turns the order round."""


def _order(text: str) -> tuple[str, ...]:
    criteria = _words(text)
    for each in criteria:
        if each not in ORDER_CRITERIA:
            raise InputError(f"{each!r} is no criterion", remedy=f"use some of {', '.join(ORDER_CRITERIA)}")
    if len(set(criteria)) != len(criteria) or not criteria:
        raise InputError(f"{text!r} names no criterion, or one twice", remedy="name each once")
    return criteria


SETTINGS: Final = (
    Setting(
        "committed", "promised", _choice("promised", "actual"),
        "what counts as taken: promises alone, or actual use above the reserve where that is more",
    ),
    Setting(
        "cpu-factor", "capacity", _choice("capacity", "score"),
        "whether a node's CPU conversion factor scales its capacity or only its score",
    ),
    Setting("fill", "exact", _choice("exact", "below"), "whether a node may be filled to its limit exactly"),
    Setting(
        "consumption", "asked", _choice("asked", "by-kind"),
        "what a workload takes: what it asks for, or that and what its kind needs besides",
    ),
    Setting("spare-nodes", "0", _whole(0, 1000), "how many nodes of a group may fail at once"),
    Setting("swap", "unknown", _optional_bytes, "swap space of a node, where the source does not tell"),
    Setting(
        "storage-mode", "exact", _choice("exact", "compat", "zos"),
        "how drives are chosen: to the optimum, in csi-baremetal's order, or by ZOS' rule",
    ),
    Setting("volume-group-spare", "0", _bytes, "what new volumes leave free in every volume group"),
    Setting(
        "thin-pool-ratio", "0", _bounded_ratio,
        "how many times its size the volumes of a thin pool may have in all; 0 lets it take no new ones",
    ),
    Setting(
        "drive-over-provisioning", "100", _whole(0, 10_000),
        "percentage of a drive that volumes which share it may have in all",
    ),
    Setting(
        "drive-minimal-available", "0", _whole(0, 100),
        "percentage of a shared drive that has to be available, or it takes no new volumes",
    ),
    Setting(
        "few-drives", "yes", _choice("yes", "no"),
        "whether volumes open as few drives as can be; in mode compat, one reservation after the other",
    ),
    Setting(
        "quota-mode", "by-kind", _choice("by-kind", "nos", "fair"),
        "how quotas share what is unused: by the kind of quota, by nos' formula, or by demand",
    ),
    Setting(
        "quota-order", "created requests name", _order,
        "in which order workloads fill the min of their quota: those that come last are over quota",
    ),
    Setting(
        "quota-run-min", "0", _whole(0, 1 << 31),
        "seconds that a workload runs before it may be evicted by the rules of quotas",
    ),
    Setting(
        "placement", "spread", _choice("spread", "pack", "balanced", "preferences"),
        "which node is chosen: the emptiest, the fullest, the most even, or as kube-scheduler weighs them",
    ),
    Setting(
        "gpu-memory", "32", _whole(1, 100_000),
        "gigabytes that one whole GPU counts for; where none is set, what its node says comes first",
    ),
    Setting("admission-order", "", _words, "kinds of workload in the order in which they are admitted"),
    Setting("machine-memory", "0", _bytes, "the least memory a virtual machine may ask for"),
    Setting("machine-root-small", "0", _bytes, "the least root disk of a small virtual machine"),
    Setting("machine-root-large", "0", _bytes, "the least root disk of every other virtual machine"),
    Setting("cache-unit", "5Gi", _some_bytes, "step in which the system cache grows and shrinks"),
    Setting("cache-grow", "60", _whole(1, 100), "percentage of use from which the cache grows"),
    Setting("cache-shrink", "20", _whole(0, 99), "percentage of use below which the cache shrinks"),
    Setting("cache-period", "300", _whole(1, 86_400), "seconds between two looks at the cache"),
    Setting("cache-fallback", "500Mi", _bytes, "size of the cache in memory on a node without an SSD"),
)  # fmt: skip
CLUSTER_ONLY: Final = frozenset(
    (
        "consumption", "admission-order", "machine-memory", "machine-root-small", "machine-root-large",
        "quota-mode", "quota-order", "quota-run-min", "placement", "few-drives",
    )
)  # fmt: skip
"""Settings about workloads that have no node yet: on a group or a node they have no effect."""
GROUP_AT_LEAST: Final = frozenset(("spare-nodes",))
"""Settings about nodes taken together: on a single node they have no effect."""
_BY_KEY: Final = {setting.key: setting for setting in SETTINGS}
_FIELDS: Final = {
    "swap": "swap_bytes",
    "volume-group-spare": "volume_group_spare_bytes",
    "drive-over-provisioning": "drive_over_provisioning_percent",
    "drive-minimal-available": "drive_minimal_available_percent",
    "gpu-memory": "gpu_memory_gigabytes",
    "quota-run-min": "quota_run_min_seconds",
    "machine-memory": "machine_memory_bytes",
    "machine-root-small": "machine_root_small_bytes",
    "machine-root-large": "machine_root_large_bytes",
    "cache-unit": "cache_unit_bytes",
    "cache-grow": "cache_grow_percent",
    "cache-shrink": "cache_shrink_percent",
    "cache-period": "cache_period_seconds",
    "cache-fallback": "cache_fallback_bytes",
}
RATIO_MEANING: Final = "how far {} may be promised beyond what is allocatable"
RESERVE_MEANING: Final = "how much {} is kept back for the system"


def meaning_of(key: str) -> str:
    """Return in one line what a setting decides."""
    if key in _BY_KEY:
        return _BY_KEY[key].meaning
    if key.endswith(RATIO_SUFFIX):
        return RATIO_MEANING.format(key.removesuffix(RATIO_SUFFIX))
    return RESERVE_MEANING.format(key.removesuffix(RESERVE_SUFFIX))


def check_setting(key: str, text: str, types: ResourceTypes) -> None:
    """Raise an InputError where the key is unknown or the text is not one it takes."""
    _typed({key: Effective(text, "", built_in=False)}, types)


def default_settings() -> dict[str, str]:
    """Return the text of every setting that no policy needs to name."""
    return {setting.key: setting.default for setting in SETTINGS}


def rules_for(policy: Policy, types: ResourceTypes, group: str = "", node: str = "") -> Rules:
    """Return the typed rules that apply to a node, a group, or the cluster."""
    return _typed(effective_settings(policy, group, node), types)


def _typed(settings: Mapping[str, Effective], types: ResourceTypes) -> Rules:
    """Read settings that come nearest level first: of two spellings of a resource the nearer counts."""
    fields: dict[str, object] = {}
    ratios: dict[str, Fraction | None] = {}
    reserves: dict[str, ReserveRule] = {}
    by_user: set[str] = set()
    for key, setting in settings.items():
        try:
            if key in _BY_KEY:
                fields[_FIELDS.get(key, key.replace("-", "_"))] = _BY_KEY[key].read(setting.text)
            elif key.endswith(RATIO_SUFFIX):
                ratios.setdefault(canonical_name(key.removesuffix(RATIO_SUFFIX)), parse_ratio(setting.text))
            elif key.endswith(RESERVE_SUFFIX):
                resource = canonical_name(key.removesuffix(RESERVE_SUFFIX))
                rule = parse_reserve(setting.text, types[resource].parse)
                if reserves.setdefault(resource, rule) is rule and not setting.built_in:
                    by_user.add(resource)
            else:
                raise _unknown_setting(key)
        except InputError as error:
            raise error.at(f"{setting.origin}: {key}" if setting.origin else key) from None
    rules = Rules(ratios=ratios, reserves=reserves, reserves_by_user=frozenset(by_user))
    return msgspec.structs.replace(rules, **fields)


def _unknown_setting(key: str) -> InputError:
    keys = ", ".join(sorted(_BY_KEY))
    return InputError(
        f"setting {key!r} is unknown", remedy=f"known are RESOURCE-ratio, RESOURCE-reserve, {keys}"
    )
