"""The seed's summary of a stream: mean, extremes, percentiles, the window, and how far to trust it."""

from fractions import Fraction

import msgspec

from ullage.engine.usage.book import Book
from ullage.engine.usage.summaries import Figures, amount_at
from ullage.model.resources import Amount
from ullage.model.usage import MAX_USAGE, PERCENTILES, USAGE, ResourceStatus, UsageSummary, fraction_of


def summary_of(figures: Figures, resource: str) -> UsageSummary | None:
    """Return the summary of figures; None where nothing was observed at all."""
    expected = figures.points + figures.dropped
    if not expected:
        return None
    window_seconds = figures.last_seconds - figures.first_seconds
    confidence = Fraction(figures.points, expected)
    if not figures.points:
        return UsageSummary(count=0, dropped_points=figures.dropped, confidence=confidence)
    return UsageSummary(
        Amount(resource, round(Fraction(figures.total, figures.points))),
        Amount(resource, figures.high),
        Amount(resource, figures.low) if figures.is_spread_known else None,
        figures.points,
        percentiles_of(figures, resource),
        window_seconds,
        figures.dropped,
        confidence,
    )


def percentiles_of(figures: Figures, resource: str) -> dict[str, Amount]:
    """Return the percentiles that are told; none where only sums are known."""
    if not figures.is_spread_known:
        return {}
    return {name: Amount(resource, percentile(figures, fraction_of(name))) for name in PERCENTILES}


def percentile(figures: Figures, share: Fraction) -> int:
    """Return the least amount that this share of the observations does not exceed, within 1/128."""
    return amount_at(figures, -(-share.numerator * figures.points // share.denominator))


def status_of(book: Book, subject: str) -> ResourceStatus | None:
    """Return all that a book knows of the use of a subject; None where that is nothing."""
    found: dict[str, dict[str, UsageSummary]] = {USAGE: {}, MAX_USAGE: {}}
    for stream in book.streams_of(subject):
        if stream.measure not in found:
            continue
        summary = summary_of(book.figures(stream), stream.resource)
        if summary is not None:
            found[stream.measure][stream.resource] = summary
    if not any(found.values()):
        return None
    stated = book.stated.get(subject)
    if stated is not None:
        for measure, said in ((USAGE, stated.status.usage), (MAX_USAGE, stated.status.maxusage)):
            found[measure].update(
                (name, _completed(each, found[measure].get(name))) for name, each in said.items()
            )
    return ResourceStatus(subject, found[USAGE], found[MAX_USAGE])


def _completed(stated: UsageSummary, summary: UsageSummary | None) -> UsageSummary:
    """Return a summary as it was stated, and what it does not say as it was filled in between."""
    if summary is None:
        return stated
    said = {name: value for name, value in msgspec.structs.asdict(stated).items() if value is not None}
    percentiles = {**summary.percentiles, **stated.percentiles}
    return msgspec.structs.replace(summary, **{**said, "percentiles": percentiles})
