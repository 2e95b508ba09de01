"""Turns off OpenSSL's own store of TLS 1.2 sessions: `keep_no_sessions`.

A client that takes no session tickets leaves its session in the server's memory when it closes: 1 KiB, and
with a client certificate the whole chain that the client sent, up to 100 KiB of certificates. OpenSSL keeps
20,480 sessions for each context, and the `ssl` module cannot change that. Tickets are not affected, and all
sessions of TLS 1.3 are tickets. A client without tickets makes a whole handshake for each connection.

Two other ways are not enough: a context that is replaced when its store has filled stays in memory as long
as one of its connections is open, and a context for each connection knows no tickets.
"""

import _ssl
import ctypes
import ssl
import sys
from typing import Final

_SET_SESS_CACHE_MODE: Final = 44
_OFF: Final = 0
"""SSL_CTRL_SET_SESS_CACHE_MODE and SSL_SESS_CACHE_OFF (`openssl/ssl.h`)."""


_READ_LAYOUTS: Final = ((3, 11), (3, 12), (3, 13))
"""The versions of CPython whose `PySSLContext` was read. A wrong pointer would end the process."""


def keep_no_sessions(context: ssl.SSLContext) -> bool:
    """True if it is done. False for a Python whose layout is not known, or that hides its OpenSSL."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in _READ_LAYOUTS:
        return False
    try:
        control = ctypes.CDLL(_ssl.__file__).SSL_CTX_ctrl
    except (AttributeError, OSError):  # OpenSSL is a part of the interpreter
        return False
    control.restype = ctypes.c_long
    control.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_void_p)
    # `PySSLContext` begins with the object's head and OpenSSL's context (Modules/_ssl.c).
    pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    control(pointer, _SET_SESS_CACHE_MODE, _OFF, None)
    return True
