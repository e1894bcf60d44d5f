"""Fair shares of a thousand quotas in a four-level tree over eight resources, in columns and plainly.

The engine call takes lists of what quotas ask for and returns lists of shares, for quotas that were read
before; reading them, and maps of amounts at both ends, are measured beside it. No figure includes the start
of a process.
"""

import random

from measure import best_seconds, calibration_seconds
from ullage.engine.quota.entitlement import FairTable, fair_shares
from ullage.engine.quota.entitlement_plain import plain_shares
from ullage.engine.quota.quota_tree import QuotaTree
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

SEED = 1
WIDTHS = (6, 30, 164, 800)
MIB, GIB = 1 << 20, 1 << 30
STEPS = {
    "cpu": 250,
    "memory": 256 * MIB,
    "pods": 5,
    "ephemeral-storage": GIB,
    "storage-space": 10 * GIB,
    "nvidia.com/gpu": 1,
    "nos.nebuly.com/gpu-memory": 10,
    "ullage.dev/gpu-milli": 50,
}
ROUNDS = 100


def tree_of_quotas(draw: random.Random) -> list[Quota]:
    """Return the quotas; a parent guarantees what its children do and a little more, leaves have limits."""
    parents: list[tuple[str, int]] = []
    levels: list[list[tuple[str, int]]] = []
    for depth, width in enumerate(WIDTHS):
        level = [(f"q{depth}-{index:03}", draw.randrange(len(parents) or 1)) for index in range(width)]
        levels.append(level)
        parents = level
    leaves = [{name: step * draw.randrange(40) for name, step in STEPS.items()} for _ in range(WIDTHS[-1])]
    quotas: list[Quota] = []
    amounts = leaves
    for depth in range(len(WIDTHS) - 1, -1, -1):
        above = [{name: 2 * step for name, step in STEPS.items()} for _ in range(WIDTHS[max(0, depth - 1)])]
        for index, (name, parent) in enumerate(levels[depth]):
            quotas.append(
                Quota(
                    name,
                    min=Resources(amounts[index]),
                    max=Resources({each: 3 * amount for each, amount in amounts[index].items()})
                    if index % 3 == 0
                    else Resources(),
                    parent=levels[depth - 1][parent][0] if depth else "",
                    lending_limit=Resources({"cpu": 1000, "memory": GIB}) if index % 7 == 0 else None,
                    borrowing_limit=Resources({"memory": 64 * GIB}) if index % 5 == 0 else None,
                )
            )
            for each, amount in amounts[index].items():
                above[parent][each] += amount
        amounts = above
    return quotas


def run() -> dict[str, object]:
    """Measure the call, reading them, and all of it from maps to maps; both forms give the same shares."""
    draw = random.Random(SEED)  # noqa: S311 - a fixed draw, not a secret
    quotas = tree_of_quotas(draw)
    asked = {
        quota.name: Resources({name: step * draw.randrange(60) for name, step in STEPS.items()})
        for quota in quotas
    }
    roots = [quota.min for quota in quotas if not quota.parent]
    capacity = Resources({name: sum(root[name] for root in roots) * 11 // 10 for name in STEPS})
    table, tree = FairTable(quotas), QuotaTree(quotas)
    demands = [[asked[quota.name][name] for name in table.resources] for quota in quotas]
    room = [capacity[name] for name in table.resources]
    by_row = [[0] * len(room)] * len(tree)
    for quota, amounts in zip(quotas, demands, strict=True):
        by_row[tree.own_rows.get(quota.name, tree.rows[quota.name])] = amounts

    def plain() -> list[list[int]]:
        return [plain_shares(tree, place, column, room[place]) for place, column in enumerate(columns)]

    columns = list(zip(*by_row, strict=True))
    found = [list(shares) for shares in zip(*plain(), strict=True)]
    assert table.shares(demands, room).whole == [found[tree.rows[quota.name]] for quota in quotas]
    call = best_seconds(lambda: table.shares(demands, room), ROUNDS)
    return {
        "calibration loop, s": calibration_seconds(),
        "quotas": len(quotas),
        "shares, s": call,
        "shares in plain integers, s": best_seconds(plain),
        "reading the quotas, s": best_seconds(lambda: FairTable(quotas)),
        "all of it, maps of amounts at both ends, s": best_seconds(
            lambda: fair_shares(quotas, asked, capacity)
        ),
        "bars": {"shares, s": [call, "<=", 0.005]},
    }
