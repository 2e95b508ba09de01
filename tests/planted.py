"""Secrets that a test plants, and the search for them in all that a program has told.

    PLANTED = {"password": "correct horse battery", "value": b"..."}
    assert traces(proxy.log, PLANTED) == []
    assert traces_in_folder(folder, PLANTED) == []

A secret is found as it is and in the forms in which programs print bytes: base64, hex, percent-encoded,
escaped, as a list of numbers. A half of it is enough, since texts are cut off. Capitals do not matter.
"""

import base64
import html
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus

LEAST_BYTES: Final = 8
"""A shorter text is found by chance."""
_BLOCK_BYTES: Final = 1 << 24

Secrets = Mapping[str, str | bytes]


def traces(told: object, secrets: Secrets) -> list[str]:
    """`name as form` of each secret that stands in `told`: bytes, a text, or anything else by its `repr`."""
    if isinstance(told, bytes | bytearray | memoryview):
        text = bytes(told)
    else:
        text = (told if isinstance(told, str) else repr(told)).encode("utf-8", "surrogateescape")
    lowered = text.lower()
    return [
        f"{name} as {form}"
        for name, secret in secrets.items()
        for form, needle in _forms(_bytes_of(secret))
        if needle in lowered
    ]


def traces_in_folder(folder: Path, secrets: Secrets, leave_out: Iterable[str] = ()) -> list[str]:
    """`file: name as form` for all files below a folder, packed ones (.gz, .zip) included, and their names.

    `leave_out` has patterns of paths from the folder: files that are to hold a secret.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not any(fnmatch(name, pattern) for pattern in leave_out):
            of_file = dict.fromkeys(
                each for block in (name.encode(), *_blocks(path)) for each in traces(block, secrets)
            )
            found += [f"{name}: {each}" for each in of_file]
    return found


def _bytes_of(secret: str | bytes) -> bytes:
    return secret.encode() if isinstance(secret, str) else secret


@cache
def _forms(secret: bytes) -> tuple[tuple[str, bytes], ...]:
    """(name of a form, the secret or a half of it in this form, in small letters)."""
    assert len(secret) >= LEAST_BYTES, "a secret so short is found by chance"
    middle = len(secret) // 2
    pieces = (secret[:middle], secret[middle:]) if middle >= LEAST_BYTES else (secret,)
    made = [(form, needle.lower()) for piece in pieces for form, needle in _written(piece)]
    return tuple(dict.fromkeys(each for each in made if each[1]))


def _written(piece: bytes) -> Iterator[tuple[str, bytes]]:
    text = piece.decode("utf-8", "surrogateescape")
    yield "it is", piece
    yield "UTF-16", text.encode("utf-16-le", "surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):  # the bytes before it move it within the groups of three
            yield "base64", _base64_inside(encode(bytes(before) + piece), before, len(piece))
    for between in ("", " ", ":", "-", ", "):
        yield "hex", piece.hex("|").replace("|", between).encode()
    for before in ("\\x", "%", "0x", ", 0x", ",0x"):
        yield "hex", "".join(f"{before}{byte:02x}" for byte in piece).encode().removeprefix(b", ")
    for between in (", ", ",", " "):
        yield "numbers", between.join(map(str, piece)).encode()
    yield "percent-encoded", quote(piece, safe="").encode()
    yield "percent-encoded", quote_plus(piece).encode()
    yield "escaped", repr(piece)[2:-1].encode()
    yield "escaped", repr(text)[1:-1].encode("utf-8", "surrogateescape")
    yield "escaped", json.dumps(text)[1:-1].encode()
    yield "escaped", html.escape(text).encode("utf-8", "surrogateescape")


def _base64_inside(encoded: bytes, before: int, size: int) -> bytes:
    """The characters that depend on the piece alone, whatever stands before and behind it."""
    return encoded[-(-before * 8 // 6) : (before + size) * 8 // 6]


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, in blocks that overlap. A packed file also unpacked."""
    data = path.read_bytes() if path.suffix in {".gz", ".zip"} else b""
    if path.suffix == ".gz":
        yield zlib.decompressobj(wbits=31).decompress(data)  # as far as a process that was killed came
    elif path.suffix == ".zip":
        with zipfile.ZipFile(BytesIO(data)) as packed:
            yield from (packed.read(name) for name in packed.namelist())
    with path.open("rb") as file:
        kept = b""
        while block := file.read(_BLOCK_BYTES):
            yield kept + block
            kept = block[-4096:]
