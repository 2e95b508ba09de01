"""strimzi.md: its resources are Strimzi's, and agree with each other, the chart and the permissions."""

import re
import zipfile

import yaml

from tests.deploy.chart import ENVIRONMENT, configuration, pods, render, services
from tests.deploy.commands import ROOT
from tests.deploy.go_tools import needs_tools
from tests.deploy.kubernetes_schemas import NEWEST, conforms, strimzi_jars
from tests.in_process import run_command

PAGE = (ROOT / "docs" / "guide" / "strimzi.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
RESOURCES = {
    each["kind"]: each for block in BLOCKS if "apiVersion" in block for each in yaml.safe_load_all(block)
}
[VALUES] = [yaml.safe_load(block) for block in BLOCKS if "apiVersion" not in block]
CLUSTER = RESOURCES["Kafka"]["metadata"]["name"]
USER = RESOURCES["KafkaUser"]["metadata"]["name"]


@needs_tools
def test_strimzi_knows_every_field(tmp_path):
    file = tmp_path / "resources.yaml"
    file.write_text(yaml.safe_dump_all(RESOURCES.values()))
    assert f"Valid: {len(RESOURCES)}, Invalid: 0, Errors: 0, Skipped: 0" in conforms(file, NEWEST)


def test_all_resources_belong_to_the_cluster():
    assert {each["metadata"]["namespace"] for each in RESOURCES.values()} == {"kafka"}
    others = [each for kind, each in RESOURCES.items() if kind != "Kafka"]
    assert {each["metadata"]["labels"]["strimzi.io/cluster"] for each in others} == {CLUSTER}


def test_the_proxy_connects_to_the_listener_that_lets_it_in():
    [listener] = RESOURCES["Kafka"]["spec"]["kafka"]["listeners"]
    [address] = VALUES["upstream"]["bootstrapServers"]
    assert address == f"{CLUSTER}-kafka-bootstrap.kafka.svc:{listener['port']}"
    assert listener["tls"] is VALUES["upstream"]["tls"]["enabled"] is True
    login = VALUES["upstream"]["admin"]["sasl"]
    assert login["mechanism"].lower() == listener["authentication"]["type"]
    assert login["mechanism"].lower() == RESOURCES["KafkaUser"]["spec"]["authentication"]["type"]
    assert login["username"] == USER
    [variable] = VALUES["extraEnv"]
    assert login["password"] == f"${{{variable['name']}}}"
    assert variable["valueFrom"]["secretKeyRef"] == {"name": USER, "key": "password"}


def test_the_user_has_the_permissions_that_the_proxy_needs_on_all_topics():
    text = (
        (ROOT / "docs" / "guide" / "security.md")
        .read_text()
        .partition("### The proxy's own permissions\n")[2]
    )
    rows = re.findall(r"^\| `(\w+)`(?:, not required)? \| the topics that producers write to", text, re.M)
    [rule] = RESOURCES["KafkaUser"]["spec"]["authorization"]["acls"]
    assert sorted(rows) == rule["operations"]
    assert rule["resource"] == {"type": "topic", "name": "*", "patternType": "literal"}


@needs_tools
def test_names_are_those_that_strimzi_makes():
    """`KafkaResources` composes them from the cluster's name."""
    [jar] = strimzi_jars().glob("api-*.jar")
    with zipfile.ZipFile(jar) as classes:
        names = classes.read("io/strimzi/api/kafka/model/kafka/KafkaResources.class")
    assert VALUES["upstream"]["tls"]["caSecret"] == f"{CLUSTER}-cluster-ca-cert"
    for end in (b"-cluster-ca-cert", b"-kafka-bootstrap"):
        assert end in names


@needs_tools
def test_the_chart_takes_the_values_and_strimzi_lets_its_pods_in(tmp_path, certificates):
    objects = render(tmp_path, VALUES, namespace="kafka")
    conforms(tmp_path / "rendered.yaml", NEWEST)
    file = configuration(tmp_path, objects, certificates)
    done = run_command("tsproxy", "check", file, environment=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    [listener] = RESOURCES["Kafka"]["spec"]["kafka"]["listeners"]
    [peer] = listener["networkPolicyPeers"]
    workload = next(each for each in objects if each["kind"] == "StatefulSet")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert peer["podSelector"]["matchLabels"].items() <= labels.items()
    assert f"`{services(objects)[0]['metadata']['name']}.kafka.svc.cluster.local`" in PAGE
    [secret] = [each["secret"] for each in pods(objects)["volumes"] if each["name"] == "tls-listener"]
    assert f"`{secret['secretName']}`" in PAGE
