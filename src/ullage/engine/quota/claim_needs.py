"""What is short for a claim of one resource where all nodes are one: under bounds of quotas, and on nodes."""

from typing import Literal, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.rights import Claim, Rules


class Need(NamedTuple):
    """So much short of a resource: on nodes, or under a bound; one of no quota is that of all in mode nos."""

    resource: int
    short: int
    quota: int
    where: Literal["quota", "room"]

    def given_by(self, member: Member, book: Book) -> int:
        """Return how much of it a workload that goes gives back."""
        if self.where == "room":
            counts = True
        elif self.quota == NO_QUOTA:
            counts = book.modes[member.quota] == "nos"
        else:
            counts = self.quota in book.chains[member.quota]
        return member.amounts[self.resource] if counts else 0


def needs_of(claim: Claim, rules: Rules, resource: int, left: int) -> list[Need]:
    """Return what is short for a claim of a resource of which nodes have so much left."""
    found = [
        Need(each.resource, each.short, NO_QUOTA if each.barrier == "sum-of-min" else each.quota, "quota")
        for each in rules.refusals(claim.quota, claim.amounts)
    ]
    short = claim.amounts[resource] - left
    return [*found, Need(resource, short, NO_QUOTA, "room")] if short > 0 else found
