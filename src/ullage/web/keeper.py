"""A process that keeps the ledger of one cluster: whatever has arrived while it wrote goes to the disk next.

HTTP and the ledger take about the same time for each step, and Python runs one thread at a time: in one
process they would take turns. The process that speaks HTTP is the only one that calls. When it is gone nobody
is answered any more, so this one ends too: what it had begun is durable or never was.
"""

import contextlib
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ullage.engine.ledger.decide import decide
from ullage.model.errors import InputError
from ullage.stores import codec
from ullage.stores.database_file import BUSY_SECONDS
from ullage.stores.group_commit import BATCH_MAX, Request
from ullage.stores.writing import LedgerWriter
from ullage.web.children import alone_with_parent
from ullage.web.frames import BUFFER_BYTES, EndedError, Splitter, packed
from ullage.web.keeper_frames import ASKED, Due, IsDue, Opened, Refused, Step, Taken, refused

MODULE: Final = "ullage.web.keeper"


def main() -> None:
    """Keep the ledger in the file that is named, for the process at the other end of standard input."""
    with alone_with_parent() as connection, contextlib.suppress(EndedError, ConnectionError):
        path = Path(sys.argv[1])
        try:
            writer = LedgerWriter(path, create=True, busy_seconds=BUSY_SECONDS, decide=decide)
            opened = writer.ask(
                lambda state: Opened(state.revision, tuple(map(codec.capacity_text, state.capacities)))
            )
        except InputError as error:
            connection.sendall(packed([refused(0, error)]))
            return
        with contextlib.closing(writer):
            connection.sendall(packed([opened]))
            keep(connection, writer)


def keep(connection: socket.socket, writer: LedgerWriter) -> None:
    """Take steps and answer, until nobody asks any more."""
    splitter = Splitter()
    while data := connection.recv(BUFFER_BYTES):
        asked = [each for record in splitter.cut(data) for each in ASKED.decode(record)]
        for start in range(0, len(asked), BATCH_MAX):
            connection.sendall(packed(answers(writer, asked[start : start + BATCH_MAX])))
        with contextlib.suppress(Exception):  # nobody waits for it, and it comes again
            writer.settle()


def answers(writer: LedgerWriter, asked: Sequence[Step | IsDue]) -> list[Taken | Due | Refused]:
    """Take steps together, and return what became of each once all are durable."""
    steps = {each.number: _request(each) for each in asked if isinstance(each, Step)}
    if steps:
        try:
            writer.write(list(steps.values()))
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            for request in steps.values():
                request.fail(error)
    return [
        _taken(each, steps[each.number]) if isinstance(each, Step) else _due(writer, each) for each in asked
    ]


def _request(step: Step) -> Request:
    command = codec.to_command(step.text)
    return Request(command, step.text, step.at_seconds, step.key, step.revision, exact=step.exact)


def _taken(step: Step, request: Request) -> Taken | Refused:
    try:
        outcome = request.result()
    except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
        return refused(step.number, error)
    text = codec.decision_text(outcome.decision)
    return Taken(step.number, outcome.revision, text, outcome.moved, outcome.repeated)


def _due(writer: LedgerWriter, asked: IsDue) -> Due | Refused:
    try:
        return writer.ask(lambda state: Due(asked.number, state.revision, bool(state.due(asked.now_seconds))))
    except InputError as error:
        return refused(asked.number, error)


if __name__ == "__main__":
    main()
