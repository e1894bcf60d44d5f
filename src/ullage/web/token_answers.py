"""What `ullage token` does and answers."""

import contextlib
from typing import Any

from ullage.model.wire import API_VERSION
from ullage.render import view
from ullage.service.answer import Answer
from ullage.service.clock import now_seconds, told_time
from ullage.web.http import Scope
from ullage.web.settings import data_folder
from ullage.web.state import State
from ullage.web.tokens import Token, add_token, list_tokens, remove_token

DAY_SECONDS = 86_400


def added(data: str, name: str, scope: Scope, days: int | None) -> str:
    """Make a token and return it."""
    now = now_seconds()
    with contextlib.closing(State(data_folder(data))) as state:
        return add_token(state, name, scope, now, now + days * DAY_SECONDS if days else None)


def removed(data: str, name: str) -> None:
    """Forget a token."""
    with contextlib.closing(State(data_folder(data))) as state:
        remove_token(state, name)


def listed(data: str) -> Answer:
    """Answer which tokens there are."""
    tokens = list_tokens(data_folder(data))
    return Answer(lambda: _page(tokens), lambda: _data(tokens))


def _data(tokens: list[Token]) -> dict[str, Any]:
    rows = [
        {
            "name": each.name,
            "scope": each.scope,
            "made": told_time(each.made_seconds),
            "ends": told_time(each.ends_seconds),
        }
        for each in tokens
    ]
    return {"apiVersion": API_VERSION, "kind": "TokenList", "tokens": rows}


def _page(tokens: list[Token]) -> view.Page:
    columns = (
        view.Column("token", priority=9),
        view.Column("scope", priority=8),
        view.Column("made", priority=6),
        view.Column("ends", priority=7),
    )
    rows = tuple(
        (
            view.Cell(each.name),
            view.Cell(each.scope),
            view.Cell(told_time(each.made_seconds)),
            view.Cell(told_time(each.ends_seconds) or "never"),
        )
        for each in tokens
    )
    said = f"{len(tokens)} token{'' if len(tokens) == 1 else 's'}" if tokens else "there is no token"
    return view.Page(
        title="Tokens",
        verdict=view.Verdict(said),
        blocks=(view.Table("Tokens", columns, rows),) if rows else (),
        next_command="ullage token add NAME --scope read",
    )
