"""Notices of `tsproxy check` about `ciphers`, of which OpenSSL drops in silence what it does not know."""

import re
import ssl
from collections.abc import Iterator
from typing import Final

from tsproxy.config.problems import Problem
from tsproxy.config.settings import Config, TlsVersion

_BETWEEN: Final = re.compile("[:;, ]+")


def cipher_notices(config: Config) -> Iterator[Problem]:
    """Suites that are misspelt or without effect, in lists that OpenSSL accepts."""
    for tls in (*(listener.tls for listener in config.listeners), config.upstream.tls, config.admin.tls):
        if tls is not None and tls.ciphers is not None:
            place, _, path = tls.place.rpartition(": ")
            for text in _texts(tls.ciphers, tls.min_version):
                yield Problem(place, f"{path}.ciphers", text)


def _texts(ciphers: str, min_version: TlsVersion) -> Iterator[str]:
    if min_version is TlsVersion.V1_3:
        yield "has no effect: these are suites of TLS 1.2, and min_version is 1.3; leave it out"
        return
    for part in _BETWEEN.split(ciphers):
        # Lists for many versions of OpenSSL exclude what this one has not: !RC4. That harms nobody.
        if part[:1].isalnum() and not _is_known(part):
            yield f"{part!r} names no cipher suite of TLS 1.2 that OpenSSL has, and is ignored; correct it"


def _is_known(ciphers: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(ciphers)
    except ssl.SSLError:
        return False
    return True
