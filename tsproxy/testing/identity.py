"""A certificate and its key as PEM files, and a client's TLS context. Standard library only."""

import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its private key; `keystore` contains both, as Java expects it."""

    certificate: Path
    key: Path
    keystore: Path


def client_context(ca: Path, identity: Identity | None = None) -> ssl.SSLContext:
    """A client's TLS context that trusts `ca`, checks host names, and sends `identity` if there is one."""
    context = ssl.create_default_context(cafile=ca)
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    return context
