"""One small answer, made by plain ASGI or by Litestar: what a framework costs, and nothing else.

    python benchmarks/peers/frameworks.py plain|litestar PORT

A POST whose body is a reservation is decoded and encoded by msgspec, on uvicorn with uvloop and httptools.
"""

import sys
from typing import Any

import msgspec
import uvicorn


class Hold(msgspec.Struct):
    """What is held of one capacity."""

    request: str
    capacity: str
    resources: dict[str, str]


class Reserve(msgspec.Struct, rename="camel"):
    """A reservation as it is asked for."""

    reservation: str
    owner: str
    expires_seconds: int
    holds: list[Hold]


_DECODER = msgspec.json.Decoder(Reserve)
_ENCODER = msgspec.json.Encoder()


async def plain(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer a request with what it asks for."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message["body"]
        more = message["more_body"]
    told = _ENCODER.encode(_DECODER.decode(body))
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(told))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": told})


def litestar() -> Any:
    """Return an application that does the same."""
    from litestar import Litestar, post

    @post("/", status_code=200)
    async def reserve(data: Reserve) -> Reserve:
        return data

    return Litestar([reserve])


if __name__ == "__main__":
    uvicorn.run(
        plain if sys.argv[1] == "plain" else litestar(),
        host="127.0.0.1",
        port=int(sys.argv[2]),
        log_level="error",
        access_log=False,
    )
