"""How even a cluster is: a table of terms, each a sum or a standard deviation over hosts; less is better.

A new term is one line of TERMS. The hard thing is that moves are chosen by comparing scores, down to the last
bit: sums run over hosts in their order, deviations are taken in two passes.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import Final, Literal, NamedTuple

from ullage.engine.balance.facts import Host
from ullage.engine.balance.held import Held
from ullage.engine.balance.state import HostState

Kind = Literal["deviation", "sum", "sum offline", "pairs"]
RESERVED_WEIGHT: Final = 0.25


class Term(NamedTuple):
    """One term: the deviation or the sum of a value over hosts that are online, or the sum over the others.

    Pairs are counted over the whole cluster, each beyond the first.
    """

    name: str
    weight: float
    kind: Kind
    value: Callable[[Host, HostState], float]


class Statistic(NamedTuple):
    """What is known of a term: the number of hosts, the sum, and for deviations the variance."""

    hosts: float
    total: float
    variance: float


def _free_memory(host: Host, state: HostState) -> float:
    return state.now.memory_free / host.memory_whole if host.memory_whole else 0.0


def _free_memory_later(host: Host, state: HostState) -> float:
    return state.later.memory_free / host.memory_whole if host.memory_whole else 0.0


def _free_disk(host: Host, held: Held) -> float:
    free, whole = (held.spindles_free, host.spindles) if host.exclusive else (held.disk_free, host.disk)
    return free / whole if whole else 1.0


def _cpu(host: Host, held: Held) -> float:
    return held.cpu / host.cpu / host.cpu_speed if host.cpu else 0.0


def _spindles(host: Host, held: Held) -> float:
    return held.spindles / host.spindles_high if host.spindles_high else 0.0


def _all_machines(_: Host, state: HostState) -> float:
    return float(len(state.primaries) + len(state.standbys))


def _failing(host: Host, state: HostState) -> float:
    return _all_machines(host, state) if state.fails else 0.0


def _conflicts(_: Host, state: HostState) -> float:
    return float(sum(state.tags.values()) - len(state.tags))


def _reserved(host: Host, state: HostState) -> float:
    return state.reserved / host.memory if host.memory else 0.0


def _memory_in_use(host: Host, state: HostState) -> float:
    available = host.memory_available
    return (host.memory_beyond + state.load.memory) / available if available > 0 else 0.0


TERMS: Final = (
    Term("free_mem_cv", 0.5, "deviation", _free_memory),
    Term("free_disk_cv", 0.5, "deviation", lambda host, state: _free_disk(host, state.now)),
    Term("n1_cnt", 1.0, "sum", _failing),
    Term("reserved_mem_cv", 1.0, "deviation", _reserved),
    Term("offline_all_cnt", 4.0, "sum offline", _all_machines),
    Term("offline_pri_cnt", 16.0, "sum offline", lambda _, state: float(len(state.primaries))),
    Term("vcpu_ratio_cv", 0.5, "deviation", lambda host, state: _cpu(host, state.now)),
    Term("cpu_load_cv", 1.0, "deviation", lambda _, state: state.load.cpu),
    Term("mem_load_cv", 1.0, "deviation", lambda _, state: state.load.memory),
    Term("disk_load_cv", 1.0, "deviation", lambda _, state: state.load.disk),
    Term("net_load_cv", 1.0, "deviation", lambda _, state: state.load.net),
    Term("pri_tags_score", 2.0, "sum", _conflicts),
    Term("spindles_cv", 0.5, "deviation", lambda host, state: _spindles(host, state.now)),
    Term("free_mem_cv_forth", 0.5, "deviation", _free_memory_later),
    Term("free_disk_cv_forth", 0.5, "deviation", lambda host, state: _free_disk(host, state.later)),
    Term("vcpu_ratio_cv_forth", 0.5, "deviation", lambda host, state: _cpu(host, state.later)),
    Term("spindles_cv_forth", 0.5, "deviation", lambda host, state: _spindles(host, state.later)),
    Term("location_score", 1.0, "sum", lambda _, state: float(state.location_score)),
    Term("location_exclusion_score", 1.0, "pairs", lambda _, state: float(len(state.location_tags))),
    Term("reserved_mem_rtotal", RESERVED_WEIGHT, "sum", _reserved),
)
DYNAMIC: Final = Term("dynamic_mem_cv", 0.0, "deviation", _memory_in_use)
"""Memory that is really in use: one more term where that is known (with_load), which htools does not have."""
LOAD_WEIGHT: Final = 5
MEMORY_LOAD: Final = "mem_load_cv"
WEIGHTS: Final = {term.name: term.weight for term in TERMS}


def statistics(
    hosts: Sequence[Host], states: Sequence[HostState], terms: Sequence[Term] = TERMS
) -> list[Statistic]:
    """Return what is known of each term: all of it nothing where no host is online."""
    online = [(host, state) for host, state in zip(hosts, states, strict=True) if not host.offline]
    if not online:
        return [Statistic(0.0, 0.0, 0.0)] * len(terms)
    offline = [(host, state) for host, state in zip(hosts, states, strict=True) if host.offline]
    found = []
    for term in terms:
        if term.kind == "pairs":
            found.append(Statistic(float(len(online)), _pairs([state for _, state in online]), 0.0))
            continue
        chosen = offline if term.kind == "sum offline" else online
        values = [term.value(host, state) for host, state in chosen]
        total = 0.0
        for value in values:
            total += value
        count = float(len(values))
        found.append(Statistic(count, total, _variance(values, total) if term.kind == "deviation" else 0.0))
    return found


def _variance(values: Sequence[float], total: float) -> float:
    if not values:
        return 0.0
    mean = total / len(values)
    squares = 0.0
    for value in values:
        apart = value - mean
        squares += apart * apart
    return squares / len(values)


def _pairs(states: Sequence[HostState]) -> float:
    """Return how many machines share a failure domain with another one of their exclusion tag."""
    counts: dict[tuple[str, str], int] = {}
    for state in states:
        for pair, count in state.location_tags.items():
            counts[pair] = counts.get(pair, 0) + count
    return float(sum(counts.values()) - len(counts))


def values_of(
    hosts: Sequence[Host], states: Sequence[HostState], terms: Sequence[Term] = TERMS
) -> list[float]:
    """Return the value of each term."""
    return [
        value_of(term, found) for term, found in zip(terms, statistics(hosts, states, terms), strict=True)
    ]


def value_of(term: Term, found: Statistic) -> float:
    """Return the value of a term."""
    return sqrt(found.variance) if term.kind == "deviation" else found.total


def score_of(hosts: Sequence[Host], states: Sequence[HostState], terms: Sequence[Term] = TERMS) -> float:
    """Return the score of hosts: the weighted sum of all terms, in their order."""
    return weighted(values_of(hosts, states, terms), terms)


def weighted(values: Sequence[float], terms: Sequence[Term] = TERMS) -> float:
    """Return the weighted sum of the values of all terms."""
    total = 0.0
    for term, value in zip(terms, values, strict=True):
        total += term.weight * value
    return total


def with_weights(weights: Mapping[str, float]) -> tuple[Term, ...]:
    """Return the table with weights of the user's own for some terms."""
    return tuple(term._replace(weight=weights.get(term.name, term.weight)) for term in TERMS)


def with_load(terms: Sequence[Term], ratio: Fraction, weight: float | None = None) -> tuple[Term, ...]:
    """Return terms with that of memory in use, for machines whose memory loads are bytes.

    Its weight grows with the memory ratio, from 0 where nothing is over-committed, unless one is given; the
    term for loads in units of the user's own counts no more.
    """
    usual = float(LOAD_WEIGHT * max(Fraction(0), ratio - 1))
    others = (each._replace(weight=0.0) if each.name == MEMORY_LOAD else each for each in terms)
    return (*others, DYNAMIC._replace(weight=usual if weight is None else weight))


def optimum_of(hosts: Sequence[Host], states: Sequence[HostState]) -> float:
    """Return a score that no placement of the same machines on the same hosts can beat."""
    if len(hosts) < 2:
        return 0.0
    memory = sum(host.memory for host in hosts)
    without_largest = memory - max(host.memory for host in hosts)
    if without_largest <= 0:
        return 0.0
    mirrored = float(sum(sum(state.peers.values()) for state in states))
    return RESERVED_WEIGHT * (mirrored / without_largest - mirrored / memory)
