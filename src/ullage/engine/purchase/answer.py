"""What to buy, at what price, and how sure that is."""

from typing import Literal, NamedTuple

from ullage.engine.purchase.check import Checked
from ullage.engine.purchase.offers import Offer, Upgrade

Proof = Literal["bound", "search", "none"]


class Purchase(NamedTuple):
    """The answer: what to buy (`offers`, and `upgrades` of nodes), or why no purchase helps (`reason`).

    `bound_micro` is what no purchase costs less than. The proof that this is the cheapest is that bound, or
    that every cheaper mix was tried, or there is none. Where no purchase helps, `bound` means that this is
    proven, `none` that none was found.
    """

    offers: tuple[Offer, ...]
    cost_micro: int
    bound_micro: int
    proof: Proof
    checked: Checked
    reason: str = ""
    tried: int = 0
    upgrades: tuple[Upgrade, ...] = ()

    @property
    def solves(self) -> bool:
        """Whether everything is as it was asked for."""
        return not self.reason


def still_wrong(checked: Checked) -> str:
    """Return what is still wrong when nothing more helps."""
    refusal = next((each.refusal for each in checked.outcomes if each.refusal), None)
    if refusal is not None:
        return f"{refusal.subject}: {refusal.count} without a place in the best mix found: {refusal.reason}"
    survey = checked.survey
    if survey is None or not survey.worst:
        return "no mix that was tried is enough"
    worst = survey.worst[0]
    loser = worst.losers[0]
    lost = ", ".join(worst.nodes)
    return f"without {lost}, {loser.workload} has no place in the best mix found ({loser.reason})"
