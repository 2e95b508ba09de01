"""The manifests of the sidecar, held against the command line and against their own configuration."""

import yaml

from tests.deploy.commands import DEPLOY, assert_is_known
from tests.deploy.go_tools import needs_tools
from tests.deploy.kubernetes_schemas import NEWEST, OLDEST, conforms
from tests.in_process import run_command
from tsproxy.config import load, read_yaml

FILE = DEPLOY / "kubernetes" / "sidecar.yaml"
CONFIG_MAP, DEPLOYMENT = yaml.safe_load_all(FILE.read_text())
POD = DEPLOYMENT["spec"]["template"]["spec"]
[PROXY] = POD["initContainers"]
[PRODUCER] = POD["containers"]


def written(tmp_path):
    file = tmp_path / "tsproxy.yaml"
    file.write_text(CONFIG_MAP["data"]["tsproxy.yaml"])
    return file


def test_the_configuration_has_no_problem(tmp_path):
    assert ": ok, " in run_command("tsproxy", "check", written(tmp_path)).stdout


def test_the_command_exists_and_reads_the_file_that_is_mounted():
    assert_is_known(["tsproxy", *PROXY["args"]])
    mounts = {each["name"]: each["mountPath"] for each in PROXY["volumeMounts"]}
    assert PROXY["args"][PROXY["args"].index("--config") + 1] == f"{mounts['tsproxy-config']}/tsproxy.yaml"
    assert "directory: " + mounts["tsproxy-decisions"] in CONFIG_MAP["data"]["tsproxy.yaml"]


def test_the_producer_alone_reaches_the_proxy_and_probes_reach_the_admin_port(tmp_path):
    config = load(read_yaml(written(tmp_path)), {})
    [listener] = config.listeners
    assert listener.bind.host == listener.advertised_host == "127.0.0.1"
    assert PRODUCER["env"][0]["value"] == str(listener.bind)
    assert config.admin.bind.host == "0.0.0.0"
    assert PROXY["ports"] == [{"name": "admin", "containerPort": config.admin.bind.port}]


def test_there_is_time_to_drain(tmp_path):
    config = load(read_yaml(written(tmp_path)), {})
    assert POD["terminationGracePeriodSeconds"] * 1000 > config.stop_ms + 15_000


def test_it_is_a_sidecar_that_the_producer_waits_for():
    assert PROXY["restartPolicy"] == "Always"
    assert PROXY["startupProbe"]["httpGet"]["path"] == "/readyz"
    assert PROXY["livenessProbe"]["httpGet"]["path"] == "/livez"


@needs_tools
def test_kubernetes_knows_every_field():
    for version in (OLDEST, NEWEST):
        assert "Valid: 2, Invalid: 0, Errors: 0, Skipped: 0" in conforms(FILE, version)
