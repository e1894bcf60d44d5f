"""What a control plane has stored, put back to what it was at a moment: as good as a new plane, and cheaper.

The API server, kwok and all others who watch see ordinary deletions and changes. They are made in etcd
itself, so that neither finalizers nor a missing controller hold them up. Whoever writes of its own accord has
to be stopped before, or it goes on writing about what is gone.
"""

import base64
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

PREFIX = b"/registry/"
PREFIX_END = b"/registry0"
STEPS_MAX = 100
"""Of one transaction: etcd takes 128."""
ROUNDS_MAX = 10
ASK_SECONDS_MAX = 30


class Moment:
    """All that was stored when this was made."""

    def __init__(self, etcd_port: int) -> None:
        self._etcd = f"http://127.0.0.1:{etcd_port}/v3/kv"
        self._then = self._stored()

    def come_back(self) -> bool:
        """Store all as it was then; return whether it is, and nobody goes on writing."""
        for _ in range(ROUNDS_MAX):
            steps = list(self._steps())
            if not steps:
                return True
            for first in range(0, len(steps), STEPS_MAX):
                self._ask("txn", {"success": steps[first : first + STEPS_MAX]})
        return False

    def _steps(self) -> Iterator[dict[str, Any]]:
        now = self._stored()
        for key in now.keys() - self._then.keys():
            yield {"requestDeleteRange": {"key": key}}
        for key, value in self._then.items():
            if now.get(key) != value:
                yield {"requestPut": {"key": key, "value": value}}

    def _stored(self) -> dict[str, str]:
        asked = {"key": _encoded(PREFIX), "range_end": _encoded(PREFIX_END)}
        return {each["key"]: each["value"] for each in self._ask("range", asked).get("kvs", ())}

    def _ask(self, verb: str, asked: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps(asked).encode()
        request = urllib.request.Request(f"{self._etcd}/{verb}", body)  # noqa: S310 - an address of our own
        with urllib.request.urlopen(request, timeout=ASK_SECONDS_MAX) as answer:  # noqa: S310 - see above
            return json.load(answer)


def _encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()
