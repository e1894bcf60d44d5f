"""Histograms and peaks as bytes and back, exactly.

Neighbouring amounts differ in their low bytes only, so the bytes are put together by their weight before they
are packed: that halves what is kept.
"""

import zlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from ullage.engine.usage.buckets import BUCKETS, Integers

_LEVEL: Final = 1
_BUCKET: Final = np.dtype("<u2")
_AMOUNT: Final = np.dtype("<i8")
_PAIR_BYTES: Final = _BUCKET.itemsize + _AMOUNT.itemsize
_BYTES_MAX: Final = 1 << 20
"""More than any blob of ours unpacks to."""


def histogram_bytes(buckets: Integers, counts: Integers) -> bytes:
    """Return a histogram as bytes."""
    return zlib.compress(buckets.astype(_BUCKET).tobytes() + _by_weight(counts), _LEVEL)


def histograms_bytes(sizes: Integers, buckets: Integers, counts: Integers) -> list[bytes]:
    """Return many histograms as bytes; they stand one behind the other, each of so many entries."""
    ends = np.cumsum(sizes)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(owners)) - (ends - sizes)[owners]
    begins = (ends - sizes) * _PAIR_BYTES
    data = np.zeros(len(owners) * _PAIR_BYTES, np.uint8)
    low = begins[owners] + within * _BUCKET.itemsize
    data[low], data[low + 1] = buckets & 0xFF, buckets >> 8
    place, stride = begins[owners] + sizes[owners] * _BUCKET.itemsize + within, sizes[owners]
    for weight in range(_AMOUNT.itemsize):
        data[place] = counts >> (8 * weight) & 0xFF
        place += stride
    return _cut_and_packed(data.tobytes(), begins.tolist(), (ends * _PAIR_BYTES).tolist())


def _cut_and_packed(data: bytes, begins: Iterable[int], ends: Iterable[int]) -> list[bytes]:
    return [zlib.compress(data[begin:end], _LEVEL) for begin, end in zip(begins, ends, strict=True)]


def to_histogram(data: bytes) -> tuple[Integers, Integers]:
    """Return the buckets and counts that bytes hold."""
    unpacked = _unpacked(data)
    count, rest = divmod(len(unpacked), _PAIR_BYTES)
    if rest:
        raise msgspec.DecodeError("a histogram of usage has half an entry")
    split = count * _BUCKET.itemsize
    buckets = np.frombuffer(unpacked[:split], _BUCKET).astype(np.int64)
    counts = _from_weight(unpacked[split:])
    if count and (buckets[-1] >= BUCKETS or (np.diff(buckets) <= 0).any() or (counts <= 0).any()):
        raise msgspec.DecodeError("a histogram of usage is out of order")
    return buckets, counts


def to_histograms(several: Sequence[bytes]) -> tuple[Integers, Integers, Integers]:
    """Return the entries of many histograms: of which each is, its bucket and its count."""
    unpacked = [_unpacked(each) for each in several]
    lengths = np.array([len(each) for each in unpacked], np.int64)
    sizes, rest = np.divmod(lengths, _PAIR_BYTES)
    if rest.any():
        raise msgspec.DecodeError("a histogram of usage has half an entry")
    data = np.frombuffer(b"".join(unpacked), np.uint8)
    begins = np.cumsum(lengths) - lengths
    owners = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    low = np.repeat(begins, sizes) + within * _BUCKET.itemsize
    buckets = data[low].astype(np.int64) + (data[low + 1].astype(np.int64) << 8)
    place, stride = np.repeat(begins + sizes * _BUCKET.itemsize, sizes) + within, np.repeat(sizes, sizes)
    counts = np.zeros(len(owners), np.int64)
    for weight in range(_AMOUNT.itemsize):
        counts += data[place].astype(np.int64) << (8 * weight)
        place += stride
    same = owners[1:] == owners[:-1]
    if (counts <= 0).any() or (buckets >= BUCKETS).any() or (np.diff(buckets) <= 0)[same].any():
        raise msgspec.DecodeError("a histogram of usage is out of order")
    return owners, buckets, counts


def bucket_from_above(histograms: Iterable[bytes], place: int) -> int:
    """Return the bucket of the amount at a place from above, from 1 on, in several histograms together.

    Only the upper ends are looked at: whoever asks this of everybody has no time for more.
    """
    ends: list[tuple[int, int]] = []
    for data in histograms:
        ends += _upper_end(_unpacked(data), place)
    for bucket, count in sorted(ends, reverse=True):
        place -= count
        if place <= 0:
            return bucket
    raise msgspec.DecodeError("a histogram of usage has fewer points than it should")


def _upper_end(unpacked: bytes, points: int) -> list[tuple[int, int]]:
    """Return buckets with their counts from above, until they hold so many points."""
    size, rest = divmod(len(unpacked), _PAIR_BYTES)
    if rest:
        raise msgspec.DecodeError("a histogram of usage has half an entry")
    split = size * _BUCKET.itemsize
    buckets = np.frombuffer(unpacked[:split], _BUCKET).tolist()
    is_small = not unpacked[split + size :].strip(b"\0")  # one byte tells each count
    counts = unpacked[split : split + size] if is_small else _from_weight(unpacked[split:]).tolist()
    end = size
    while end and points > 0:
        end -= 1
        points -= counts[end]
    return list(zip(buckets[end:], counts[end:], strict=True))


def many_peaks_bytes(slots: Integers) -> list[bytes]:
    """Return the peaks of many days as bytes, a row of slots for each."""
    rows, size = len(slots), slots.shape[1] * _AMOUNT.itemsize
    by_weight = (
        slots.astype(_AMOUNT).view(np.uint8).reshape(*slots.shape, _AMOUNT.itemsize).transpose(0, 2, 1)
    )
    begins = range(0, rows * size, size)
    return _cut_and_packed(by_weight.tobytes(), begins, range(size, (rows + 1) * size, size))


def to_peaks(data: bytes, slots: int) -> Integers:
    """Return the peaks of a day that has so many slots."""
    return _peaks_of(_unpacked(data), slots)


def _peaks_of(unpacked: bytes, slots: int) -> Integers:
    found = _from_weight(unpacked)
    if len(found) != slots:
        raise msgspec.DecodeError(f"a day of usage has {len(found)} peaks, not {slots}")
    return found


def to_many_peaks(several: Sequence[bytes], slots: int) -> Integers:
    """Return the peaks of many days that have so many slots, a row for each."""
    unpacked = [_unpacked(each) for each in several]
    for each in unpacked:
        if len(each) != slots * _AMOUNT.itemsize:
            _peaks_of(each, slots)  # says what is wrong
    by_weight = np.frombuffer(b"".join(unpacked), np.uint8).reshape(-1, _AMOUNT.itemsize, slots)
    amounts = np.ascontiguousarray(by_weight.transpose(0, 2, 1)).view(_AMOUNT)
    return amounts.reshape(-1, slots).astype(np.int64)


def _by_weight(amounts: Integers) -> bytes:
    return amounts.astype(_AMOUNT).view(np.uint8).reshape(-1, _AMOUNT.itemsize).T.tobytes()


def _from_weight(data: bytes) -> Integers:
    if len(data) % _AMOUNT.itemsize:
        raise msgspec.DecodeError("a row of usage has half an amount")
    by_weight = np.frombuffer(data, np.uint8).reshape(_AMOUNT.itemsize, -1)
    return np.ascontiguousarray(by_weight.T).view(_AMOUNT).reshape(-1).astype(np.int64)


def _unpacked(data: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(data, _BYTES_MAX)
    except zlib.error as error:
        raise msgspec.DecodeError(f"a row of usage cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise msgspec.DecodeError("a row of usage is cut off, or too long")
    return found
