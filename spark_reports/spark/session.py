"""The Spark session: the one that spark-submit or a notebook already has, else a quiet local one.

Days and hours of a report are UTC, so every session gets that time zone. A session that is started here opens
no web page and writes no log lines. The JVM's own output (it prints warnings at every start) goes to a file,
which is shown if the start fails. For Spark's progress, it goes to the terminal instead.

Spark Connect is refused: it gives a program only a part of a Spark that runs elsewhere. spark_reports asks
Spark for file systems, which Spark Connect does not offer. Without the check, a run would end with a stack of
Java's or a traceback.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Final

from spark_reports.errors import SparkUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.ui.enabled": "false",
        "spark.sql.ui.explainMode": "simple",
        # Otherwise each function of a column calls the JVM six times, to name our line in a possible error.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.shuffle.partitions": "4",  # AQE does the rest; 200 empty tasks cost seconds
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
)
_JVM_OPTIONS: Final = "-XX:+UseParallelGC"
"""This collector takes less CPU than Java's default. Its pauses do not matter here."""
_BRIEF: Final = "-XX:TieredStopAtLevel=1"
"""The option for up to _BRIEF_BYTES. It switches off Java's second compiler, which took half of all CPU time
for a day of 40,000 lines. But a million lines took half as much again without that compiler."""
_BRIEF_BYTES: Final = 400_000_000
_INTERPRETED: Final[Mapping[str, str]] = MappingProxyType(
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
)
"""The settings for up to _INTERPRETED_BYTES. Else Spark writes a program for each query, and Java compiles
it: a quarter of all CPU time for a day of 100 lines. 200,000 lines took twice as much without."""
_INTERPRETED_BYTES: Final = 20_000_000
_LONG: Final = "-XX:-DontCompileHugeMethods"
"""The option for millions of lines. Spark generates one method of 10 KB for a line of eighty columns. By
default, Java never compiles such a method, and to interpret it takes 20 microseconds for each line."""

_REFUSAL: Final = (
    "Spark Connect is not supported ({}): give a master of Spark itself with --master (local[*], "
    "spark://…, yarn), or start the command by spark-submit"
)
_VARIABLES: Final = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")

_STDERR: Final = 2
_TAIL_BYTES: Final = 2_000


@contextmanager
def spark_session(
    master: str | None = None, *, size_bytes: int | None = 0, shows_progress: bool = False
) -> Iterator["SparkSession"]:
    """A session in UTC. At the end, it is stopped if it was started here; else it has its own settings again.

    `master` is a URL of Spark's; None means spark-submit's, else `local[*]`. A session that is started here
    is fitted to `size_bytes`, those of the log as JSON (None: not known, so perhaps large), and with
    `shows_progress` shows its stages on standard error, which is a terminal. Raises SparkUnavailableError.
    """
    require_pyspark()
    require_no_connect(master)
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        session = running
    elif is_submitted():
        builder = SparkSession.builder.appName("spark_reports")
        session = (builder.master(master) if master else builder).getOrCreate()
    else:
        session = _start(master or "local[*]", size_bytes, shows_progress)
    try:
        with settings(session, _IN_UTC):
            yield session
    finally:
        if running is None:
            session.stop()


def is_submitted() -> bool:
    """Whether spark-submit started this program."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


_IN_UTC: Final[Mapping[str, str]] = MappingProxyType({"spark.sql.session.timeZone": "UTC"})


@contextmanager
def settings(session: "SparkSession", wanted: Mapping[str, str]) -> Iterator[None]:
    """Inside the block, the session has these settings; afterwards, it has its own again."""
    before = {name: str(session.conf.get(name)) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        with suppress(Exception):  # a JVM that has ended has no settings; its error is reported anyway
            for name, was in before.items():
                session.conf.set(name, was)


def require_pyspark() -> None:
    """Check that pyspark and Java are installed. Raises SparkUnavailableError with one sentence."""
    if find_spec("pyspark") is None:
        raise SparkUnavailableError("pyspark is not installed: pip install 'pyspark>=3.5,<5'")
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else which("java")
    if java is None or not Path(java).exists():
        raise SparkUnavailableError(
            "Spark needs Java 17 or newer, and no java was found in JAVA_HOME or on PATH"
        )


def require_no_connect(master: str | None) -> None:
    """Raises SparkUnavailableError if a session would be one of Spark Connect. pyspark must be installed."""
    from pyspark.sql.utils import is_remote

    named = [f"--master {master}"] if (master or "").startswith("sc://") else []
    named += ["SPARK_API_MODE is set"] if os.environ.get("SPARK_API_MODE", "").lower() == "connect" else []
    named += [f"{name} is set" for name in _VARIABLES if os.environ.get(name)]
    named += ["pyspark-client has nothing else"] if is_remote() else []
    if named:
        raise SparkUnavailableError(_REFUSAL.format(named[0]))


def _start(master: str, size_bytes: int | None, shows_progress: bool) -> "SparkSession":
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # `python3` may lack this package
    with resources.as_file(resources.files("spark_reports.spark") / "log4j2.properties") as log4j2:
        builder = SparkSession.builder.appName("spark_reports").master(master)
        fitted = _LOCAL_SETTINGS if master.startswith("local") else {}
        if size_bytes is not None and size_bytes <= _INTERPRETED_BYTES:
            fitted = {**fitted, **_INTERPRETED}
        for name, value in fitted.items():
            builder = builder.config(name, value)
        compiled = _BRIEF if size_bytes is not None and size_bytes <= _BRIEF_BYTES else _LONG
        builder = builder.config("spark.ui.showConsoleProgress", str(shows_progress).lower()).config(
            "spark.driver.extraJavaOptions",
            f"{_JVM_OPTIONS} {compiled} -Dlog4j2.configurationFile={log4j2.as_uri()}",
        )
        with nullcontext() if shows_progress else _jvm_stderr_kept() as stderr:
            try:
                session = builder.getOrCreate()
            except PySparkRuntimeError as error:
                reason = str(error).strip().partition("\n")[0]
                told = "" if stderr is None else _tail(stderr)
                raise SparkUnavailableError(f"Spark did not start: {reason}{told}") from error
    return session


@contextmanager
def _jvm_stderr_kept() -> Iterator[IO[bytes]]:
    """Inside the block, descriptor 2 is a file. A JVM that starts in the block inherits it as its standard
    error."""
    sys.stderr.flush()
    original = os.dup(_STDERR)
    with TemporaryFile() as stderr:
        os.dup2(stderr.fileno(), _STDERR)
        try:
            yield stderr
        finally:
            os.dup2(original, _STDERR)
            os.close(original)


def _tail(stderr: IO[bytes]) -> str:
    stderr.seek(0)
    text = stderr.read().decode("utf-8", "replace").strip()[-_TAIL_BYTES:]
    return f"\n{text}" if text else ""
