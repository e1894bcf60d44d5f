"""The certificate that a server shows, read again while it runs.

The hard thing is a pair of files of which only one was written yet, when somebody renews them: a context of
TLS that is given such a pair has none any more. So a new pair is read into a new context, which counts for
those who come from then on; where it is none, the one of before stays.
"""

import ssl

from ullage.model.errors import InputError
from ullage.web.logs import Log
from ullage.web.settings import Settings


class Certificate:
    """What is shown to those who come now."""

    def __init__(self, settings: Settings) -> None:
        """Read the certificate that the settings name; raises an InputError where it cannot be used."""
        self._settings = settings
        self.context = _read(settings)

    def read_again(self, log: Log) -> None:
        """Show what the files have now, if that can be used."""
        try:
            self.context = _read(self._settings)
        except InputError as error:
            log.say("keeps the certificate it has", why=str(error))
        else:
            log.say("has read the certificate again")


def _read(settings: Settings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(settings.tls_certificate, settings.tls_key or None, _no_pass_phrase)
    except OSError as error:
        raise InputError(
            f"cannot be used: {error.strerror or error}",
            where=f"--tls-cert {settings.tls_certificate}",
            remedy="give a certificate and its key in PEM, with --tls-cert and --tls-key",
        ) from error
    return context


def _no_pass_phrase() -> str:
    """Refuse a key that wants one: a terminal would be asked, and everybody would wait for an answer."""
    raise OSError("its key has a pass phrase")
