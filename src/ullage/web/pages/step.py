"""One step of the cluster's ledger: what was asked, by whom, and every entry and term before and after it.

Who took it is known to the audit log alone: it comes with the parameters, for those who may see that.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.model.errors import InputError
from ullage.render.view import Cell, Page, Table
from ullage.service.asked import read_cluster
from ullage.service.ledger_explain import StepQuestion, ledger_explain
from ullage.web.pages.answers import page_of, parts_of
from ullage.web.pages.links import Links
from ullage.web.pages.shell import Shell, draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.service.asked import Asked

DIGITS_MAX: Final = 18
NOBODY: Final = "not known any more: the server that took it was killed before it could note that"


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the explanation of a step."""
    text = parameters.get("revision", "")
    if not text.isdecimal() or len(text) > DIGITS_MAX or not int(text):
        raise InputError(f"there is no step {text!r}", remedy="steps are counted from 1")
    if not asked.ledger:
        raise InputError(f"there is no step {text}", remedy="nothing was promised yet")
    shell = shell_of(parameters)
    found = page_of(ledger_explain(StepQuestion(int(text), asked.ledger, shell.cluster)))
    page = with_taker(found, parameters)
    return draw(
        "answer",
        shell,
        links=Links(shell, read_cluster(asked), plan_links(shell, parameters), otherwise="#main"),
        title=f"Step {int(text)} of the ledger",
        page=page,
        parts=parts_of(page.blocks),
        command=terminal(shell, f"ledger explain {int(text)}"),
        meanings=(),
    )


def plan_links(shell: Shell, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return where the facts of a step lead that has committed a plan: to that plan, while it is kept."""
    plan = parameters.get("plan", "")
    return {"as": shell.address(f"/plans/{plan}")} if plan else {}


def with_taker(page: Page, parameters: Mapping[str, str]) -> Page:
    """Return the page with who took the step, and as what, below what was asked."""
    action, facts = parameters.get("action", ""), page.blocks[0]
    if not action or not isinstance(facts, Table):
        return page
    done = f"{action} {parameters.get('of', '')}".rstrip()
    told = [("by", parameters.get("who", "") or NOBODY)]
    if done != facts.rows[0][1].text:  # a plan, say: the ledger knows its steps alone
        told.append(("as", done))
    more = tuple((Cell(name, tone="muted"), Cell(text)) for name, text in told)
    facts = msgspec.structs.replace(facts, rows=(facts.rows[0], *more, *facts.rows[1:]))
    return msgspec.structs.replace(page, blocks=(facts, *page.blocks[1:]))
