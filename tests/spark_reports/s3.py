"""A local S3 server (moto), and Spark's access to it (hadoop-aws). Both are fetched once."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.etree import ElementTree

import pyspark

from tests.kit.commands import made_once, output_of
from tests.spark_reports.cluster import until
from tsproxy.testing.jars import Dependency, fetch_jars
from tsproxy.testing.ports import free_ports

_MOTO = "5.2.5"
_SDK = "2.35.4"
"""The version that hadoop-aws 3.5.0 names. Its bundle of all services has 600 MB."""
_HADOOP = next(
    path.stem.removeprefix("hadoop-client-api-")
    for path in Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
)
_JARS = (
    Dependency("org.apache.hadoop", "hadoop-aws", _HADOOP, transitive=False),
    Dependency("software.amazon.awssdk", "s3", _SDK),
    Dependency("software.amazon.awssdk", "s3-transfer-manager", _SDK),
    Dependency("software.amazon.awssdk", "sts", _SDK),
    Dependency(
        "software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", "1.3.1", transitive=False
    ),
)
_SIGNED = (
    "AWS4-HMAC-SHA256 Credential=any/20261120/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=any"
)


def jars():
    """The paths of hadoop-aws's jars, as `spark-submit --jars` takes them."""
    folder = fetch_jars(f"spark-s3a-{_HADOOP}", _JARS)
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))


@contextmanager
def server(folder):
    """The address of a server that holds one bucket, `lake`."""
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    program = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    environment = os.environ | {"PYTHONPATH": str(_installed()), "AWS_ACCESS_KEY_ID": "any",
                                "AWS_SECRET_ACCESS_KEY": "any"}  # fmt: skip
    with (folder / "s3.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", program], stdout=log, stderr=log, env=environment)
        try:
            until(lambda: _answers(f"{url}/moto-api/"), url)
            put(url, "lake")
            yield url
        finally:
            process.terminate()
            process.wait()


def settings(url):
    """Spark's settings for the server at `url`."""
    own = {"endpoint": url, "endpoint.region": "us-east-1", "path.style.access": "true",
           "access.key": "any", "secret.key": "any", "connection.ssl.enabled": "false"}  # fmt: skip
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in own.items()}


def put(url, path, content=b""):
    """Make a bucket, or an object in it."""
    _asked(url, path, "PUT", content)


def get(url, path):
    """The content of an object."""
    return _asked(url, path, "GET")


def _asked(url, path, method, content=None):
    # Without a type, the content would be taken for a form. The server does not check signatures.
    headers = {"Content-Type": "application/octet-stream", "Authorization": _SIGNED}
    request = urllib.request.Request(f"{url}/{path}", data=content, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def keys(url, prefix=""):
    """The names of the objects of the bucket."""
    listed = ElementTree.fromstring(get(url, f"lake?list-type=2&prefix={prefix}"))
    return [each.text for each in listed.iter() if each.tag.endswith("}Key") or each.tag == "Key"]


def _installed():
    """The folder with moto and what it needs."""
    install = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade")
    wanted = f"moto[s3,server]=={_MOTO}"
    return made_once(f"moto-{_MOTO}", lambda folder: output_of(*install, "--target", folder, wanted))


def _answers(url):
    with suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(url, timeout=30):
        return True
    return False
