"""What an allocator says about the places it looked at: how good the best is, and why others are none."""

from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import Best, Choice, Rank, Solution, Tried
from ullage.service.htools.decimals import fixed
from ullage.service.htools.group_dump import group_dump


def hosts_of(fleet: Fleet, best: Best) -> list[str]:
    """Return the hosts of a place by name, the primary first."""
    return [fleet.hosts[number].name for number in best.placed.place if number >= 0]


def described(fleet: Fleet, solution: Solution) -> str:
    """Return what the places of one group come to."""
    reasons = ", ".join(f"{kind}: {count}" for kind, count in solution.failures.items())
    if solution.best is None:
        return f"No valid allocation solutions, failure reasons: {reasons or 'unknown reasons'}"
    failed = sum(solution.failures.values())
    counts = f"successes {solution.successes}, failures {failed} ({reasons})"
    hosts = "/".join(hosts_of(fleet, solution.best))
    return f"score: {_rank(solution.best.rank)}, {counts} for node(s) {hosts}"


def _rank(rank: Rank) -> str:
    """Return a score, or what a place costs: machines of each size that no longer fit, and disk left."""
    if len(rank) == 1:
        return fixed(rank[0][0], 8)
    lost, left = rank
    return f"([{','.join(str(each) for each in lost)}],{left[0]})"


def described_group(fleet: Fleet, tried: Tried) -> str:
    """Return what a group has to offer."""
    group = fleet.cluster.groups[tried.group]
    if isinstance(tried.outcome, str):
        return f"Group {group.name}: error {tried.outcome}"
    return f"Group {group.name} ({group.allocation}): {described(fleet, tried.outcome)}"


def not_connected(group: str, instance: str) -> str:
    """Return that a group lacks a network of an instance."""
    return f"{group} is not connected to a network required by instance {instance}"


def described_choice(fleet: Fleet, choice: Choice, instance: str, *, is_dedicated: bool = False) -> str:
    """Return what all groups have to offer."""
    groups = fleet.cluster.groups
    if is_dedicated:
        lacking = [
            Tried(each, f"The group {not_connected(groups[each].name, instance)}")
            for each in choice.unconnected
        ]
        tried = sorted((*choice.tried, *lacking), key=lambda each: each.group)
        return ", ".join(described_group(fleet, each) for each in tried)
    if not choice.tried and not choice.unconnected:
        listed = ",".join(str(each) for each in choice.allowed or ())
        allowed = "Nothing" if choice.allowed is None else f"Just [{listed}]"
        present = sorted({host.group for host in fleet.hosts})
        dumped = ",".join(group_dump(fleet.cluster, each) for each in present)
        return f"no groups for evacuation: allowed groups was {allowed}, all groups: [{dumped}]"
    said = [f"group {not_connected(groups[each].name, instance)}" for each in choice.unconnected]
    return ", ".join((*said, *(described_group(fleet, each) for each in choice.tried)))
