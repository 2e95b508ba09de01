"""The secret key of hashes in the decision log, if the configuration has none."""

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from tsproxy.config.settings import Decisions
from tsproxy.log_events.catalogue import DECISION_STATE_DAMAGED

FILE: Final = ".salt"
"""The name of the file with the key. The leading dot hides it from programs that read the folder's logs."""
_SALT_BYTES: Final = 32
_DAMAGED: Final = ".damaged-salt"


def salt_of(decisions: Decisions) -> bytes:
    """The salt in force: the configured salt, or else the folder's salt, which the first call makes. Empty if
    nothing is hashed. Raises OSError if the salt can be neither read nor made."""
    if not decisions.hashes:
        return b""
    if decisions.salt is not None:
        return decisions.salt.reveal().encode()
    path = decisions.directory / FILE
    _put_aside_if_damaged(path)
    if not path.exists():
        _make(path)
    # Nobody needs a draft any more: those that are still there are of processes that were killed.
    for draft in path.parent.glob(f"{FILE}-*"):
        draft.unlink(missing_ok=True)
    return path.read_bytes()


def _is_damaged(salt: bytes) -> bool:
    """True after a power loss: the file was cut short, or blocks are zeros. Anybody could guess the rest."""
    return len(salt) < _SALT_BYTES or bytes(8) in salt


def _put_aside_if_damaged(path: Path) -> None:
    """Rename a damaged salt. If several processes find it at the same time, the others find the new one."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_damaged(path.read_bytes()):
            advice = f"a new salt is made: hashes differ from those before; the old one is kept as {_DAMAGED}"
            DECISION_STATE_DAMAGED(file=str(path), advice=advice)
            path.rename(path.with_name(_DAMAGED))


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
