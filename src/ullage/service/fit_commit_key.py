"""What a key of `fit --commit` stands for: one question, whose answer is told again when it is repeated.

The commands of a commit depend on what is held, so they cannot say whether a question is the same. A digest
of what was asked for is kept with them; when and for how long is no part of it.
"""

from hashlib import sha256

from ullage.model.errors import InputError
from ullage.model.ledger import Command, Outcome, Refuse, Reserve, Together
from ullage.model.wire import to_builtins
from ullage.render.json_text import to_json
from ullage.service.asked import Asked
from ullage.service.fit import Commit, FitQuestion
from ullage.service.ledger_file import Place, is_there, row_under
from ullage.service.wanted import Wanted


def question_of(asked: Asked, question: FitQuestion, wanted: Wanted, commit: Commit) -> str:
    """Return what tells a question from others: the workloads and how they are to be placed."""
    workloads = [
        {
            "workload": batch.key,
            "kind": batch.workload.kind,
            "replicas": batch.replicas,
            "requests": to_builtins(batch.workload.requests, wanted.types),
            "limits": to_builtins(batch.workload.limits, wanted.types),
            "constraints": to_builtins(batch.workload.constraints, wanted.types),
            "volumes": to_builtins(batch.workload.volumes, wanted.types),
        }
        for batch in (wanted.batches if question.paths else ())
    ]
    claims = [(each.key, each.storage_class, each.size_bytes) for each in wanted.objects.claims]
    facts = {
        "waiting": "" if question.paths else f"those that wait in {asked.namespace or 'all namespaces'}",
        "workloads": workloads,
        "claims": sorted(claims),
        "atomic": wanted.atomic,
        "placement": question.placement,
        "waits": commit.waits,
    }
    return sha256(to_json(facts).encode()).hexdigest()


def known_under(path: Place, key: str, asked_under: str, wanted: Wanted) -> Outcome | None:
    """Return what became of the same question when it was asked under this key; refuse another one."""
    if not key or not is_there(path):
        return None
    from ullage.stores.protocol import checked_key

    row = row_under(path, checked_key(key))
    if row is None:
        return None
    before = row.command.question if isinstance(row.command, Together) else "another command"
    others = _owners(row.command) - {batch.key for batch in wanted.batches}
    if others or before not in {"", asked_under}:
        what = f"for {min(others)}" if others else "for another question"
        raise InputError(
            f"the key {key} was used {what} at revision {row.revision}",
            where="--key",
            remedy="use a new key for a new question",
        )
    return Outcome(row.revision, row.decision, repeated=True)


def _owners(command: Command) -> set[str]:
    """Return for whom a plan holds or refuses something."""
    parts = command.commands if isinstance(command, Together) else ()
    return {part.owner for part in parts if isinstance(part, Reserve | Refuse)}
