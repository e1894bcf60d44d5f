"""Points that came too late to be recorded: a table that is filled in behind what was recorded of it.

Only days are kept, and not single points. So of each stream and day, what is offered beyond as many points as
are recorded was never recorded: it is told, and does not count.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from ullage.engine.usage.book import Stream
from ullage.model.usage import kind_of
from ullage.stores.database_file import failures
from ullage.stores.opening import open_to_read
from ullage.stores.usage_forgetting import KEPT_DAYS, OTHERS_KEPT_DAYS
from ullage.stores.usage_waiting import waiting_of


def late_points(path: Path, offered: Mapping[tuple[Stream, int], int]) -> int:
    """Return how many points, of those that are offered by stream and day, were certainly never recorded.

    What is too old to be kept may have been recorded, and been forgotten.
    """
    if not offered:
        return 0
    recorded: dict[tuple[Stream, int], int] = {}
    newest: dict[str, int] = {}
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        found = connection.execute(
            "SELECT subject, resource, measure, day, points + dropped FROM usage_days "
            "JOIN usage_streams ON usage_streams.number = stream"
        )
        for *names, day, count in found:
            stream = Stream(*names)
            kind = kind_of(stream.subject)
            recorded[stream, day] = count
            newest[kind] = max(day, newest.get(kind, day))
        for stream, _, day, points, dropped in waiting_of(connection).counts():
            kind = kind_of(stream.subject)
            recorded[stream, day] = recorded.get((stream, day), 0) + points + dropped
            newest[kind] = max(day, newest.get(kind, day))
    late = 0
    for (stream, day), count in offered.items():
        kind = kind_of(stream.subject)
        if day > newest.get(kind, day) - KEPT_DAYS.get(kind, OTHERS_KEPT_DAYS):
            late += max(0, count - recorded.get((stream, day), 0))
    return late
