"""The inputs of a target that are worth keeping: `stored` reads them, `store` writes them.

The repository has one archive for each target, with few inputs that reach all the branches that were found.
Further inputs that `make fuzz` finds lie in the user's cache, where the next run goes on.
"""

import zipfile
from collections.abc import Iterable, Iterator
from hashlib import sha1
from pathlib import Path
from typing import Final

from tests.kit.commands import CACHE

HERE: Final = Path(__file__).parent / "corpus"
FOUND: Final = Path(__file__).parent / "found"
MAX_BYTES: Final = 14_000
"""The limit of one archive: all of them together stay below 300 KB."""
AT_THE_BEGINNING: Final = (1980, 1, 1, 0, 0, 0)
"""The time of each input: an archive depends on its inputs alone."""


def working(name: str) -> Path:
    """The folder where a run of the target goes on."""
    return CACHE / "fuzz" / "corpus" / name


def stored(name: str) -> Iterator[bytes]:
    """The inputs in the repository."""
    path = HERE / f"{name}.zip"
    if path.exists():
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(entry) for entry in sorted(archive.namelist()))


def found(name: str) -> Iterator[bytes]:
    """The inputs that once broke the target's invariant."""
    for path in sorted((FOUND / name).glob("*")):
        yield path.read_bytes()


def put(folder: Path, inputs: Iterable[bytes]) -> None:
    """Write each to a file that its contents name."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def store(name: str, folder: Path) -> int:
    """Make the archive anew of a folder's files, the smallest first, and return how many it holds."""
    HERE.mkdir(exist_ok=True)
    inputs = sorted((path.read_bytes() for path in folder.iterdir()), key=lambda data: (len(data), data))
    path = HERE / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for number, data in enumerate(inputs):
            entry = zipfile.ZipInfo(f"{number:04}", AT_THE_BEGINNING)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            if archive.fp is not None and archive.fp.tell() > MAX_BYTES:
                return number + 1
    return len(inputs)
