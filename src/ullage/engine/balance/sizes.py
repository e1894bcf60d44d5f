"""Machines by size: all of one size together, or of sizes close to each other where there are too many.

What hosts mean to each size (whether it fits, what its standby would reserve) is kept from step to step.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ullage.engine.balance.columns import Booleans, Columns, Floats, Integers

SIZES_MAX: Final = 256


class Sizes:
    """Sizes as primaries or as standbys: `bucket` says of which one each machine is.

    `least` and `most` are the range of amounts over all machines by term.
    """

    def __init__(self, columns: Columns, *, primary: bool) -> None:
        self.columns, self.primary = columns, primary
        amounts = columns.linear.primary if primary else columns.linear.standby
        asked = columns.asked.primary if primary else columns.asked.standby
        key = np.column_stack([amounts, asked.astype(np.float64), columns.need.astype(np.float64)])
        self.bucket = _buckets(key)
        low, high = _by_bucket(amounts, self.bucket)
        nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        self.amounts = np.hstack([(low + high) / 2, nearest * nearest, -(high - low) / 2])
        self.is_exact = bool((low == high).all())
        self.asked, _ = _by_bucket(asked, self.bucket)
        need_low, need_high = _by_bucket(columns.need, self.bucket)
        self.need_low, self.need_high = need_low[:, None], need_high[:, None]
        self.least, self.most = amounts.min(axis=0), amounts.max(axis=0)
        self._fits: dict[bool, Booleans] = {}
        shape = (len(self.asked), columns.size + 1)
        self.share, self.share_square = np.zeros(shape), np.zeros(shape)
        self.renew(np.arange(columns.size + 1))

    def renew(self, hosts: Integers) -> None:
        """Take over what some hosts have left."""
        for force, fits in self._fits.items():
            fits[:, hosts] = self._fitting(hosts, force=force)
        if not self.primary:
            reserved = np.maximum(self.columns.reserved[hosts], self.need_low)
            share = reserved * self.columns.reserved_inverse[hosts]
            self.share[:, hosts], self.share_square[:, hosts] = share, share * share

    def fits(self, *, force: bool) -> Booleans:
        """Return which hosts have room for some machine of each size."""
        if force not in self._fits:
            self._fits[force] = self._fitting(np.arange(self.columns.size + 1), force=force)
        return self._fits[force]

    def _fitting(self, hosts: Integers, *, force: bool) -> Booleans:
        room = self.columns.rooms[self.primary, force][:, hosts]
        found = np.broadcast_to(self.columns.online[hosts], (len(self.asked), len(hosts))).copy()
        for each in range(self.asked.shape[1]):
            found &= self.asked[:, each, None] <= room[each]
        return found

    def table(self, tilt: Floats, bend: Floats) -> Floats:
        """Return the least that machines of each size add to a sum over terms, by new host."""
        if self.is_exact:
            found: Floats = self.amounts[:, : 2 * len(tilt)] @ np.vstack([tilt, bend])
        else:
            found = self.amounts @ np.vstack([tilt, bend, np.abs(tilt)])
        return found

    def reserved_range(self) -> tuple[Floats, Floats]:
        """Return the least and the most share of memory that hosts would reserve with one more standby."""
        reserved, inverse = self.columns.reserved, self.columns.reserved_inverse
        least, most = int(self.need_low.min()), int(self.need_high.max())
        low: Floats = np.maximum(reserved, least) * inverse
        high: Floats = (reserved + most) * inverse
        return low, high

    def reserved_table(self, slope: float, mean: float, total: float, bottom: float) -> Floats:
        """Return slope x (share^2 - 2 mean share) + total x share at its least, by size and new host."""
        if bottom <= 0:
            return slope * self.share_square + (total - 2 * slope * mean) * self.share
        most = (self.columns.reserved + self.need_high) * self.columns.reserved_inverse
        share: Floats = np.clip(bottom, self.share, most)
        found: Floats = slope * share * (share - 2 * mean) + total * share
        return found


def _buckets(key: Floats) -> Integers:
    """Return machines by size; where there are too many, boxes of sizes: the widest is cut in two, again."""
    lines, width = key.tobytes(), key.strides[0]
    numbers: dict[bytes, int] = {}
    of = [numbers.setdefault(lines[at : at + width], len(numbers)) for at in range(0, len(lines), width)]
    if len(numbers) <= SIZES_MAX:
        return np.array(of)
    spans = np.ptp(key, axis=0)
    scaled = key / np.where(spans > 0, spans, 1.0)
    boxes = [np.arange(len(key))]
    widths = [_width(scaled)]
    while len(boxes) < SIZES_MAX:
        at = int(np.argmax(widths))
        box = boxes[at]
        side = int(np.argmax(np.ptp(scaled[box], axis=0)))
        order = box[np.argsort(scaled[box, side], kind="stable")]
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        boxes[at], widths[at] = halves[0], _width(scaled[halves[0]])
        boxes.append(halves[1])
        widths.append(_width(scaled[halves[1]]))
    bucket = np.zeros(len(key), np.int64)
    for number, box in enumerate(boxes):
        bucket[box] = number
    return bucket


def _width(rows: Floats) -> float:
    return float(np.ptp(rows, axis=0).max()) * len(rows)


def _by_bucket(values: npt.NDArray[Any], bucket: Integers) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the least and the most of values by bucket."""
    order = np.argsort(bucket, kind="stable")
    starts = np.searchsorted(bucket[order], np.arange(int(bucket.max()) + 1))
    ordered = values[order]
    return np.minimum.reduceat(ordered, starts, axis=0), np.maximum.reduceat(ordered, starts, axis=0)
