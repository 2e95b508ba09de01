"""A standalone Spark master with workers, from pyspark's own jars, and spark-submit as a user has it.

The Python that the drivers run in has pyspark and py4j, and nothing else: no tsproxy, no site-packages.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import py4j
import pyarrow
import pyspark

from deploy.spark import pyfiles

SPARK_HOME = Path(pyspark.__file__).parent
MAIN = Path(pyfiles.__file__).with_name("main.py")
_STARTS_WITHIN_S = 300
_BRIEF = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The option for JVMs that live for seconds: half of the code that they would compile never runs."""


def bare_python(folder, *more):
    """A Python in `folder` that can import the standard library, pyspark, py4j, and `more` packages."""
    site = folder / "site"
    site.mkdir(parents=True)
    for package in (pyspark, py4j, *more):
        path = Path(package.__file__).parent
        (site / path.name).symlink_to(path)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{site}:$PYTHONPATH" exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program


def pythons(folder):
    """The environment of Spark whose workers have `bare_python`. Its driver also has pyarrow."""
    driver = bare_python(folder / "driver", pyarrow)
    return {"PYSPARK_PYTHON": str(bare_python(folder)), "PYSPARK_DRIVER_PYTHON": str(driver)}


def submit(folder, master, *arguments, settings):
    """Run spark-submit with the zip alone, and with `settings` of Spark's; return the process."""
    common = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                "spark.ui.enabled": "false", "spark.executor.memory": "512m",
                "spark.driver.extraJavaOptions": _BRIEF,
                "spark.executor.extraJavaOptions": _BRIEF,
                "spark.sql.shuffle.partitions": "2"}  # fmt: skip
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master]
    for name, value in {**common, **settings}.items():
        command += ["--conf", f"{name}={value}"]
    archive = pyfiles.make(folder / "spark_reports-pyfiles.zip")
    command += ["--py-files", str(archive), str(MAIN), *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(SPARK_HOME)}
    environment |= pythons(folder)
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


@contextmanager
def standalone(folder, workers=2):
    """The URL of a master on the loopback that has so many workers of one core."""
    with ExitStack() as stack:
        log = stack.enter_context(_running(folder, "master", "master.Master", "--port", "0"))
        url = _text(log, r"Starting Spark master at (spark://\S+)")
        page = _text(log, r"MasterWebUI to 127\.0\.0\.1, and started at (http://\S+)")
        for number in range(workers):
            options = ("--cores", "1", "--memory", "600m", "--work-dir", str(folder / f"work-{number}"), url)
            stack.enter_context(_running(folder, f"worker-{number}", "worker.Worker", *options))
        until(lambda: len(_alive(page)) == workers, f"{workers} workers")
        yield url


def ran_on(folder):
    """The workers that had a process for the application."""
    return {path.parts[-4] for path in folder.glob("work-*/app-*/*/stderr")}


@contextmanager
def _running(folder, name, program, *arguments):
    """Run a daemon of Spark's, end it at the end, and yield its log."""
    log = folder / f"{name}.log"
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}"]
    options = ["--host", "127.0.0.1", "--webui-port", "0"]
    environment = os.environ | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_JAVA_OPTS": _BRIEF,
    }
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*command, *options, *arguments], stdout=written, stderr=written, env=environment
        )
        try:
            yield log
        finally:
            process.terminate()
            process.wait()


def _text(log, pattern):
    until(lambda: re.search(pattern, log.read_text()), pattern)
    return re.search(pattern, log.read_text())[1]


def _alive(page):
    with urllib.request.urlopen(f"{page}/json/", timeout=30) as answer:
        return [worker for worker in json.load(answer)["workers"] if worker["state"] == "ALIVE"]


def until(is_so, what):
    ends = time.monotonic() + _STARTS_WITHIN_S
    while not is_so():
        assert time.monotonic() < ends, f"waited in vain for {what}"
        time.sleep(0.2)
