"""spark-submit as a user has it, from pyspark's own files.

The Python that the driver runs in has pyspark and py4j, and nothing else: no tsproxy, no site-packages.
"""

import os
import subprocess
import sys
from pathlib import Path

import py4j
import pyspark

from deploy.spark import pyfiles

SPARK_HOME = Path(pyspark.__file__).parent
MAIN = Path(pyfiles.__file__).with_name("main.py")


def bare_python(folder):
    """A Python in `folder` that can import the standard library, pyspark and py4j."""
    site = folder / "site"
    site.mkdir()
    for package in (pyspark, py4j):
        path = Path(package.__file__).parent
        (site / path.name).symlink_to(path)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{site}:$PYTHONPATH" exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program


def submit(folder, master, *arguments):
    """spark-submit with the zip alone; the finished process."""
    python = bare_python(folder)
    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                "spark.ui.enabled": "false", "spark.executor.memory": "512m",
                "spark.sql.shuffle.partitions": "2"}  # fmt: skip
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    archive = pyfiles.make(folder / "spark_reports-pyfiles.zip")
    command += ["--py-files", str(archive), str(MAIN), *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(SPARK_HOME),
    }
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
