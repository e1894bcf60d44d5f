"""What the process that speaks HTTP asks of the processes that hold clusters, and what these answer.

Records travel as msgpack over a Unix socket, each after its length. The body of a request is the standard
input of the question: no path that somebody sends ever opens a file.
"""

from typing import Any

import msgspec


class Work(msgspec.Struct, array_like=True):
    """One thing to do: `question/fit`, `page/nodes`, `snapshot`; parameters by name, and a body.

    `ledger` is the file of the promises that count, empty where there are none; `observed` the one in which
    use is recorded, whether it is there or not.
    """

    name: str
    parameters: dict[str, Any] = {}
    body: bytes = b""
    ledger: str = ""
    observed: str = ""


class Done(msgspec.Struct, array_like=True):
    """What came of it: a body of some content, whether the answer is yes, and the cluster's revision.

    Where it was refused, `status` is what HTTP says to that, and the body is problem+json.
    """

    status: int = 200
    body: bytes = b""
    content: str = "application/json"
    yes: bool = True
    revision: int = 0
    seconds: float = 0.0
