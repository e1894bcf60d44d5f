"""Forms as browsers send them, with files or without, within bounds."""

from collections.abc import Mapping
from email.parser import BytesParser
from email.policy import HTTP
from typing import Final
from urllib.parse import parse_qsl

from ullage.web.http import Problem

FORM: Final = "application/x-www-form-urlencoded"
FORM_WITH_FILES: Final = "multipart/form-data"
FIELDS_MAX: Final = 1000


def media_type(headers: Mapping[str, str]) -> str:
    """Return what a body is, without parameters, in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def form_fields(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """Return the fields of a form, files as text; the last one counts where one is there twice."""
    media = media_type(headers)
    try:
        if media == FORM:
            return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX))
        return _parts(headers["content-type"], body) if media == FORM_WITH_FILES else {}
    except ValueError as error:
        raise Problem(400, "the form cannot be read", str(error)) from None


def _parts(content: str, body: bytes) -> dict[str, str]:
    if body.count(b"\n--") > 2 * FIELDS_MAX:
        raise ValueError("it has too many parts")
    head = f"Content-Type: {content}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise ValueError("its parts have no boundary")
    found = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        held = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(held, bytes):
            found[name] = held.decode()
    return found
