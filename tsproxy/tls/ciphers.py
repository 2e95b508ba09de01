"""Notices of `tsproxy check` about `ciphers`, of which OpenSSL drops in silence what it does not know."""

import re
import ssl
from collections.abc import Iterator
from typing import Final

from tsproxy.config.problems import Problem
from tsproxy.config.settings import Config, TlsVersion

_BETWEEN: Final = re.compile("[:;, ]+")
_EXAMPLES: Final = 3


def cipher_notices(config: Config) -> Iterator[Problem]:
    """Suites that are misspelt, without effect, or a risk, in lists that OpenSSL accepts."""
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
        if part[:1].isalnum() and _chosen(part) is None:
            yield f"{part!r} names no cipher suite of TLS 1.2 that OpenSSL has, and is ignored; correct it"
    context = _chosen(ciphers)
    # From level 1 on, OpenSSL uses none of them, though it lists them.
    if context is not None and context.security_level == 0:
        bare = [suite["name"] for suite in context.get_ciphers() if _is_bare(suite)]
        if bare:
            yield (
                "@SECLEVEL=0 allows suites without encryption or without certificates, such as "
                f"{', '.join(bare[:_EXAMPLES])}; add :!eNULL:!aNULL"
            )


def _chosen(ciphers: str) -> ssl.SSLContext | None:
    """A context with these suites; None if OpenSSL has none of them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:
        return None
    return context


def _is_bare(suite: "ssl._Cipher") -> bool:
    return suite["strength_bits"] == 0 or suite["auth"] == "auth-null"
