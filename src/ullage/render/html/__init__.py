"""A page as one self-contained HTML file, drawn by the templates beside this module.

The web face draws with the same macros. The hard thing is trust: autoescape is always on, an undefined
name is an error, and texts arrive visible from the view; the file fetches nothing and runs no script.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.render import marks
from ullage.render.chart import plotted
from ullage.render.palette import DARK, LIGHT
from ullage.render.view import BarRow, Page

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent
_PIECE = re.compile(r"[^-/._:]*[-/._:]+|[^-/._:]+")
_SEEN = 0.6  # hundredths of a bar below which a segment would vanish between its neighbours


def render(page: Page) -> str:
    """Return the page as a complete document."""
    return environment().get_template("page.html.jinja").render(page=page)


@cache
def environment() -> "Environment":
    """Return the environment of all templates: escaping, strict, with the signs every format shares."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals.update(
        light=LIGHT,
        dark=DARK,
        mark=marks.mark,
        verdict_mark=marks.verdict_mark,
        severity_mark=marks.severity_mark,
        operator_sign=marks.operator_sign,
        severity_tones=marks.SEVERITY_TONES,
        verdict_tones=marks.VERDICT_TONES,
        placed=placed,
        plotted=plotted,
    )
    templates.filters["soft"] = soft
    return templates


def soft(text: str) -> str:
    """Return a name as escaped HTML that may break after its punctuation; copying it adds nothing."""
    from markupsafe import Markup

    return Markup("<wbr>").join(_PIECE.findall(text))


def placed(row: BarRow) -> list[tuple[str, str, str]]:
    """Return (tone, start, width) of each segment that is drawn, in hundredths of the bar's length."""
    drawn: list[tuple[str, str, str]] = []
    start = 0
    for segment in row.segments:
        part = max(0, segment.part)
        if part:
            width = max(100 * part / row.scale, _SEEN)
            drawn.append((segment.tone, f"{min(100 * start / row.scale, 100 - width):.2f}", f"{width:.2f}"))
        start += part
    return drawn
