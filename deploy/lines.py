"""`python -m deploy.lines`: fails if a package has more lines than `[tool.tsproxy.lines]` allows.

It counts tracked files of code, and in `tests` and `rigs` also tables that are written by hand. Lock files do
not count, nor does output that tests compare with: it lies in a folder named `golden` or `fixed`.
"""

import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Final

CODE: Final = {".py", ".pyx", ".pxd", ".c", ".h", ".java"}
TABLES: Final = {".json", ".yaml", ".toml", ".csv"}
ELSEWHERE: Final = "elsewhere"


def is_counted(file: PurePosixPath) -> bool:
    if file.suffix in CODE:
        return True
    is_written_by_hand = "lock" not in file.name and not {"golden", "fixed"} & set(file.parts)
    return file.suffix in TABLES and file.parts[0] in ("tests", "rigs") and is_written_by_hand


def package_of(file: PurePosixPath, packages: set[str]) -> str:
    """The innermost of the packages that has the file."""
    return next((name for name in map(str, file.parents) if name in packages), ELSEWHERE)


def counted(root: Path, packages: set[str]) -> Counter[str]:
    """The lines of each package."""
    git = ["git", "ls-files", "-z"]
    tracked = subprocess.run(git, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603  # git itself
    lines: Counter[str] = Counter()
    for file in map(PurePosixPath, filter(None, tracked.stdout.split("\0"))):
        if is_counted(file) and (root / file).is_file():
            lines[package_of(file, packages)] += (root / file).read_bytes().count(b"\n")
    return lines


def main(root: Path) -> int:
    limits: dict[str, int] = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["tsproxy"]["lines"]
    lines = counted(root, set(limits))
    beyond = [name for name, count in lines.items() if count > limits.get(name, 0)]
    for name in beyond:
        print(f"{name} has {lines[name]} lines, and may have {limits.get(name, 0)} ([tool.tsproxy.lines]).")
    if beyond:
        print("Take lines out. A number only goes down, unless the commit says which feature replaces which.")
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[1]))
