"""The resource model's own form of usage, read and written exactly.

    kind: ResourceStatus
    subject: node/n1
    resourceStatus: [
      usage:     [ cpu: { mean: 1500m, max: 4, percentiles: [ "50": 1400m, "99": 3900m ] } ],
      maxusage:  [ memory: { max: 12Gi } ],
      predicted: [ ... ],
    ]

Lists of single pairs may also be maps. Beyond the model's fields a summary has `windowSeconds`,
`droppedPoints` and `confidence`; a document may say in `takenSeconds` when its window ended, and in
`requests` and `limits` what was promised to its subject: of a crowd, to the `pods` of `allPods` that were
observed. Many are the `items` of a ResourceStatusList.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import msgspec

from ullage.model.errors import InputError
from ullage.model.resources import Amount, Resources, ResourceTypes, canonical_name
from ullage.model.settings import parse_fraction, print_fraction
from ullage.model.usage import Promised, ResourceStatus, UsageSummary, contradiction_in, fraction_of
from ullage.model.wire import API_VERSION
from ullage.sources.documents import Document, read_documents
from ullage.sources.own_format import read_header
from ullage.sources.own_hooks import single_pairs
from ullage.sources.places import shown

KIND: Final = "ResourceStatus"
LIST_KIND: Final = "ResourceStatusList"
_PARTS: Final = ("usage", "maxusage", "predicted")
_FIELDS: Final = (
    "mean", "max", "min", "count", "percentiles", "windowSeconds", "droppedPoints", "confidence",
)  # fmt: skip
_PERCENTILES_MAX: Final = 1000
COUNT_MAX: Final = 1 << 32
"""So many points of one stream may be stated: one each second of more than a hundred years."""
TIME_MAX: Final = (1 << 17) * 86_400 - 1
"""The last moment of the last day that can be observed, in the year 2328."""
_ANYTHING: Final = msgspec.json.Decoder(dict[str, Any])


class Taken(NamedTuple):
    """The status of a subject, and where it is said, when its window ended and what was promised."""

    status: ResourceStatus
    taken_seconds: int | None = None
    promised: Promised | None = None


def status_document(
    status: ResourceStatus,
    types: ResourceTypes,
    taken_seconds: int | None = None,
    promised: Promised | None = None,
) -> dict[str, Any]:
    """Return a status as a document, ready for JSON or YAML."""
    parts = [
        {name: [{resource: _summary(each, types)} for resource, each in getattr(status, name).items()]}
        for name in _PARTS
        if getattr(status, name)
    ]
    taken = {} if taken_seconds is None else {"takenSeconds": taken_seconds}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "subject": status.subject,
        **taken,
        "resourceStatus": parts,
        **_promise(promised or Promised(), types),
    }


def _promise(promised: Promised, types: ResourceTypes) -> dict[str, Any]:
    """Return what was promised as fields of a document: of how many pods, where those are not all."""
    amounts = {"requests": promised.request, "limits": promised.limit}
    found: dict[str, Any] = {name: types.print(each) for name, each in amounts.items() if each}
    if promised.pods < promised.all_pods:
        found |= {"pods": promised.pods, "allPods": promised.all_pods}
    return found


def status_list(documents: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """Return many documents as one; `more` stands before them."""
    return {"apiVersion": API_VERSION, "kind": LIST_KIND, **more, "items": [*documents]}


def _summary(summary: UsageSummary, types: ResourceTypes) -> dict[str, Any]:
    """Return a summary without what is not known of it."""

    def printed(amount: Amount | None) -> str | None:
        return None if amount is None else types[amount.resource].print(amount.value)

    fields = {
        "mean": printed(summary.mean),
        "max": printed(summary.max),
        "min": printed(summary.min),
        "count": summary.count,
        "percentiles": [{name: printed(each)} for name, each in summary.percentiles.items()] or None,
        "windowSeconds": summary.window_seconds,
        "droppedPoints": summary.dropped_points,
        "confidence": None if summary.confidence is None else print_fraction(summary.confidence),
    }
    return {name: value for name, value in fields.items() if value is not None}


def read_statuses(path: str, types: ResourceTypes) -> Iterator[Taken]:
    """Yield every status of a file; an InputError says what is none, and where."""
    for document in read_documents(path):
        yield from statuses_of(document, types)


def statuses_of(document: Document, types: ResourceTypes) -> Iterator[Taken]:
    """Yield the status that a document is, or those that it lists."""
    header = read_header(document)
    if header.api_version not in {None, API_VERSION} or header.kind not in {None, KIND, LIST_KIND}:
        raise document.error(
            f"apiVersion {header.api_version!r}, kind {header.kind!r}",
            remedy=f"write apiVersion: {API_VERSION} and kind: {KIND}",
        )
    document.reject_duplicate_keys()
    data = document.decode(_ANYTHING)
    listed = data.get("items") if header.kind == LIST_KIND else [data]
    if not isinstance(listed, list):
        raise document.error("has no list of items", remedy="write items: [...]")
    for place, item in enumerate(listed):
        path = ("items", place) if header.kind == LIST_KIND else ()
        try:
            yield _taken(item, types)
        except InputError as error:
            raise error.at(document.where(path)) from None


def _taken(item: Any, types: ResourceTypes) -> Taken:
    data = _map(item, "a status")
    subject = data.get("subject", "")
    if not isinstance(subject, str):
        raise InputError("subject is no text", remedy="write subject: node/NAME")
    parts = _map(data.get("resourceStatus"), "resourceStatus")
    unknown = sorted(set(parts) - set(_PARTS))
    if unknown:
        raise InputError(
            f"resourceStatus has no part {shown(unknown[0])!r}", remedy=f"use {', '.join(_PARTS)}"
        )
    found = {
        part: {
            canonical_name(resource): _read_summary(canonical_name(resource), value, types)
            for resource, value in _map(values, part).items()
        }
        for part, values in parts.items()
    }
    taken_seconds = _count(data.get("takenSeconds"), "takenSeconds", TIME_MAX)
    return Taken(ResourceStatus(subject, **found), taken_seconds, _read_promise(data, types))


def _read_promise(data: Mapping[str, Any], types: ResourceTypes) -> Promised | None:
    """Return what a document says was promised; None where it says nothing of it."""
    if "requests" not in data and "limits" not in data:
        return None
    request, limit = (_amounts(data.get(name) or {}, name, types) for name in ("requests", "limits"))
    pods, every = (_count(data.get(name), name) or 0 for name in ("pods", "allPods"))
    return Promised(request, limit, pods, every)


def _amounts(value: Any, name: str, types: ResourceTypes) -> Resources:
    found = types.parse(_map(value, name))
    if any(amount < 0 for amount in found.values()):
        raise InputError(f"{name} has an amount below 0", remedy="nobody is promised less than nothing")
    return found


def _read_summary(resource: str, value: Any, types: ResourceTypes) -> UsageSummary:
    fields = _map(value, resource)
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise InputError(f"{resource}: no field {shown(unknown[0])!r}", remedy=f"use {', '.join(_FIELDS)}")

    def amount(given: Any, name: str) -> Amount | None:
        if given is None:
            return None
        found = types.parse({resource: given})[resource]
        if found < 0:
            raise InputError(f"{resource}: {name} is below 0", remedy="nobody uses less than nothing")
        return Amount(resource, found)

    given = _map(fields.get("percentiles") or {}, "percentiles")
    if len(given) > _PERCENTILES_MAX:
        raise InputError(f"{resource}: {len(given)} percentiles", remedy=f"keep {_PERCENTILES_MAX}")
    percentiles = {}
    for name, each in given.items():
        _check_percentile(name)
        found = amount(each, f"percentile {name}")
        if found is not None:
            percentiles[name] = found
    summary = UsageSummary(
        amount(fields.get("mean"), "mean"),
        amount(fields.get("max"), "max"),
        amount(fields.get("min"), "min"),
        _count(fields.get("count"), "count"),
        percentiles,
        _count(fields.get("windowSeconds"), "windowSeconds", TIME_MAX),
        _count(fields.get("droppedPoints"), "droppedPoints"),
        _confidence(fields.get("confidence")),
    )
    wrong = contradiction_in(summary)
    if wrong:
        raise InputError(f"{resource}: {wrong}", remedy="no observations are like that: correct what made it")
    return summary


def _check_percentile(name: str) -> None:
    try:
        share = fraction_of(name)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1 or len(name) > 20:
        raise InputError(f"{shown(name)!r} is no percentile", remedy='write one as "99.5"')


def _confidence(value: Any) -> Fraction | None:
    if value is None:
        return None
    found = parse_fraction(str(value))
    if not 0 <= found <= 1:
        raise InputError(f"confidence {value} is not from 0 to 1", remedy="write the share of points")
    return found


def _count(value: Any, name: str, most: int = COUNT_MAX) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{name} is no count", remedy="write a whole number from 0 on")
    if value > most:
        raise InputError(f"{name} is {shown(str(value))}", remedy=f"write at most {most}")
    return value


def _map(value: Any, what: str) -> dict[str, Any]:
    """Return a map, or the list of single pairs in place of one."""
    found = single_pairs(value) if isinstance(value, list) else value
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise InputError(f"{what} is no map", remedy="write pairs of names and values, names as text")
    return dict(found)
