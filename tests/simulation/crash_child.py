"""Processes that use a ledger until they are killed: one that stays makes them, so that each costs a fork.

It reads orders, one line of JSON each, and answers each with the wait statuses of the processes it made. Such
a process reserves, binds and releases from several threads, and writes a line for each outcome that it was
told, once it was told. What is written this way is kept by the system when the process dies.
"""

import ctypes
import hashlib
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Capacity, Expire, Extend, Hold, Release, Reserve, Resize, Supply
from ullage.model.resources import Resources
from ullage.stores import codec, database_file, opening, writing
from ullage.stores.sqlite import SqliteLedger

FLEET = Supply(tuple(Capacity(f"node/{number}", Resources({"cpu": 400})) for number in range(4)))
THREADS = 6
ATTEMPTS_MAX = 3


def told(command, decision):
    """Return what identifies an outcome: a hash of what was asked and what was decided."""
    text = codec.command_text(command) + codec.decision_text(decision)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Client:
    """One thread: it asks, and writes down what it is told; what fails it asks again under the same key."""

    def __init__(self, ledger, told_to, name, seed):
        self.ledger = ledger
        self.told_to = told_to
        self.name = name
        self.draw = random.Random(seed)  # noqa: S311 - the same wishes in every run, not a secret
        self.asked = 0

    def run(self, steps):
        for number in range(steps):
            reservation = f"{self.name}-{number}"
            node = f"node/{self.draw.randrange(4)}"
            amount = Resources({"cpu": self.draw.randrange(1, 40)})
            expires = self.asked + self.draw.randrange(5, 200)
            self.ask(Reserve(reservation, self.name, expires, holds=(Hold("web", node, amount),)))
            command = self.draw.choice(
                (
                    Bind(reservation),
                    Extend(reservation, expires + 50),
                    Resize(reservation, "web", node, Resources({"cpu": 1})),
                    Expire(),
                    Release(reservation),
                )
            )
            self.ask(command)
            if self.draw.random() < 0.7:
                self.ask(Release(reservation))

    def ask(self, command):
        self.asked += 1
        key = f"{self.name}-{self.asked}"
        for _ in range(ATTEMPTS_MAX):
            try:
                outcome = self.ledger.submit(command, at_seconds=self.asked, key=key)
            except InputError as error:
                os.write(self.told_to, f"error {type(error).__name__}\n".encode())
            else:
                os.write(self.told_to, f"{outcome.revision} {told(command, outcome.decision)}\n".encode())
                return


def use(order, number):
    """Use the ledger of an order until the end of it, or of this process."""
    told_to = os.open(order["told"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    if order["faults"]:
        trace = os.open(order["trace"], os.O_CREAT | os.O_APPEND | os.O_WRONLY) if order["trace"] else -1
        plan = ctypes.CDLL(None).disk_faults_plan
        plan.argtypes = [ctypes.c_char_p, ctypes.c_int, *[ctypes.c_int64] * 4, ctypes.c_int, ctypes.c_int]
        plan(order["folder"].encode(), trace, *order["faults"])
    database_file.LOG_PAGES = order["log_pages"]
    writing.CHECKPOINT_ROWS_MIN = order["checkpoint_rows"]
    if order["careless"]:
        careful = opening.connect
        opening.connect = lambda *given, **named: careless(careful(*given, **named))
    try:
        ledger = SqliteLedger(Path(order["folder"]) / "ledger", busy_seconds=20)
    except InputError as error:
        os.write(told_to, f"error {type(error).__name__}\n".encode())
        return
    clients = [
        Client(ledger, told_to, f"{order['generation']}-{number}-{thread}", order["seed"] + thread)
        for thread in range(THREADS)
    ]
    threads = [threading.Thread(target=client.run, args=(order["steps"],)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()


def careless(connection):
    """Return a connection that takes the disk's word for nothing to be done."""
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def fork(order, number):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            use(order, number)
            status = 0
        finally:
            os._exit(status)
    return child


def carry_out(order):
    """Make the processes of an order, kill those that the clock is to kill, and await all of them."""
    children = [fork(order, number) for number in range(len(order["kill_after_seconds"]))]
    started = time.monotonic()
    planned = zip(order["kill_after_seconds"], children, strict=True)
    for seconds, child in sorted(each for each in planned if each[0] is not None):
        time.sleep(max(0.0, started + seconds - time.monotonic()))
        os.kill(child, signal.SIGKILL)
    return [os.waitpid(child, 0)[1] for child in children]


def main():
    for line in sys.stdin:
        sys.stdout.write(json.dumps(carry_out(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
