"""The compose file, read as YAML and held against the command line and the ports it promises."""

import re

import yaml

from tests.deploy.commands import DEPLOY, assert_is_known
from tests.deploy.containerfile import read_containerfile
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
KAFKA, TSPROXY = (COMPOSE["services"][name] for name in ("kafka", "tsproxy"))
FLAGS = dict(word.split("=", 1) for word in TSPROXY["command"][1:])


def test_the_command_of_the_proxy_exists():
    assert_is_known(["tsproxy", *TSPROXY["command"]])


def test_the_image_is_built_from_the_containerfile_beside_it():
    build = TSPROXY["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).samefile(DEPLOY / "Containerfile")


def test_the_proxy_leads_to_the_address_that_the_broker_advertises():
    assert KAFKA["environment"]["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{FLAGS['--upstream']}"


def test_the_broker_can_be_reached_through_the_proxy_alone():
    assert "ports" not in KAFKA
    assert KAFKA["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_the_ports_that_clients_are_told_are_published_as_they_are():
    """Bootstrap at the listen port P; node n at P + 1 + n, under the host that is advertised."""
    listen = int(FLAGS["--listen"].rpartition(":")[2])
    node_id = int(KAFKA["environment"]["KAFKA_NODE_ID"])
    wanted = [f"127.0.0.1:{port}:{port}" for port in (listen, listen + 1 + node_id)]
    assert TSPROXY["ports"] == wanted
    assert FLAGS["--advertised-host"] == "localhost"


def test_the_decision_log_outlives_the_container():
    (volume,) = TSPROXY["volumes"]
    name, _, folder = volume.partition(":")
    assert name in COMPOSE["volumes"]
    assert FLAGS["--decisions"].startswith(f"{folder}/")
    declared = [i for i in read_containerfile(DEPLOY / "Containerfile") if i.name == "VOLUME"]
    assert declared[-1].words == [folder]


def test_the_kafka_is_the_one_that_the_tests_run():
    assert KAFKA["image"] == f"apache/kafka:{DEFAULT_VERSION}"


def test_there_is_time_to_drain():
    assert int(re.fullmatch(r"(\d+)s", TSPROXY["stop_grace_period"])[1]) > 30
