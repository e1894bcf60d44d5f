"""All routes of a server, from the modules of this folder."""

from functools import cache
from typing import Final

from ullage.web.api import (
    audit,
    clusters,
    events,
    history,
    history_pages,
    jobs,
    ledger,
    ledger_records,
    metrics,
    operations,
    pages,
    plan_pages,
    plans,
    questions,
    sessions,
    usage,
    usage_recorded,
)
from ullage.web.routes import Routes

MODULES: Final = (
    operations,
    sessions,
    clusters,
    questions,
    usage,
    usage_recorded,
    jobs,
    ledger,
    ledger_records,
    plans,
    audit,
    events,
    history,
    metrics,
    pages,
    history_pages,
    plan_pages,
)


@cache
def routes() -> Routes:
    """Return the table of all routes."""
    return Routes(route for module in MODULES for route in module.ROUTES)
