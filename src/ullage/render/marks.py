"""The words and signs that carry a tone where there is no colour, the same in every format."""

from ullage.model.verdict import Severity
from ullage.render.view import Tone, VerdictTone

_MARKS: dict[Tone, tuple[str, str]] = {"warn": ("▲", "!"), "bad": ("✗", "!!")}
_VERDICTS: dict[VerdictTone, tuple[str, str]] = {"yes": ("✓", "yes:"), "no": ("✗", "no:"), "info": ("", "")}
_SEVERITIES: dict[Severity, tuple[str, str]] = {
    "error": ("✗", "!!"),
    "warning": ("▲", "!"),
    "info": ("·", "-"),
}
_OPERATORS = {"-": "\N{MINUS SIGN}", "x": "\N{MULTIPLICATION SIGN}", "/": "\N{DIVISION SIGN}"}

VERDICT_TONES: dict[VerdictTone, Tone] = {"yes": "ok", "no": "bad", "info": "strong"}
SEVERITY_TONES: dict[Severity, Tone] = {"error": "bad", "warning": "warn", "info": "muted"}


def letter_tone(tone: Tone) -> Tone:
    """Return the tone of letters in a terminal, whose colours may be hard to read: only signs have them."""
    return "strong" if tone in {"warn", "bad"} else "plain" if tone == "ok" else tone


def mark(tone: Tone, *, unicode: bool = True) -> str:
    """Return the sign beside a cell that warns, or nothing."""
    return _MARKS.get(tone, ("", ""))[0 if unicode else 1]


def verdict_mark(tone: VerdictTone, *, unicode: bool = True) -> str:
    """Return the sign before a verdict."""
    return _VERDICTS[tone][0 if unicode else 1]


def severity_mark(severity: Severity, *, unicode: bool = True) -> str:
    """Return the sign before a finding; its word always follows."""
    return _SEVERITIES[severity][0 if unicode else 1]


def operator_sign(operator: str, *, unicode: bool = True) -> str:
    """Return an operator as it is set in print."""
    return _OPERATORS.get(operator, operator) if unicode else operator
