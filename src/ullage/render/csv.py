"""The page's main table as CSV: one header row, every column, exact values instead of pretty ones.

The hard thing is the spreadsheet that opens it: a name that begins like a formula gets an apostrophe
before it, so it is read as text; a number keeps its sign.
"""

import csv
import io
import re

from ullage.model.errors import InputError
from ullage.render.view import Page

_FORMULA = ("=", "+", "-", "@")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[A-Za-z]{0,2}%?")


def render(page: Page) -> str:
    """Return the main table; a page without one cannot be CSV."""
    table = page.main_table
    if table is None:
        raise InputError("this answer has no table", where="-o csv", remedy="use -o json or -o table")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_harmless(column.key or column.title) for column in table.columns])
    writer.writerows([_harmless(cell.exact) for cell in row] for row in table.rows)
    return out.getvalue()


def _harmless(value: str) -> str:
    """Return the value so that no spreadsheet computes it."""
    if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
