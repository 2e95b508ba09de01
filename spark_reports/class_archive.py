"""Spark's classes as the JVM maps them into memory, kept from one run to the next.

A third of the CPU time of a small job is spent on finding and checking some twenty thousand classes in
Spark's jars. The first JVM that we start writes them to an archive as it ends (Java's class data sharing),
and later ones take them from there. What does not fit (another Java, other jars) the JVM leaves alone
without a word, so nothing but time depends on it.
"""

import atexit
import hashlib
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

PLACE: Final = "SPARK_REPORTS_CACHE"
"""The environment variable that names the archives' folder; empty, nothing is kept."""

_FILES_KEPT: Final = 2
"""An archive has about 180 MB. Two, as an upgrade is tried beside what it is to replace."""
_PATIENCE_S: Final = 60
_SUFFIX: Final = ".jsa"
_OURS: Final = re.compile(r"spark-[0-9a-f]{16}(-\d+\.jsa|\.\d+)")
"""Archives, and what a process that was killed left of one."""
_QUIET: Final = "-Xlog:disable"
"""Java tells of each class that it leaves out, on standard output."""


def options() -> tuple[str, Path | None]:
    """The JVM's options, and the file that it will write as it ends: to be given to `keep_at_exit`."""
    folder, key = _folder(), _key()
    if folder is None or key is None:
        return "", None
    for archive in folder.glob(f"{key}-*{_SUFFIX}"):
        # A JVM that maps less than it looks for is killed for it: the name says how much there must be.
        if archive.name == _name(key, archive):
            return f"-XX:SharedArchiveFile={archive} {_QUIET}", None
    made = folder / f"{key}.{os.getpid()}"
    return f"-XX:ArchiveClassesAtExit={made} {_QUIET}", made


def keep_at_exit(gateway: "JavaGateway", made: Path) -> None:
    """Let the JVM end before this process does, and put the archive that it wrote where others look."""
    atexit.register(_keep, gateway, made)


def _keep(gateway: "JavaGateway", made: Path) -> None:
    # Whatever goes wrong (a full disk, a JVM that was killed), there is no archive then, as before.
    with suppress(OSError, subprocess.TimeoutExpired):
        gateway.proc.stdin.close()
        if gateway.proc.wait(timeout=_PATIENCE_S) == 0:
            _put(made)
    with suppress(OSError):
        made.unlink(missing_ok=True)


def _put(made: Path) -> None:
    """Whole on the disk before anybody sees it, as a JVM trusts what it maps.

    The oldest of our own files go; the folder may be one that holds others.
    """
    with made.open("rb") as written:
        os.fsync(written.fileno())
    made.replace(made.with_name(_name(made.stem, made)))
    ours = (path for path in made.parent.iterdir() if _OURS.fullmatch(path.name))
    for path in sorted(ours, key=lambda path: path.stat().st_mtime)[:-_FILES_KEPT]:
        path.unlink(missing_ok=True)


def _name(key: str, archive: Path) -> str:
    return f"{key}-{archive.stat().st_size}{_SUFFIX}"


def _folder() -> Path | None:
    """Where archives are kept; None where none can be."""
    named = os.environ.get(PLACE)
    if named == "":
        return None
    try:
        folder = Path(named or _cache()).absolute()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):  # the latter of a user without a home
        return None
    has_space = any(letter.isspace() for letter in str(folder))  # parts the JVM's options
    return folder if os.access(folder, os.W_OK) and not has_space else None


def _cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "spark_reports"


def _key() -> str | None:
    """Names this Java with this Spark; None where there is nothing to be archived."""
    java, jars = _java(), _jars()
    if java is None or jars is None:
        return None
    facts = [(str(path), path.stat().st_mtime_ns) for path in (java, jars)]
    return f"spark-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else which("java")
    return Path(found).resolve() if found else None


def _jars() -> Path | None:
    """pyspark's own: what a site has put together itself may hold folders, which Java cannot archive."""
    if {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH"} & os.environ.keys():
        return None
    import pyspark

    return Path(pyspark.__file__).parent / "jars"
