"""A summary that others made, as figures: what it says is kept, what it does not say is filled in between.

Its percentiles become a histogram in which as many points stand at each as lie between it and the one before;
so asking for one of them gives it back, within the width of a bucket.
"""

import numpy as np

from ullage.engine.usage.buckets import bucket_of
from ullage.engine.usage.summaries import NO_FIGURES, Figures
from ullage.model.usage import UsageSummary, fraction_of

POINTS_UNKNOWN = 1000
"""So many points are meant where a summary does not say: enough for every percentile to differ."""


def figures_of(summary: UsageSummary, last_seconds: int) -> Figures:
    """Return the figures of a summary whose window ended at a moment."""
    dropped = summary.dropped_points or 0
    ranked = {fraction_of(name): amount.value for name, amount in summary.percentiles.items()}
    for name, extreme in (("0", summary.min), ("100", summary.max)):
        if extreme is not None:
            ranked[fraction_of(name)] = extreme.value
    if not ranked and summary.mean is not None:
        ranked[fraction_of("100")] = summary.mean.value
    points = POINTS_UNKNOWN if summary.count is None else summary.count
    if not points or not ranked:
        return NO_FIGURES._replace(dropped=dropped)
    counts: dict[int, int] = {}
    passed = 0
    for share, amount in sorted(ranked.items()):
        rank = max(-(-share.numerator * points // share.denominator), 1)
        bucket = int(bucket_of(np.array([amount], np.int64))[0])
        counts[bucket] = counts.get(bucket, 0) + max(rank - passed, 0)
        passed = max(passed, rank)
    low, high = min(ranked.values()), max(ranked.values())
    last_bucket = int(bucket_of(np.array([high], np.int64))[0])
    counts[last_bucket] = counts.get(last_bucket, 0) + points - passed
    kept = sorted((bucket, count) for bucket, count in counts.items() if count)
    mean = (low + high) // 2 if summary.mean is None else summary.mean.value
    return Figures(
        points,
        mean * points,
        low,
        high,
        dropped,
        max(last_seconds - (summary.window_seconds or 0), 0),
        last_seconds,
        np.array([bucket for bucket, _ in kept], np.int64),
        np.array([count for _, count in kept], np.int64),
    )
