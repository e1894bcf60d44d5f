"""The pages of `policy`: settings with their origins, the built-in profiles, and what a check found."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ullage.render import view
from ullage.service.words import findings_block, plural

if TYPE_CHECKING:
    from ullage.service.asked import Asked
    from ullage.service.policy import PolicyCheck, PolicyReport, ProfileList


def policy_page(report: "PolicyReport", asked: "Asked", written: Sequence[str] = ()) -> view.Page:
    """Return the settings that apply somewhere, those that users wrote first."""
    named = sum(each.origin != "default" for each in report.settings)
    verdict = view.Verdict(
        f"policy {report.policy} for {report.target}: {plural(named, 'setting')} set, "
        f"{len(report.settings) - named} left at their defaults"
    )
    if written:
        verdict = view.Verdict(f"wrote {', '.join(written)} for {report.target} to {asked.policy}", "yes")
    columns = (
        view.Column("setting", priority=9),
        view.Column("value", priority=9),
        view.Column("origin", priority=7),
        view.Column("decides", priority=5, key="meaning"),
    )
    rows = tuple(
        (
            view.Cell(each.key),
            view.Cell(each.value or '""', value=each.value),
            view.Cell(each.origin, tone="muted" if each.origin == "default" else "plain"),
            view.Cell(each.meaning, tone="muted"),
        )
        for each in report.settings
    )
    layers = " < ".join(report.layers) or "none"
    return view.Page(
        title=f"Policy {report.policy}",
        verdict=verdict,
        blocks=(view.Table("Settings", columns, rows),),
        not_simulated=report.not_simulated,
        about=f"layers, the nearest last: {layers}",
        next_command=_next(report, asked),
    )


def _next(report: "PolicyReport", asked: "Asked") -> str:
    if asked.policy and asked.policy != report.policy:
        return asked.command("policy check")
    return f"ullage policy set {report.target} memory-ratio=1.5 --policy my-policy.yaml"


def profiles_page(report: "ProfileList") -> view.Page:
    """Return the built-in policies."""
    columns = (view.Column("profile", priority=9), view.Column("description", priority=9))
    rows = tuple((view.Cell(each.name), view.Cell(each.description)) for each in report.profiles)
    first = report.profiles[0].name
    return view.Page(
        title="Built-in policies",
        verdict=view.Verdict(f"{len(rows)} policies are built in"),
        blocks=(view.Table("Profiles", columns, rows),),
        next_command=f"ullage policy show --policy {first}",
    )


def check_page(report: "PolicyCheck", asked: "Asked", then: str) -> view.Page:
    """Return what a check of a policy found; `then` is what to do next."""
    found = len(report.findings)
    verdict = f"policy {report.policy} can be used: {plural(report.settings, 'setting')}, all understood"
    if found:
        verdict = f"policy {report.policy} has {plural(found, 'problem')}"
    without = () if asked.cluster else ("names of groups and nodes (no cluster was named with -c)",)
    return view.Page(
        title=f"Check of policy {report.policy}",
        verdict=view.Verdict(verdict, "no" if found else "yes"),
        blocks=(findings_block("Findings", report.findings),),
        not_simulated=without,
        next_command=then,
    )
