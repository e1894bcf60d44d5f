"""Who could later evict a workload that borrows: the quotas that have not yet used what is their own."""

from ullage.engine.placement.outcome import Threat
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.standing import Standing


def threats_to(standing: Standing, quota: int) -> tuple[Threat, ...]:
    """Return who could evict members of a quota that are over its min; nobody where it borrows nothing.

    Only a claim for a resource that the quota borrows can be the reason.
    """
    if quota == NO_QUOTA:
        return ()
    book = standing.book
    borrowed = [
        least is not None and used > least
        for used, least in zip(standing.own_used[quota], book.own_mins[quota], strict=True)
    ]
    found = []
    for place, other in enumerate(book.quotas):
        if place in book.chains[quota] or quota in book.chains[place]:
            continue
        unused = [
            max(0, least - used) if least is not None and is_borrowed else 0
            for least, used, is_borrowed in zip(
                book.own_mins[place], standing.own_used[place], borrowed, strict=True
            )
        ]
        could_claim = book.readable(unused).without_zeros()
        if could_claim:
            found.append(Threat(other.name, could_claim))
    return tuple(found)
