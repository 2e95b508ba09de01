"""The secret key of hashes in the decision log, if the configuration has none."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from tsproxy.config.settings import Decisions

FILE: Final = ".salt"
"""The name of the file with the key. The leading dot hides it from programs that read the folder's logs."""
_SALT_BYTES: Final = 32


def salt_of(decisions: Decisions) -> bytes:
    """The salt in force: the configured salt, or else the folder's salt, which the first call makes. Empty if
    nothing is hashed. Raises OSError if the salt can be neither read nor made."""
    if not decisions.hashes:
        return b""
    if decisions.salt is not None:
        return decisions.salt.reveal().encode()
    path = decisions.directory / FILE
    if not path.exists():
        _make(path)
    # Nobody needs a draft any more: those that are still there are of processes that were killed.
    for draft in path.parent.glob(f"{FILE}-*"):
        draft.unlink(missing_ok=True)
    return path.read_bytes()


def _make(path: Path) -> None:
    """Write the salt file completely or not at all. If several processes make a file at the same time, the
    first one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{FILE}-{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_SALT_BYTES))
            file.flush()
            os.fsync(descriptor)
        # Another process was faster, and may have removed the draft.
        with suppress(FileExistsError, FileNotFoundError):
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
