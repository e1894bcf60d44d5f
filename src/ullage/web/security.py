"""Who asks, and whether a browser was tricked into asking.

Beyond this machine everybody shows a token, or the cookie of a session that one has begun. On it whoever asks
is let in; but a page of somebody else in the same browser is not: it may reach us under a name of its own
(which Host shows), or send a form (which Origin and Sec-Fetch-Site show, and a token that it cannot know).
"""

import hmac
import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from ullage.web.forms import FORM, FORM_WITH_FILES, form_fields, media_type
from ullage.web.http import SCOPES, Principal, Problem, Scope
from ullage.web.settings import LOOPBACK, Settings
from ullage.web.tokens import SESSION_SECONDS, Tokens

COOKIE: Final = "ullage_session"
FORGERY_FIELD: Final = "csrf"
FORGERY_HEADER: Final = "x-csrf-token"
LOCAL: Final = Principal("local", "commit")
SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS"))
FORMS: Final = frozenset((FORM, FORM_WITH_FILES, "text/plain"))
"""What a page may send to others without being asked whether it may."""
HEADERS: Final = (
    (
        "content-security-policy",
        (
            "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
            "form-action 'self'; frame-ancestors 'none'"
        ),
    ),
    ("x-content-type-options", "nosniff"),
    # not no-referrer, with which browsers hide from us where our own forms come from
    ("referrer-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
)
_SECRET: Final = secrets.token_bytes(32)
_PROXIED: Final = ("forwarded", "via", "x-real-ip", "x-forwarded", "x-forwarded-", "cf-", "true-client-ip")
"""How headers begin that proxies add; there are some that add none."""


class Visitor(NamedTuple):
    """Who asks, and the session that says so, if one does."""

    who: Principal
    session: str = ""


class Security:
    """The door of a server."""

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._settings = settings
        self._tokens = tokens
        self._is_open = settings.is_local and not settings.needs_token
        self._hosts = frozenset((*LOOPBACK, settings.host))

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Refuse names of this machine that are not its own: somebody else's name may lead here."""
        if self._settings.is_local and host_name(headers.get("host", "")) not in self._hosts:
            raise Problem(
                421,
                "this server does not go by that name",
                f"it answers to {', '.join(sorted(self._hosts))}; --listen makes it answer others",
            )

    def visitor(self, headers: Mapping[str, str]) -> Visitor | None:
        """Return who asks; nobody where that is not shown. A token that is none is refused."""
        given = headers.get("authorization")
        if given is not None:
            kind, _, secret = given.partition(" ")
            who = self._tokens.of_token(secret.strip()) if kind.lower() == "bearer" else None
            if who is None:
                raise unauthorised("the token is unknown or has ended")
            return Visitor(who)
        session = cookie(headers)
        who = self._tokens.of_session(session) if session else None
        if who is not None:
            return Visitor(who, session)
        if not self._is_open:
            return None
        if any(name.startswith(_PROXIED) for name in headers):
            raise unauthorised("this comes from elsewhere through a proxy, so that a token is needed")
        return Visitor(LOCAL)

    def check_source(self, method: str, headers: Mapping[str, str]) -> None:
        """Refuse changes that a browser was made to ask for by a page of somebody else."""
        if method in SAFE:
            return
        site = headers.get("sec-fetch-site")
        origin = headers.get("origin")
        if site not in {None, "same-origin", "none"}:
            raise Problem(403, "this was asked for by a page of another site", f"Sec-Fetch-Site is {site}")
        if origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower():
            raise Problem(403, "this was asked for by a page of another site", "Origin is not this server")

    def check_forgery(self, method: str, headers: Mapping[str, str], visitor: Visitor, body: bytes) -> None:
        """Refuse forms, and whatever a session asks for, that lack the token which our pages have."""
        if method in SAFE or "authorization" in headers:
            return
        is_form = method == "POST" and media_type(headers) in FORMS  # pages of others can send nothing else
        if not visitor.session and not is_form:
            return
        given = headers.get(FORGERY_HEADER) or form_fields(headers, body).get(FORGERY_FIELD, "")
        if not hmac.compare_digest(given.encode(), forgery_token(headers).encode()):
            raise Problem(
                403,
                "the form is too old, or not one of this server's",
                f"load the page again; programs send a token as a header, or {FORGERY_HEADER} with a session",
            )


def check_scope(visitor: Visitor | None, scope: Scope | None) -> Principal:
    """Return who asks if they may go so far; whoever is nobody may ask what is open."""
    if scope is None:
        return visitor.who if visitor else Principal("nobody", "read")
    if visitor is None:
        raise unauthorised("a token is needed")
    if SCOPES.index(visitor.who.scope) < SCOPES.index(scope):
        raise Problem(
            403,
            f"the token {visitor.who.name} may not {scope}",
            f"it is for {visitor.who.scope}: make one with ullage token add --scope {scope}",
            scope=scope,
        )
    return visitor.who


def unauthorised(title: str) -> Problem:
    """Return the problem of not being known."""
    return Problem(401, title, "send it as Authorization: Bearer TOKEN, or sign in at /login")


def forgery_token(headers: Mapping[str, str]) -> str:
    """Return what forms that somebody is given have to bring back: it is theirs while this server runs."""
    return hmac.new(_SECRET, cookie(headers).encode(), "sha256").hexdigest()


def cookie(headers: Mapping[str, str]) -> str:
    """Return the session that a browser tells."""
    for part in headers.get("cookie", "").split(";"):
        name, _, held = part.strip().partition("=")
        if name == COOKIE:
            return held
    return ""


def set_cookie(settings: Settings, session: str) -> tuple[str, str]:
    """Return the header that has a browser keep a session, or forget it where that is empty."""
    seconds = SESSION_SECONDS if session else 0
    secure = "; Secure" if settings.has_tls else ""
    return (
        "set-cookie",
        f"{COOKIE}={session}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
    )


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port, in lower case."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if ":" in name else name
