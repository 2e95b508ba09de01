"""A network of one's own: the ports that a page names are free in it, and packets can be dropped in it."""

import fcntl
import os
import socket
import struct
import sys
from collections.abc import Sequence

from tests.kit.namespaces import is_allowed

_VARIABLE = "TSPROXY_OWN_NETWORK"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount")
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def enter(module: str, arguments: Sequence[str]) -> None:
    """Starts `python -m module arguments` again in a network of its own, where the system allows that.

    Returns in that network, or in this one if the system does not allow another one.
    """
    if os.environ.pop(_VARIABLE, None) is not None:
        _switch_on_loopback()
    elif is_allowed(_UNSHARE):
        os.environ[_VARIABLE] = "1"
        os.execvp(_UNSHARE[0], [*_UNSHARE, sys.executable, "-m", module, *arguments])


def _switch_on_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, _GET_FLAGS, request), 16)
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))
