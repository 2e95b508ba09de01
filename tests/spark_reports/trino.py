"""A Trino server with one Hive catalog over a folder.

Trino is 800 MB and needs a newer Java than Spark, so nothing fetches it. `mvn dependency:copy` brings
`io.trino:trino-server:476:tar.gz`; TSPROXY_TRINO is its unpacked folder, TRINO_JAVA_HOME a Java 24 or later.
"""

import json
import os
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import pytest

_PLACE, _JAVA = os.environ.get("TSPROXY_TRINO"), os.environ.get("TRINO_JAVA_HOME")
_STARTS_WITHIN_S = 600

needs_trino = pytest.mark.skipif(not (_PLACE and _JAVA), reason="needs TSPROXY_TRINO and TRINO_JAVA_HOME")

_JVM = """-server
-Xmx1500M
-Djdk.attach.allowAttachSelf=true
--add-modules=jdk.incubator.vector
"""


@contextmanager
def server(own, data):
    """A function that runs a statement and returns its rows. `own`: the server's folder; `data`: what
    `local:///` means."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    etc = _settings(own / "etc", own, port, url, data)
    launcher = [f"{_PLACE}/bin/launcher", f"-etc-dir={etc}", f"-data-dir={own / 'var'}", "run"]
    path = f"{_JAVA}/bin{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"JAVA_HOME": _JAVA, "PATH": path}
    with (own / "trino.log").open("wb") as log:
        process = subprocess.Popen(launcher, stdout=log, stderr=log, env=environment)
        try:
            _until_it_answers(url, process)
            yield lambda statement: _rows(url, statement)
        finally:
            process.terminate()
            process.wait()


def _settings(etc, own, port, url, data):
    (etc / "catalog").mkdir(parents=True)
    files = {
        "config.properties": {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "http-server.http.port": port,
            "discovery.uri": url,
            "node.internal-address": "127.0.0.1",
        },
        "node.properties": {"node.environment": "test", "node.id": "one", "node.data-dir": own / "var"},
        "catalog/lake.properties": {
            "connector.name": "hive",
            "hive.metastore": "file",
            "hive.metastore.catalog.dir": "local:///metastore",
            "fs.native-local.enabled": "true",
            "local.location": data,
        },
    }
    for name, values in files.items():
        (etc / name).write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    (etc / "jvm.config").write_text(_JVM)
    return etc


def _until_it_answers(url, process):
    """Trino answers before its nodes know each other, so a query is asked."""
    ends_s = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < ends_s:
        assert process.poll() is None, "Trino ended: see trino.log"
        try:
            if _rows(url, "select 1") == [[1]]:
                return
        except (OSError, RuntimeError):
            time.sleep(1)
    raise TimeoutError("Trino does not answer")


def _rows(url, statement):
    """All rows of a statement. Raises RuntimeError with Trino's message if it fails."""
    headers = {"X-Trino-User": "test", "X-Trino-Catalog": "lake", "X-Trino-Schema": "default"}
    asked = urllib.request.Request(f"{url}/v1/statement", statement.strip().encode(), headers)
    rows = []
    while True:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            page = json.load(answer)
        rows += page.get("data", [])
        if "error" in page:
            raise RuntimeError(page["error"]["message"])
        if "nextUri" not in page:
            return rows
        asked = urllib.request.Request(page["nextUri"], headers=headers)
