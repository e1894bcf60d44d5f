"""Facts of other machines over ssh; they need a POSIX shell and nothing of ours.

The script of script.py goes in on standard input, a bundle comes back and is read here by the probes that
also read this machine. A host that fails costs its own answer only. Destinations are checked before any
connection is made: one that begins with a dash would be an option of ssh.
"""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.collect import collect
from ullage.sources.host.facts import ClassOverrides, HostFacts, Problem
from ullage.sources.host.process import Completed, run_bounded
from ullage.sources.host.reading import shown
from ullage.sources.host.recorded import BUNDLE_BYTES_MAX, parse_bundle
from ullage.sources.host.script import remote_script

HOSTS_MAX = 10_000
HOSTS_AT_ONCE_MAX = 64
_PART = r"[A-Za-z0-9_.][A-Za-z0-9_.+%-]*"
_ADDRESS = r"[A-Za-z0-9_.:\[][A-Za-z0-9_.:%\]-]*"
_DESTINATION = re.compile(rf"(ssh://)?({_PART}@)?{_ADDRESS}")


class SshOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach hosts; users, ports, keys and jumps belong in ssh's own configuration file."""

    program: str = "ssh"
    config_path: str | None = None
    connect_timeout_seconds: int = 10
    host_timeout_seconds: int = 180
    hosts_at_once: int = 8


class HostAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one host: its facts, or the problem that prevented them."""

    host: str
    facts: HostFacts | None = None
    problem: Problem | None = None


Progress = Callable[[HostAnswer, int, int], None]


def collect_over_ssh(
    hosts: Sequence[str],
    options: SshOptions,
    *,
    collected_at: datetime,
    class_overrides: ClassOverrides | None = None,
    on_answer: Progress | None = None,
) -> tuple[HostAnswer, ...]:
    """Ask all hosts, some at once, and return their answers in the order of `hosts`.

    `on_answer(answer, done, total)` is called in the caller's thread as each host finishes.
    """
    check_destinations(hosts)
    if not 1 <= options.hosts_at_once <= HOSTS_AT_ONCE_MAX:
        raise InputError(
            f"{options.hosts_at_once} hosts at once", remedy=f"choose between 1 and {HOSTS_AT_ONCE_MAX}"
        )
    if shutil.which(options.program) is None:
        raise InputError("command not found", where=options.program, remedy="install openssh-client")
    if not hosts:
        return ()
    script = remote_script().encode()
    answers: dict[str, HostAnswer] = {}
    executor = ThreadPoolExecutor(min(options.hosts_at_once, len(hosts)), thread_name_prefix="ssh")
    try:
        futures = [
            executor.submit(_ask, host, options, script, collected_at, class_overrides) for host in hosts
        ]
        for future in as_completed(futures):
            answer = future.result()
            answers[answer.host] = answer
            if on_answer is not None:
                on_answer(answer, len(answers), len(hosts))
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
    return tuple(answers[host] for host in hosts)


def check_destinations(hosts: Sequence[str]) -> None:
    """Refuse destinations that ssh could take for something else, and the same one twice."""
    if len(hosts) > HOSTS_MAX:
        raise InputError(f"{len(hosts)} hosts, more than {HOSTS_MAX}", remedy="ask fewer at a time")
    for host in hosts:
        if len(host) > 512 or _DESTINATION.fullmatch(host) is None:
            raise InputError(
                f"{shown(host)} is not an ssh destination",
                where="--ssh",
                remedy="write HOST, USER@HOST or ssh://USER@HOST:PORT",
            )
    if len(set(hosts)) < len(hosts):
        twice = next(host for host in hosts if hosts.count(host) > 1)
        raise InputError(f"host {twice} is given twice", where="--ssh", remedy="give each host once")


def ssh_command(host: str, options: SshOptions) -> tuple[str, ...]:
    """Return the argv that runs a script from standard input on a host, never asking a question."""
    config = () if options.config_path is None else ("-F", options.config_path)
    timeout = f"ConnectTimeout={options.connect_timeout_seconds}"
    batch = ("-T", "-o", "BatchMode=yes", "-o", timeout, "-o", "ControlMaster=no")
    return (options.program, *config, *batch, "--", host, "sh -s")


def _ask(
    host: str,
    options: SshOptions,
    script: bytes,
    collected_at: datetime,
    class_overrides: ClassOverrides | None,
) -> HostAnswer:
    try:
        completed = run_bounded(
            ssh_command(host, options),
            environment={**os.environ, "LC_ALL": "C"},
            timeout_seconds=options.host_timeout_seconds,
            stdout_bytes_max=BUNDLE_BYTES_MAX,
            stdin=script,
        )
        machine = parse_bundle(_output(completed, host, options))
        facts = collect(collected_at, machine=machine, class_overrides=class_overrides)
    except InputError as error:
        reason = f"{error.where}: {error.what}" if error.where else error.what
        return HostAnswer(host=host, problem=Problem(probe="ssh", reason=reason, remedy=error.remedy))
    return HostAnswer(host=host, facts=facts)


def _output(completed: Completed, host: str, options: SshOptions) -> bytes:
    if completed.status == 0:
        return completed.stdout.encode()
    said = completed.stderr.strip().rpartition("\n")[2].strip()[:200]
    command = " ".join((*ssh_command(host, options)[:-1], "true"))
    raise InputError(
        f"ssh ended with status {completed.status}: {said}" if said else f"ssh status {completed.status}",
        remedy=f"make `{command}` work first",
    )
