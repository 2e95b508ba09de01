"""An archive of Spark's classes that the JVM maps into memory; only if SPARK_REPORTS_CACHE names a folder.

A third of the CPU time of a small job goes into finding and verifying some twenty thousand classes in Spark's
jars. The first JVM writes them to an archive when it ends (Java's class data sharing), and later JVMs map it.
A JVM ignores an archive that does not fit (another Java, other jars), so only time depends on it.
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
"""The environment variable that names the archives' folder. Unset or empty: no archive is written or read."""

_FILES_KEPT: Final = 2
"""An archive has about 180 MB. Two are kept because people often try an upgrade beside the old version."""
_PATIENCE_S: Final = 60
_SUFFIX: Final = ".jsa"
_ARCHIVES: Final = re.compile(r"spark-[0-9a-f]{16}(-\d+\.jsa|\.\d+)")
"""Names of archives, and of the parts that killed processes left behind."""
_QUIET: Final = "-Xlog:disable"
"""Otherwise Java prints a line on standard output for each class that it leaves out."""


def options() -> tuple[str, Path | None]:
    """The JVM's options, and the file that it will write when it ends, for `keep_at_exit`."""
    folder, key = _folder(), _key()
    if folder is None or key is None:
        return "", None
    for archive in folder.glob(f"{key}-*{_SUFFIX}"):
        # A JVM that maps a truncated archive is killed, so the name holds the size.
        if archive.name == _name(key, archive):
            return f"-XX:SharedArchiveFile={archive} {_QUIET}", None
    made = folder / f"{key}.{os.getpid()}"
    return f"-XX:ArchiveClassesAtExit={made} {_QUIET}", made


def keep_at_exit(gateway: "JavaGateway", made: Path) -> None:
    """At exit, wait for the JVM's end, and move the archive that it wrote to its final name."""
    atexit.register(_keep, gateway, made)


def _keep(gateway: "JavaGateway", made: Path) -> None:
    # If anything fails (a full disk, a JVM that was killed), there is no archive, as before.
    with suppress(OSError, subprocess.TimeoutExpired):
        gateway.proc.stdin.close()
        if gateway.proc.wait(timeout=_PATIENCE_S) == 0:
            _put(made)
    with suppress(OSError):
        made.unlink(missing_ok=True)


def _put(made: Path) -> None:
    """Rename the archive once all of it is on the disk: a JVM trusts what it maps.

    The oldest archives are deleted. Other files in the folder are left alone.
    """
    with made.open("rb") as written:
        os.fsync(written.fileno())
    made.replace(made.with_name(_name(made.stem, made)))
    archives = (path for path in made.parent.iterdir() if _ARCHIVES.fullmatch(path.name))
    for path in sorted(archives, key=lambda path: path.stat().st_mtime)[:-_FILES_KEPT]:
        path.unlink(missing_ok=True)


def _name(key: str, archive: Path) -> str:
    return f"{key}-{archive.stat().st_size}{_SUFFIX}"


def _folder() -> Path | None:
    """The folder of archives; None if none is configured, or if it cannot be used."""
    if not (named := os.environ.get(PLACE)):
        return None
    try:
        folder = Path(named).absolute()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    has_space = any(letter.isspace() for letter in str(folder))  # a space separates the JVM's options
    return folder if os.access(folder, os.W_OK) and not has_space else None


def _key() -> str | None:
    """A name for this Java with this Spark; None if there is nothing to archive."""
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
    """pyspark's own jars. A site's own class path may hold folders, which Java cannot archive."""
    if {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH"} & os.environ.keys():
        return None
    import pyspark

    return Path(pyspark.__file__).parent / "jars"
