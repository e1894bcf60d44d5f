"""Which kinds an API server has, asked by a client that follows them afterwards."""

from collections.abc import Collection

import msgspec

from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.live_discovery import Listed, Question, questions
from ullage.sources.kubernetes.live_server import OK, Refusal, Reply
from ullage.sources.places import one_line


async def discovered(client: ApiClient, wanted: Collection[Kind]) -> dict[Kind, Listed]:
    """Return those of the kinds that the server lists; raises an InputError."""
    asking = questions(client.name, wanted)
    question = next(asking)
    while True:
        try:
            question = asking.send(await _reply(client, question))
        except StopIteration as end:
            return dict[Kind, Listed](end.value)


async def _reply(client: ApiClient, question: Question) -> Reply:
    try:
        return Reply(OK, bytearray(await client.get(question.path, accept=question.accept)))
    except RefusedError as error:
        return Reply(error.status, bytearray(msgspec.json.encode(Refusal(message=error.message))))
    except BrokenError as error:
        raise InputError(
            one_line(str(error)), where=client.name, remedy="see whether the API server answers"
        ) from None
