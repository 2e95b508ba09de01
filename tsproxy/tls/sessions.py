"""Turns off OpenSSL's own store of TLS 1.2 sessions: `keep_no_sessions`, once `why_not` has tried it.

A client that takes no session tickets leaves its session in the server's memory when it closes: 1 KiB, and
with a client certificate the whole chain that the client sent, up to 100 KiB of certificates. OpenSSL keeps
20,480 sessions for each context, and the `ssl` module cannot change that. Tickets are not affected, and all
sessions of TLS 1.3 are tickets. A client without tickets makes a whole handshake for each connection, also
if its session was stored before.

Two other ways are not enough: a context that is replaced when its store has filled stays in memory as long
as one of its connections is open, and a context for each connection knows no tickets.

The pointer to OpenSSL's context is read from the memory of Python's object. A wrong pointer would end the
process, so this file is also a program that tries it: `python sessions.py`. Standard library only.
"""

import _ssl
import ctypes
import os
import ssl
import subprocess
import sys
from typing import Final

_SET_SESS_CACHE_MODE: Final = 44
_OFF: Final = 0x100
"""SSL_CTRL_SET_SESS_CACHE_MODE and SSL_SESS_CACHE_NO_INTERNAL_LOOKUP (`openssl/ssl.h`). SSL_SESS_CACHE_OFF
stores nothing new either, but still looks up what is stored."""

READ_LAYOUTS: Final = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
"""The versions of CPython whose `PySSLContext` begins with OpenSSL's context, by Modules/_ssl.c or by the
instructions of the built module. They are believed where no process can try it."""
_TRIAL_S: Final = 10.0
_PASSED_ON: Final = ("LD_", "OPENSSL_")
"""The beginnings of the variables that choose OpenSSL and its settings. No others: a process that crashes may
leave its environment in a file."""
_ANONYMOUS: Final = "AECDH-AES256-SHA:@SECLEVEL=0"
"""A cipher suite for which a handshake needs no certificate."""


def keep_no_sessions(context: ssl.SSLContext) -> None:
    """Let OpenSSL store no sessions of this context. Raises AttributeError and OSError where Python hides its
    OpenSSL. Call it only if `why_not` has found nothing."""
    control = ctypes.CDLL(_ssl.__file__).SSL_CTX_ctrl
    control.restype = ctypes.c_long
    control.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_void_p)
    # `PySSLContext` begins with the object's head and OpenSSL's context (Modules/_ssl.c).
    pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    control(pointer, _SET_SESS_CACHE_MODE, _OFF, None)


def why_not(program: str = __file__) -> str | None:
    """None if `keep_no_sessions` works with this Python, else why not. It takes a process of its own about
    0.1 s."""
    try:
        ended = subprocess.run(  # noqa: S603  # this very file
            [sys.executable, "-I", "-S", program],
            env={name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TRIAL_S,
            start_new_session=True,  # a terminal's Ctrl-C is not for it
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return _untried(str(error))
    if ended.returncode < 0:
        return f"a process that tried it was killed by signal {-ended.returncode}"
    if ended.returncode:
        return _untried((ended.stderr.splitlines() or ["it ended without a word"])[-1])
    return None if ended.stdout == "0\n" else "a handshake of TLS 1.2 left its session behind"


def _untried(why: str) -> str | None:
    is_read = sys.implementation.name == "cpython" and sys.version_info[:2] in READ_LAYOUTS
    return None if is_read else f"no process could try it: {why}"


def _trial() -> int:
    """How many sessions a handshake of TLS 1.2 without tickets leaves in memory. The connection is still
    open: OpenSSL 3.0 forgets the session of one that is closed without a goodbye."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.options |= ssl.OP_NO_TICKET
    for context in (server, client):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(_ANONYMOUS)
    try:
        keep_no_sessions(server)
    except (AttributeError, OSError):
        return 1
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(to_client, to_server)
    answers = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(2):
        for end in (asks, answers):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    asks.do_handshake()
    return server.session_stats()["number"]


if __name__ == "__main__":
    print(_trial())
