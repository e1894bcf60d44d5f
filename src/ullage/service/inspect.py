"""What a host can give, as ZOS and as Ganeti see it: this one, or others over SSH.

Runs without NumPy, so that it can be used on any machine: nothing of the engine's columns is imported.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ullage.model.errors import InputError
from ullage.service.answer import Answer
from ullage.sources.host.collect import collect
from ullage.sources.host.disks import parse_class_overrides
from ullage.sources.host.facts import HostFacts
from ullage.sources.host.ssh import HostAnswer, SshOptions, collect_over_ssh

Step = Callable[[int, int], None]


def inspect_here(classes: Sequence[str] = (), save: str = "") -> Answer:
    """Answer what this host can give."""
    facts = collect(datetime.now(UTC), class_overrides=parse_class_overrides(classes))
    return inspect_of(facts, save)


def inspect_of(facts: HostFacts, save: str = "") -> Answer:
    """Answer what a host can give whose facts were collected already."""
    from ullage.service.inspect_page import host_page

    if save:
        save_facts(save, (facts,))
    return Answer(lambda: host_page(facts, save), lambda: _document(facts))


def inspect_hosts(
    hosts: Sequence[str], step: Step, options: SshOptions, classes: Sequence[str] = (), save: str = ""
) -> Answer:
    """Answer what other hosts can give; no when one of them did not answer."""
    answers = collect_over_ssh(
        hosts,
        options,
        collected_at=datetime.now(UTC),
        class_overrides=parse_class_overrides(classes),
        on_answer=lambda _, done, total: step(done, total),
    )
    return inspect_answers(answers, save)


def inspect_answers(answers: Sequence[HostAnswer], save: str = "") -> Answer:
    """Answer what hosts can give that were asked already; as data, their documents one after the other."""
    from ullage.service.inspect_page import hosts_page

    if save:
        save_facts(save, [each.facts for each in answers if each.facts is not None])

    found = [each.facts for each in answers if each.facts is not None]
    lost = tuple(f"{each.host}: {each.problem.reason}" for each in answers if each.problem is not None)
    return Answer(
        lambda: hosts_page(answers, save),
        lambda: [_document(facts) for facts in found],
        len(found) == len(answers),
        is_stream=True,
        notes=lost,
    )


def save_facts(folder: str, hosts: Sequence[HostFacts]) -> None:
    """Write one document for each host into a folder, which is then a cluster."""
    from ullage.sources.atomic_file import write_atomically

    Path(folder).mkdir(parents=True, exist_ok=True)
    names = [facts.hostname or "host" for facts in hosts]
    for name, facts in zip(names, hosts, strict=True):
        if names.count(name) > 1:
            raise InputError(
                f"{names.count(name)} hosts call themselves {name!r}", remedy="give each a name of its own"
            )
        if "/" in name or name.startswith("."):
            raise InputError(f"host name {name!r} is no file name", remedy="correct the host's name")
        text = msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n"
        write_atomically(str(Path(folder) / f"{name}.json"), text)


def _document(facts: HostFacts) -> Any:
    return msgspec.to_builtins(facts)
