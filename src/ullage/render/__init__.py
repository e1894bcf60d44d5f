"""From an answer to an artefact: one page, every output format, the same numbers in each.

`json` and `yaml` print the answer's own data; all other formats draw its page. Each renderer is imported
when it is asked for, so a table does not wait for the templates of HTML.
"""

from typing import Any

from ullage.model.errors import InputError
from ullage.render.view import Page

FORMATS = ("table", "wide", "json", "yaml", "csv", "md", "html", "svg")


def render(
    page: Page,
    data: Any,
    output: str = "table",
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """Return the answer in one of FORMATS; width, colour and Unicode bars matter to text alone."""
    match output:
        case "table" | "wide":
            from ullage.render import text

            return text.render(page, width=width, color=color, unicode=unicode, wide=output == "wide")
        case "json":
            from ullage.render.json_text import to_json

            return to_json(data)
        case "yaml":
            from ullage.render.json_text import to_yaml

            return to_yaml(data)
        case "csv":
            from ullage.render import csv

            return csv.render(page)
        case "md":
            from ullage.render import markdown

            return markdown.render(page)
        case "html":
            from ullage.render import html

            return html.render(page)
        case "svg":
            from ullage.render import svg

            return svg.render(page)
    known = ", ".join(FORMATS)
    raise InputError(f"no output format {output!r}", where="-o", remedy=f"use one of {known}")
