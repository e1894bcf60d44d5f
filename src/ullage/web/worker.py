"""A process that holds one reading of a cluster and answers questions about it, one at a time.

It was forked by a loader that had everything ready, and shares that memory until it writes to it. The hard
thing is to harm nobody else: what it allocates is bounded, a question that nobody waits for any more ends it,
and after an error that nobody foresaw, or once it has grown, it answers and ends: the loader forks another.
"""

import math
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from ullage.model.errors import InputError
from ullage.service.progress import stepping
from ullage.web.frames import Answered, Asking, EndedError, Hello, ToRead, receive, send
from ullage.web.http import HTML, JSON, Problem
from ullage.web.problems import defect, of_input
from ullage.web.steps import Telling
from ullage.web.work import Done, Work

if TYPE_CHECKING:
    from ullage.service.held import Held

SNAPSHOT: Final = "application/vnd.ullage.snapshot"
FORMS: Final = ("json", "compact")
GROWN_BYTES_MAX: Final = 256 << 20
"""How much more memory than at its start a worker may keep between questions."""
APART_NICE: Final = 10
"""How far what is done apart steps back behind those who answer."""
ALARM_SECONDS: Final = 10
"""So long after its time a question ends its worker, should nobody be left to do that."""
TOUCHED: Final = (Work("question/fit", {"shape": "cpu=1m,memory=1Mi"}),)
"""What a worker answers to nobody before its first question: what it writes to is its own from then on."""
_ASKING: Final = msgspec.msgpack.Decoder(Asking)
_RESIDENT, _DATA = 1, 5
"""Columns of /proc/self/statm."""


def answer(work: Work, held: "Held") -> Done:
    """Do one thing; what is refused is answered as a problem, and any other error is raised."""
    from ullage.service.held import holding

    start = time.perf_counter()
    kind, _, name = work.name.partition("/")
    try:
        with holding([held]):
            done = _KINDS[kind](name, work, held)
    except InputError as error:
        done = refused(of_input(error))
    except Problem as problem:
        done = refused(problem)
    done.seconds = time.perf_counter() - start
    return done


def warm(held: "Held", works: Sequence[Work]) -> None:
    """Do what others will ask for; whoever asks for it is told what is wrong with it."""
    for work in works:
        try:
            answer(work, held)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - a defect of one page is no reason to have no cluster
            traceback.print_exc()


def refused(problem: Problem) -> Done:
    """Return a problem as what came of some work."""
    told = problem.response()
    return Done(told.status, told.body, told.content, yes=False)


def _question(name: str, work: Work, held: "Held") -> Done:
    from ullage.render.json_text import to_json
    from ullage.service.questions import ask
    from ullage.sources.given import giving

    found = ask(
        name,
        work.parameters,
        cluster=held.name,
        body=work.body,
        ledger=work.ledger,
        observed=work.observed,
    )
    with giving({}):
        text = "".join(to_json(each) for each in found.documents("json"))
    return Done(body=text.encode(), yes=found.yes)


def _page(name: str, work: Work, held: "Held") -> Done:
    from ullage.service.asked import Asked
    from ullage.sources.given import giving
    from ullage.web.pages import PAGES

    view = PAGES.get(name)
    if view is None:
        raise Problem(404, f"there is no page {name!r}")
    asked = Asked(held.name, ledger=work.ledger, observed=work.observed)
    with giving({"-": work.body}):
        return Done(body=view(asked, work.parameters, work.body), content=HTML)


def _snapshot(_: str, work: Work, held: "Held") -> Done:
    from ullage.service.asked import Asked, read_as_it_is

    form = work.parameters.get("form", "json")
    if form not in FORMS:
        raise Problem(400, f"no form {form!r} of a snapshot", f"use one of {', '.join(FORMS)}")
    snapshot = read_as_it_is(Asked(held.name))
    if form == "compact":
        from ullage.sources.snapshot_file import snapshot_bytes

        return Done(body=snapshot_bytes(snapshot, keeps_order=True), content=SNAPSHOT)
    from ullage.sources.own_text import snapshot_text

    return Done(body=snapshot_text(snapshot, "json"), content=JSON)


def _figures(_: str, work: Work, held: "Held") -> Done:
    from ullage.service.asked import Asked
    from ullage.service.figures import figures

    return Done(body=msgspec.json.encode(figures(Asked(held.name, ledger=work.ledger))))


def _offers(_: str, work: Work, held: "Held") -> Done:
    from ullage.service.asked import Asked
    from ullage.service.ledger_offers import offers_of
    from ullage.stores.codec import capacity_text

    offers = offers_of(Asked(held.name, ledger=work.ledger))
    return Done(body=f"[{','.join(map(capacity_text, offers))}]".encode())


def _ledger(name: str, work: Work, held: "Held") -> Done:
    from ullage.service.ledger_messages import MESSAGES
    from ullage.stores.exchange import MEDIA

    del held
    return Done(body=MESSAGES[name](work.ledger, work.parameters), content=MEDIA)


def _usage(name: str, work: Work, held: "Held") -> Done:
    from ullage.service.asked import Asked
    from ullage.service.usage_work import WORKS

    asked = Asked(held.name, ledger=work.ledger, observed=work.observed)
    return Done(body=WORKS[name](asked, work.parameters, work.body))


_KINDS: Final[dict[str, Callable[[str, Work, "Held"], Done]]] = {
    "question": _question,
    "page": _page,
    "snapshot": _snapshot,
    "figures": _figures,
    "offers": _offers,
    "ledger": _ledger,
    "usage": _usage,
}


def run(order: ToRead, held: "Held", revision: int, apart: str = "") -> NoReturn:
    """Answer until nobody asks any more; the end of the process, whatever happens."""
    status = 1
    try:
        _serve(order, held, revision, apart)
        status = 0
    except EndedError:
        status = 0
    except BaseException:  # noqa: BLE001 - a fork must never run on into the code of its loader
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _serve(order: ToRead, held: "Held", revision: int, apart: str) -> None:
    before_bytes = _bytes(_RESIDENT)
    if order.worker_bytes_max:
        most = _bytes(_DATA) + order.worker_bytes_max
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if apart:
        os.nice(APART_NICE)
    else:
        warm(held, TOUCHED)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(order.socket)
        send(connection, Hello(order.reading, apart))
        while True:
            asking = receive(connection, _ASKING)
            signal.alarm(math.ceil(asking.seconds_max) + ALARM_SECONDS)
            with stepping(Telling(connection) if asking.is_followed else None):
                done, is_last = _answered(asking.work, held)
            done.revision = revision
            is_last = is_last or _bytes(_RESIDENT) - before_bytes > GROWN_BYTES_MAX
            send(connection, Answered(done, is_last))
            signal.alarm(0)
            if is_last:
                return


def _answered(work: Work, held: "Held") -> tuple[Done, bool]:
    """Return what came of some work, and whether the worker had better end."""
    try:
        return answer(work, held), False
    except MemoryError:
        problem = Problem(
            503, "answering takes more memory than a question may use", "ask about less at a time"
        )
        return refused(problem), True
    except EndedError:
        raise  # nobody is there who could be answered
    except Exception:  # noqa: BLE001 - whatever it is, it ends this worker and no other
        traceback.print_exc()
        return refused(defect(work.name)), True


def _bytes(column: int) -> int:
    """Return how much memory this process has, in one of the ways of /proc/self/statm."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[column])
    return pages * resource.getpagesize()
