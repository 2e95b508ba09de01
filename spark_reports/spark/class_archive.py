"""An archive of Spark's classes that the JVM maps into memory; only if SPARK_REPORTS_CACHE names a folder.

A third of the CPU time of a small job goes into finding and verifying some twenty thousand classes in Spark's
jars. A JVM can write them to an archive when it ends (Java's class data sharing), and later JVMs map it. A
JVM ignores an archive that does not fit (another Java, other jars), so only time depends on it.

To write an archive costs as much as a whole job, and there may be no second run: a container is thrown away.
So the first run that succeeds only leaves a note. The second run writes the archive. A run that fails leaves
nothing.
"""

import atexit
import hashlib
import os
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACE: Final = "SPARK_REPORTS_CACHE"
"""The environment variable that names the archives' folder. Unset or empty: no archive is written or read."""

_FILES_KEPT: Final = 4
"""An archive has about 180 MB. The four that were used last are kept: people try an upgrade beside the old
version, and several environments share a folder."""
_PATIENCE_S: Final = 60
_SUFFIX: Final = ".jsa"
_NOTE: Final = ".used"
"""The suffix of a note. A note says that a run without an archive has succeeded."""
_ARCHIVES: Final = re.compile(r"spark-[0-9a-f]{16}-\d+\.jsa")
_PARTS: Final = re.compile(r"spark-[0-9a-f]{16}\.(\d+)")
"""Names of archives that are being written, with the number of the process that waits for them."""
_QUIET: Final = "-Xlog:disable"
"""Otherwise Java prints a line on standard output for each class that it leaves out."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The use of an archive in one run of the JVM."""

    options: str = ""
    """The JVM's options."""
    made: Path | None = None
    """The file that the JVM writes when it ends."""
    note: Path | None = None
    """The note that this run leaves if it succeeds."""


def mapped() -> Path | None:
    """The archive that a JVM can map; None if there is none."""
    folder, key = _folder(), _key()
    if folder is None or key is None:
        return None
    # A JVM that maps a truncated archive is killed, so the name holds the size.
    return next((path for path in folder.glob(f"{key}-*{_SUFFIX}") if path.name == _name(key, path)), None)


def mapping(archive: Path) -> str:
    """The options of a JVM that maps the archive."""
    return f"-XX:SharedArchiveFile={archive} {_QUIET}"


def prepared() -> Archive:
    """The archive for a JVM that starts now. Call `succeeded` or `failed` at the end of its run."""
    folder, key = _folder(), _key()
    if folder is None or key is None:
        return Archive()
    if (archive := mapped()) is not None:
        with suppress(OSError):
            archive.touch()  # its time is that of its last use
        return Archive(mapping(archive))
    note = folder / f"{key}{_NOTE}"
    if not note.exists():
        return Archive(note=note)
    if _is_being_written(folder, key):
        return Archive()
    made = folder / f"{key}.{os.getpid()}"
    try:
        made.touch(mode=0o600)  # other processes see the file; the JVM replaces it
    except OSError:
        return Archive()
    return Archive(f"-XX:ArchiveClassesAtExit={made} {_QUIET}", made=made)


def succeeded(session: "SparkSession", archive: Archive) -> None:
    """At exit, wait for the JVM's end, and move the archive that it wrote to its final name."""
    if archive.note is not None:
        with suppress(OSError):
            archive.note.touch(mode=0o600)
    if archive.made is not None:
        atexit.register(_keep, _jvm_of(session), archive.made)


def failed(session: "SparkSession", archive: Archive) -> None:
    """At exit, end the JVM before it writes an archive."""
    if archive.made is not None:
        atexit.register(archive.made.unlink, missing_ok=True)
        atexit.register(_kill, _jvm_of(session))


def _jvm_of(session: "SparkSession") -> "subprocess.Popen[bytes]":
    context: Any = session.sparkContext  # the process has no public name
    jvm: subprocess.Popen[bytes] = context._gateway.proc
    return jvm


def _kill(jvm: "subprocess.Popen[bytes]") -> None:
    jvm.kill()
    jvm.wait()


def _is_being_written(folder: Path, key: str) -> bool:
    """True if another process waits for this archive. Parts whose process is gone are removed."""
    is_being_written = False
    for part in folder.iterdir():
        if found := _PARTS.fullmatch(part.name):
            if Path("/proc/self").exists() and not Path("/proc", found[1]).exists():
                part.unlink(missing_ok=True)
            elif part.stem == key:
                is_being_written = True
    return is_being_written


def _keep(jvm: "subprocess.Popen[bytes]", made: Path) -> None:
    # If anything fails (a full disk, a JVM that was killed), there is no archive, as before.
    with suppress(OSError):
        if jvm.stdin is not None:
            jvm.stdin.close()  # this ends the JVM
        try:
            is_written = jvm.wait(timeout=_PATIENCE_S) == 0
        except subprocess.TimeoutExpired:
            _kill(jvm)  # else it would leave its part behind
            is_written = False
        if is_written and made.stat().st_size:
            _put(made)
    with suppress(OSError):
        made.unlink(missing_ok=True)


def _put(made: Path) -> None:
    """Rename the archive once all of it is on the disk: a JVM trusts what it maps.

    The archives that were not used for longest are deleted. Other files in the folder are left alone.
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
    pyspark = find_spec("pyspark")
    return Path(pyspark.origin).parent / "jars" if pyspark and pyspark.origin else None
