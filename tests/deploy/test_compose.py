"""The compose file, read as YAML and held against the command line and the ports it promises."""

import re

import yaml

from tests.deploy.commands import DEPLOY, assert_is_known, help_of
from tests.deploy.containerfile import read_containerfile, stages
from tests.deploy.go_tools import COMPOSE_SPEC, PROMTOOL, needs_tools
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
KAFKA, TSPROXY = (COMPOSE["services"][name] for name in ("kafka", "tsproxy"))
PROMETHEUS, GRAFANA = (COMPOSE["services"][name] for name in ("prometheus", "grafana"))
REPORTS, PAGES = (COMPOSE["services"][name] for name in ("reports", "pages"))
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
    admin = int(FLAGS["--admin"].rpartition(":")[2])
    wanted = [f"127.0.0.1:{port}:{port}" for port in (listen, listen + 1 + node_id, admin)]
    assert TSPROXY["ports"] == wanted
    assert FLAGS["--advertised-host"] == "localhost"


def test_the_decision_log_outlives_the_container():
    (volume,) = TSPROXY["volumes"]
    name, _, folder = volume.partition(":")
    assert name in COMPOSE["volumes"]
    assert FLAGS["--decisions"].startswith(f"{folder}/")
    *_, reports, proxy = stages(read_containerfile(DEPLOY / "Containerfile"))
    [declared] = [i for i in proxy if i.name == "VOLUME"]
    assert declared.words == [folder]
    [declared] = [i for i in reports if i.name == "VOLUME"]
    assert declared.words == ["/srv/reports"]


def test_the_kafka_is_the_one_that_the_tests_run():
    assert KAFKA["image"] == f"apache/kafka:{DEFAULT_VERSION}"


def test_there_is_time_to_drain():
    assert int(re.fullmatch(r"(\d+)s", TSPROXY["stop_grace_period"])[1]) > 30


def test_the_container_of_the_proxy_has_no_privilege():
    assert TSPROXY["read_only"] is True
    assert TSPROXY["cap_drop"] == ["ALL"]
    assert TSPROXY["security_opt"] == ["no-new-privileges:true"]
    assert not {"cap_add", "privileged", "user", "tmpfs"} & set(TSPROXY)


def test_nothing_is_open_to_other_machines():
    for name, service in COMPOSE["services"].items():
        assert all(each.startswith("127.0.0.1:") for each in service.get("ports", [])), name


def test_prometheus_scrapes_the_admin_port_and_reads_the_rules():
    mounts = dict(each.split(":")[:2] for each in PROMETHEUS["volumes"])
    [file] = [each.partition("=")[2] for each in PROMETHEUS["command"] if "--config.file" in each]
    assert file == f"{mounts['./prometheus']}/prometheus.yaml"
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())
    [scrape] = config["scrape_configs"]
    port = FLAGS["--admin"].rpartition(":")[2]
    assert scrape["static_configs"] == [{"targets": [f"tsproxy:{port}"]}]
    assert set(PROMETHEUS["networks"]) <= set(TSPROXY["networks"])


def test_grafana_finds_prometheus_and_the_dashboard():
    mounts = dict(each.split(":")[:2] for each in GRAFANA["volumes"])
    folder = DEPLOY / "grafana" / "provisioning"
    [source] = yaml.safe_load((folder / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert source["type"] == "prometheus"
    assert source["url"] == "http://prometheus:" + PROMETHEUS["ports"][0].rpartition(":")[2]
    [provider] = yaml.safe_load((folder / "dashboards" / "tsproxy.yaml").read_text())["providers"]
    shown = mounts["./grafana/tsproxy.json"]
    assert shown == f"{provider['options']['path']}/tsproxy.json"
    assert GRAFANA["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == shown
    assert mounts["./grafana/provisioning"] == "/etc/grafana/provisioning"


def test_every_file_that_is_mounted_is_there():
    for service in COMPOSE["services"].values():
        for source in (each.partition(":")[0] for each in service.get("volumes", [])):
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]


def test_the_report_reads_the_decision_log_and_its_pages_are_shown():
    command, *arguments = REPORTS["command"]
    known = help_of("spark_reports", command)
    flags = dict(each.split("=", 1) for each in arguments)
    assert all(f"{flag} " in known for flag in flags)
    assert flags["--input"] == FLAGS["--decisions"]
    assert "decisions:/var/lib/tsproxy:ro" in REPORTS["volumes"]
    assert flags["--store"] == "/srv/reports"
    assert PAGES["entrypoint"][-1] == "/srv/reports"
    assert "reports:/srv/reports:ro" in PAGES["volumes"]
    assert REPORTS["image"] == PAGES["image"]
    assert REPORTS["build"] == PAGES["build"]
    assert REPORTS["build"]["target"] in {
        stage[0].rest.partition(" AS ")[2] for stage in stages(read_containerfile(DEPLOY / "Containerfile"))
    }


def test_the_prometheus_is_the_one_whose_tool_the_tests_run():
    """Module v0.316.0 is Prometheus 3.16.0."""
    major, minor = re.fullmatch(r"v0\.(\d)(\d\d)\.\d+", PROMTOOL.version).groups()
    assert re.match(rf"prom/prometheus:v{major}\.{int(minor)}\.", PROMETHEUS["image"])


@needs_tools
def test_the_file_conforms_to_the_compose_specification():
    """By the library that Docker Compose itself reads files with."""
    known = yaml.safe_load(COMPOSE_SPEC.output(DEPLOY / "compose.yaml"))
    assert set(known["services"]) >= {"kafka", "tsproxy", "prometheus", "grafana"}
