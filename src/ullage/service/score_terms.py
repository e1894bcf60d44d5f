"""The terms of the score in words: what each is called in options and tables, and what it measures."""

from collections.abc import Sequence
from math import isfinite
from typing import Final, NamedTuple

from ullage.model.errors import InputError

WEIGHT_MAX: Final = 1_000_000


class TermWords(NamedTuple):
    """A term: what it is called here and by htools, and what it measures."""

    name: str
    htools_name: str
    meaning: str


WORDS: Final = (
    TermWords("free-memory", "free_mem_cv", "how unevenly free memory is shared, as part of each node"),
    TermWords("free-disk", "free_disk_cv", "how unevenly free disk is shared"),
    TermWords("not-redundant", "n1_cnt", "workloads of nodes too full to take over from every other"),
    TermWords("standby-memory", "reserved_mem_cv", "how unevenly memory is kept for nodes that may fail"),
    TermWords("offline", "offline_all_cnt", "workloads and standbys on nodes that are offline"),
    TermWords("offline-primary", "offline_pri_cnt", "workloads whose own node is offline"),
    TermWords("cpu", "vcpu_ratio_cv", "how unevenly promised processors are shared"),
    TermWords("cpu-load", "cpu_load_cv", "how unevenly processors are used"),
    TermWords("memory-load", "mem_load_cv", "how unevenly memory is used"),
    TermWords("disk-load", "disk_load_cv", "how unevenly disks are used"),
    TermWords("network-load", "net_load_cv", "how unevenly the network is used"),
    TermWords("tags", "pri_tags_score", "workloads of one exclusion tag that share a node"),
    TermWords("spindles", "spindles_cv", "how unevenly disks are shared by those who use them"),
    TermWords("free-memory-later", "free_mem_cv_forth", "free-memory, with workloads still to come"),
    TermWords("free-disk-later", "free_disk_cv_forth", "free-disk, with workloads still to come"),
    TermWords("cpu-later", "vcpu_ratio_cv_forth", "cpu, with workloads still to come"),
    TermWords("spindles-later", "spindles_cv_forth", "spindles, with workloads still to come"),
    TermWords("location", "location_score", "workloads whose two nodes share a domain, or not where wished"),
    TermWords("location-tags", "location_exclusion_score", "workloads of one tag that share a domain"),
    TermWords("standby-total", "reserved_mem_rtotal", "memory that is kept for nodes that may fail"),
)
IN_USE: Final = TermWords(
    "memory-in-use", "dynamic_mem_cv", "how unevenly memory is really in use, as part of what is available"
)
"""The term of balancing by load."""
LOADS: Final = frozenset(("cpu_load_cv", "mem_load_cv", "disk_load_cv", "net_load_cv"))
"""Terms of what workloads really use: 0 everywhere where nothing tells it."""
BY_HTOOLS_NAME: Final = {each.htools_name: each for each in (*WORDS, IN_USE)}
_HTOOLS_NAME_OF: Final = {name: each.htools_name for each in WORDS for name in (each.name, each.htools_name)}


def weights_of(given: Sequence[str], *, by_load: bool = False) -> dict[str, float]:
    """Return the weights that are given as TERM=NUMBER, by htools' names; the last for a term counts.

    Terms of load are refused: nothing tells what workloads use. Memory in use is known by load alone.
    """
    found = {}
    for text in given:
        name, equals, number = text.partition("=")
        if not equals:
            raise InputError(f"{text!r} is no weight", where="--weight", remedy="use TERM=NUMBER, as cpu=2")
        if name in {IN_USE.name, IN_USE.htools_name}:
            if not by_load:
                raise InputError(f"nothing tells {name}", where="--weight", remedy="use it with --by-load")
            found[IN_USE.htools_name] = _weight(name, number)
            continue
        if name not in _HTOOLS_NAME_OF:
            listed = ", ".join(each.name for each in WORDS if each.htools_name not in LOADS)
            raise InputError(f"no term {name!r}", where="--weight", remedy=f"use one of {listed}")
        if _HTOOLS_NAME_OF[name] in LOADS:
            remedy = "weigh what is promised: cpu, free-memory, free-disk"
            raise InputError(f"nothing tells {name}: it is 0 everywhere", where="--weight", remedy=remedy)
        found[_HTOOLS_NAME_OF[name]] = _weight(name, number)
    return found


def _weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not isfinite(weight) or not 0 <= weight <= WEIGHT_MAX:
        remedy = f"use a number from 0 to {WEIGHT_MAX}, as {name}=2.5"
        raise InputError(f"weight {text!r} of {name} is no such number", where="--weight", remedy=remedy)
    return weight
