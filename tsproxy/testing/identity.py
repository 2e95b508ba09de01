"""A certificate and its key as PEM files, and what a client does with them. Standard library only."""

import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody's certificate and private key; `keystore` holds both, as Java wants its PEM."""

    certificate: Path
    key: Path
    keystore: Path


def client_context(ca: Path, identity: Identity | None = None) -> ssl.SSLContext:
    """What a client needs to trust `ca`, host names checked, and to show `identity` where it has one."""
    context = ssl.create_default_context(cafile=ca)
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    return context
