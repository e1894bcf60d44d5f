"""Writes the figures of benchmarks/results into docs/explanation/speed.md, and draws its plots.

    python benchmarks/run.py && python benchmarks/speed_page.py

The page's words are its own; only what stands between `<!-- NAME -->` and `<!-- end -->` is written here.
"""

import importlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
PAGE = DOCS / "explanation" / "speed.md"
IMAGES = DOCS / "images"
sys.path.insert(0, str(HERE))

from cases import million, mixed, scheduler, until_full  # noqa: E402 - found by the path above
from growth_plot import Series, draw  # noqa: E402 - found by the path above

CASES = (
    "until_full",
    "mixed",
    "redundancy",
    "million",
    "packing",
    "balancing",
    "space",
    "victims",
    "entitlement",
    "kueue_baseline",
    "disks",
    "ledger",
    "scheduler",
    "operator",
    "service",
    "service_ledger",
    "framework",
    "usage",
    "forecast",
    "advise",
    "right_sizing",
    "by_load",
)
ABOUT = {
    "balancing": "hbal, ",
    "victims": "victims of a gang of 800, ",
    "entitlement": "1000 quotas, ",
    "kueue_baseline": "Kueue's baseline, ",
    "disks": "volumes on disks, exactly: ",
    "ledger": "ledger, ",
    "scheduler": "scheduler on Kubernetes, ",
    "operator": "operator on Kubernetes, ",
    "service": "service, 5000 nodes: ",
    "service_ledger": "service, ",
    "framework": "plain ASGI, ",
    "usage": "usage, ",
    "forecast": "forecast, ",
    "advise": "advise ratio, ",
    "right_sizing": "advise requests, ",
    "by_load": "balance by load, ",
}
"""What the figures of a case are about, where their names do not say it."""
KINDS = ("few", "small")
UNITS = ("pods/s", "CPU ms for each pod", "s from the start to the first binding", "pods/s with that time")
UNEXPLAINED = "no reason is known; on an idle machine, run python benchmarks/run.py "
Figures = dict[str, Any]


def main() -> None:
    """Write tables and plots."""
    found = {case: json.loads((HERE / "results" / f"{case}.json").read_text("utf-8")) for case in CASES}
    why = {case: getattr(importlib.import_module(f"cases.{case}"), "WHY", {}) for case in CASES}
    blocks = {
        "bars": bars_table(found, why),
        "until full": until_full_table(found["until_full"]),
        "mixed": mixed_table(found["mixed"]),
        "growth": growth_table(found["million"]),
        "packing": packing_table(found["packing"]),
        "scheduler": scheduler_table(found["scheduler"]),
        "machine": machine(found),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, block in blocks.items():
        text, times = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda match, block=block: f"{match[1]}\n{block}\n\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
        assert times == 1, f"{PAGE} has {times} places for {name!r}"
    PAGE.write_text(text, encoding="utf-8")
    (IMAGES / "speed-growth.svg").write_text(growth_plot(found["million"]), encoding="utf-8")
    if "skipped" not in found["until_full"]:
        (IMAGES / "speed-until-full.svg").write_text(until_full_plot(found["until_full"]), encoding="utf-8")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is text and whose others are numbers."""
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(figure: float) -> str:
    """Return a figure with three digits that matter, thousands apart."""
    if figure >= 100:
        rounded = round(figure, 2 - len(str(int(figure))) + 1)
        return f"{int(rounded):,}".replace(",", " ")
    return f"{figure:.3g}"


def bars_table(found: dict[str, Figures], why: dict[str, dict[str, str]]) -> str:
    """Return every figure that is held against a bar, and why those that miss it do."""
    rows, reasons = [], []
    for case, figures in found.items():
        for name, (figure, relation, bar) in figures["bars"].items():
            held = figure <= bar if relation == "<=" else figure >= bar
            sign = "at most" if relation == "<=" else "at least"
            shown = f"{ABOUT.get(case, '')}{name}"
            rows.append([shown, number(figure), f"{sign} {number(bar)}", "met" if held else "**missed**"])
            if not held:
                reasons.append(f"- {shown}, missed: {why[case].get(name, UNEXPLAINED + case)}")
    listed = table(["", "reached", "bar", ""], rows)
    return "\n\n".join([listed, "\n".join(reasons)]) if reasons else listed


def until_full_table(figures: Figures) -> str:
    """Return counts and rates of identical pods, ours and cluster-capacity's."""
    if "skipped" in figures:
        return f"Not measured: {figures['skipped']}."
    rows = []
    for variant in until_full.VARIANTS:
        for size in until_full.SIZES:
            name = f"{variant}, {size} nodes"
            mine = figures[f"{name}, pods per CPU s"]
            theirs = figures[f"{name}, pods per CPU s of cluster-capacity"]
            counts = [figures[f"{name}, pods"], figures[f"{name}, pods of cluster-capacity"]]
            shown = [f"{count:,}".replace(",", " ") for count in counts]
            if size > until_full.FULL_SIZE_MAX:
                shown[1] = f"stopped at {shown[1]}"
            rows.append([name, *shown, number(mine), number(theirs), number(mine / theirs)])
    titles = ["", "pods", "pods of cluster-capacity", "pods per CPU s", "cluster-capacity's", "times"]
    return table(titles, rows)


def mixed_table(figures: Figures) -> str:
    """Return the rates of mixed shapes."""
    rows = [[name, number(figure)] for name, figure in figures.items() if "pods per" in name]
    return table([f"{mixed.SHAPES} shapes, {mixed.NODES} nodes", ""], rows)


def growth_table(figures: Figures) -> str:
    """Return seconds and memory from 1000 to 100 000 nodes."""
    rows = []
    for nodes in million.SIZES:
        row = [f"{nodes:,}".replace(",", " "), f"{nodes * million.PODS_PER_NODE:,}".replace(",", " ")]
        row += [number(figures[million.figure_name(nodes, kind, "CPU s")]) for kind in KINDS]
        peak = max(figures[million.figure_name(nodes, kind, "peak bytes")] for kind in KINDS)
        rows.append([*row, number(peak / 1_000_000)])
    return table(["nodes", "pods", "200 batches, CPU s", "batches of 50, CPU s", "peak, MB"], rows)


def packing_table(figures: Figures) -> str:
    """Return the share of GPUs that is allocated at each level, ours and FGD's."""
    if "skipped" in figures:
        return f"Not measured: {figures['skipped']}."
    rows = [
        [f"{level} %", f"{ours:.2f} %", f"{theirs:.2f} %", f"{ours - theirs:+.2f}"]
        for level, (ours, theirs) in figures["levels"].items()
    ]
    return table(["arrived, of all GPUs", "allocated", "FGD's", "points ahead"], rows)


def scheduler_table(figures: Figures) -> str:
    """Return how fast pods are bound on a control plane: ours, kube-scheduler, and a loop that only binds."""
    rows = []
    for nodes, pods, _ in scheduler.SIZES:
        size = scheduler.size_name(nodes, pods)
        for unit in UNITS:
            names = [f"{size}, {name}, {unit}" for name in scheduler.WHO]
            if all(name in figures for name in names):
                rows.append([f"{size}, {unit}", *(number(figures[name]) for name in names)])
    return table(["", *scheduler.WHO], rows)


def growth_plot(figures: Figures) -> str:
    """Draw the growth table."""
    names = {"few": "200 batches", "small": "batches of 50"}
    lines = [
        Series(
            names[kind],
            [(nodes, figures[million.figure_name(nodes, kind, "CPU s")]) for nodes in million.SIZES],
        )
        for kind in KINDS
    ]
    return draw("Ten pods for each node, placed in batches", "CPU seconds", lines)


def until_full_plot(figures: Figures) -> str:
    """Draw the rates of identical pods."""
    endings = {"ullage": "", "cluster-capacity": " of cluster-capacity"}
    lines = [
        Series(
            f"{program}, {variant}",
            [
                (size, figures[f"{variant}, {size} nodes, pods per CPU s{ending}"])
                for size in until_full.SIZES
            ],
        )
        for program, ending in endings.items()
        for variant in until_full.VARIANTS
    ]
    return draw("Identical pods until nothing more fits", "pods per CPU second", lines)


def machine(found: dict[str, Figures]) -> str:
    """Return what the figures were measured on."""
    titles = ["case", "processor", "Python", "commit", "dirty tree", "calibration loop, s"]
    rows = []
    for case, figures in found.items():
        origin = figures["provenance"]
        dirty = {True: "**yes**", False: "no", None: "not noted"}[origin.get("dirty")]
        rows.append(
            [
                case,
                origin["processor"],
                origin["python"],
                origin["commit"],
                dirty,
                origin["calibration_seconds"],
            ]
        )
    return table(titles, rows)


if __name__ == "__main__":
    main()
