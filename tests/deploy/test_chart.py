"""The Helm chart, rendered by Helm: kubeconform knows every field, and tsproxy accepts its configuration.

No cluster runs here: what Kubernetes does with the objects is not tested.
"""

import copy
import json
import re

import pytest
import yaml

from tests.decisions.conformance import fits
from tests.deploy.chart import (
    CHART,
    ENVIRONMENT,
    MODES,
    PLAIN,
    all_of_kind,
    configuration,
    job,
    of_kind,
    pods,
    render,
    services,
)
from tests.deploy.commands import DEPLOY, ROOT, assert_is_known, help_of
from tests.deploy.go_tools import HELM, needs_tools
from tests.deploy.kubernetes_schemas import NEWEST, OLDEST, conforms
from tests.documents.values_schema import own_keys
from tests.in_process import run_command
from tests.spark_reports.schedules import completed, without_places
from tsproxy import __version__
from tsproxy.config import load, read_yaml

SCRAPED = {"monitoring": {"serviceMonitor": {"enabled": True}}}

each_mode = pytest.mark.parametrize("mode", MODES)


def test_the_chart_is_of_the_version_that_it_installs():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__


OPEN = {"resources", "reports.resources", "config", "upstream.admin", "listener.settings"}
"""Values with keys of Kubernetes or tsproxy."""


def test_every_value_is_in_the_schema_and_every_key_of_the_schema_has_a_value():

    def keys(schema, values, path=""):
        assert schema.get("additionalProperties") is False, path
        assert set(schema["properties"]) - {"global"} == set(values), path
        for name, value in values.items():
            inner = schema["properties"][name]
            if "properties" in inner and path + name not in OPEN:
                keys(inner, value, f"{path}{name}.")

    keys(
        json.loads((CHART / "values.schema.json").read_text()),
        yaml.safe_load((CHART / "values.yaml").read_text()),
    )


def test_the_files_of_rules_and_dashboard_are_the_ones_beside_the_chart():
    for name, place in {
        "alerts.yaml": "prometheus/alerts.yaml",
        "recording.yaml": "prometheus/recording.yaml",
        "dashboard.json": "grafana/tsproxy.json",
    }.items():
        assert (CHART / "files" / name).samefile(DEPLOY / place)


@needs_tools
def test_helm_finds_nothing_wrong_with_the_chart(tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(PLAIN))
    assert "0 chart(s) failed" in HELM.run(
        "lint", "--strict", CHART, "--kube-version", NEWEST, "--values", file
    )


@needs_tools
def test_a_packed_chart_holds_the_rules_and_the_dashboard(tmp_path):
    """They are links in the checkout."""
    HELM.run("package", CHART, "--destination", tmp_path)
    values = MODES["SNI, everything with TLS"]
    assert render(tmp_path, values, tmp_path / f"tsproxy-{__version__}.tgz") == render(tmp_path, values)


@needs_tools
@each_mode
def test_kubernetes_knows_every_field(tmp_path, mode):
    objects = render(tmp_path, MODES[mode])
    for version in (OLDEST, NEWEST):
        printed = conforms(tmp_path / "rendered.yaml", version)
        assert f"{len(objects)} resources found in 1 file" in printed
        assert f"Valid: {len(objects)}, Invalid: 0, Errors: 0, Skipped: 0" in printed


@needs_tools
def test_a_field_that_kubernetes_does_not_know_is_found(tmp_path):
    objects = render(tmp_path, MODES["SNI, everything with TLS"])
    for kind, spoil in {
        "StatefulSet": lambda each: each["spec"]["template"]["spec"].update(drainDelay=3),
        "ServiceMonitor": lambda each: each["spec"]["endpoints"][0].update(token="x"),
    }.items():
        wrong = of_kind(objects, kind)
        spoil(wrong)
        file = tmp_path / "wrong.yaml"
        file.write_text(yaml.safe_dump(wrong))
        with pytest.raises(AssertionError, match="additional properties"):
            conforms(file, NEWEST)


@needs_tools
@each_mode
def test_tsproxy_accepts_the_configuration(tmp_path, mode, certificates):
    file = configuration(tmp_path, render(tmp_path, MODES[mode]), certificates)
    done = run_command("tsproxy", "check", file, environment=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_tools
@each_mode
def test_the_pod_has_the_ports_times_and_paths_of_its_configuration(tmp_path, mode, certificates):
    objects = render(tmp_path, MODES[mode])
    config = load(read_yaml(configuration(tmp_path, objects, certificates)), ENVIRONMENT)
    pod = pods(objects)
    [proxy] = pod["containers"]

    assert_is_known(["tsproxy", *proxy["args"]])
    assert pod["terminationGracePeriodSeconds"] * 1000 == config.stop_ms + 15_000
    ports = {each["name"]: each["containerPort"] for each in proxy["ports"]}
    [listener] = config.listeners
    assert ports.pop("admin") == config.admin.bind.port
    assert config.admin.bind.host == listener.bind.host == "0.0.0.0"
    assert ports.pop("kafka") == listener.bind.port
    if "mode" in MODES[mode].get("listener", {}):
        assert ports == {}
    else:
        ids = range(listener.brokers.first_id, listener.brokers.first_id + listener.brokers.count)
        begin = listener.brokers.ports_from - listener.brokers.first_id
        assert ports == {f"broker-{node_id}": begin + node_id for node_id in ids}

    mounts = {each["mountPath"] for each in proxy["volumeMounts"]}
    assert "/var/lib/tsproxy" in mounts
    assert "/etc/tsproxy/config" in mounts
    scheme = "HTTPS" if config.admin.tls else "HTTP"
    for probe, path in {"livenessProbe": "/livez", "readinessProbe": "/readyz"}.items():
        assert proxy[probe]["httpGet"] == {"path": path, "port": "admin", "scheme": scheme}


@needs_tools
@each_mode
def test_clients_reach_the_same_ports_at_the_service_and_nobody_the_admin_port(tmp_path, mode):
    objects = render(tmp_path, MODES[mode])
    [proxy] = pods(objects)["containers"]
    inside = {each["name"]: each["containerPort"] for each in proxy["ports"]}
    clients, admin = services(objects)
    outside = {each["name"]: each["port"] for each in clients["spec"]["ports"]}
    assert outside | {"admin": inside["admin"]} == inside
    assert "admin" not in outside
    assert all(each["targetPort"] == each["name"] for each in clients["spec"]["ports"])
    assert admin["spec"]["clusterIP"] == "None"


@needs_tools
@each_mode
def test_no_container_is_root_or_writes_to_its_image(tmp_path, mode):
    objects = render(tmp_path, MODES[mode])
    jobs = [job(objects)] if "reports" in MODES[mode] else []
    for pod in [pods(objects), *jobs]:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@needs_tools
@each_mode
def test_selectors_find_the_proxies_alone(tmp_path, mode):
    objects = render(tmp_path, MODES[mode])
    workload = of_kind(objects, "StatefulSet", "Deployment")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    selectors = [workload["spec"]["selector"]["matchLabels"]]
    selectors += [service["spec"]["selector"] for service in services(objects)]
    for budget in all_of_kind(objects, "PodDisruptionBudget"):
        selectors.append(budget["spec"]["selector"]["matchLabels"])
    for policy in all_of_kind(objects, "NetworkPolicy"):
        selectors.append(policy["spec"]["podSelector"]["matchLabels"])
    for selector in selectors:
        assert selector.items() <= labels.items()
    for reports in all_of_kind(objects, "CronJob"):
        other = reports["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
        assert not any(selector.items() <= other.items() for selector in selectors)
    for monitor in all_of_kind(objects, "ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        [scraped] = [each for each in services(objects) if wanted <= each["metadata"]["labels"].items()]
        assert scraped["spec"]["ports"][0]["name"] == monitor["spec"]["endpoints"][0]["port"]


@needs_tools
def test_a_network_policy_lets_clients_reach_the_service_and_named_peers_the_admin_port(tmp_path):
    mode = MODES["closed by a NetworkPolicy, with a sidecar"]
    objects = render(tmp_path, mode)
    clients, admin = of_kind(objects, "NetworkPolicy")["spec"]["ingress"]
    service, _ = services(objects)
    opened = {
        port
        for each in clients["ports"]
        for port in range(each["port"], each.get("endPort", each["port"]) + 1)
    }
    assert opened == {each["port"] for each in service["spec"]["ports"]}
    assert clients["from"] == mode["networkPolicy"]["clients"]
    assert admin == {"ports": [{"protocol": "TCP", "port": 9464}], "from": mode["networkPolicy"]["admin"]}
    assert of_kind(objects, "NetworkPolicy")["spec"]["egress"] == mode["networkPolicy"]["egress"]


@needs_tools
def test_a_network_policy_without_peers_opens_the_listener_to_all_and_the_admin_port_to_nobody(tmp_path):
    sni = MODES["SNI, everything with TLS"] | {"networkPolicy": {"enabled": True}}
    spec = of_kind(render(tmp_path, sni), "NetworkPolicy")["spec"]
    assert spec["ingress"] == [{"ports": [{"protocol": "TCP", "port": 9192}]}]
    assert spec["policyTypes"] == ["Ingress"]


@needs_tools
def test_what_the_operator_adds_stands_beside_what_the_chart_writes(tmp_path):
    mode = MODES["closed by a NetworkPolicy, with a sidecar"]
    pod = pods(render(tmp_path, mode))
    assert pod["priorityClassName"] == "kafka"
    assert pod["initContainers"] == mode["extraInitContainers"]
    assert pod["containers"][0]["env"] == mode["extraEnv"]
    pod = job(render(tmp_path, MODES["reports of files elsewhere"]))
    assert (pod["priorityClassName"], pod["initContainers"][0]["name"]) == ("batch", "jars")


@needs_tools
@pytest.mark.parametrize(
    "workload", [{}, {"workload": "Deployment", "decisions": {"volume": "none"}}], ids=str
)
def test_a_rolling_restart_may_wait_for_the_checks_of_a_load_balancer(tmp_path, workload):
    objects = render(tmp_path, PLAIN | {"minReadySeconds": 20} | workload)
    assert of_kind(objects, "StatefulSet", "Deployment")["spec"]["minReadySeconds"] == 20


@needs_tools
def test_the_scrape_uses_the_token_and_the_certificate(tmp_path):
    objects = render(tmp_path, MODES["SNI, everything with TLS"])
    [endpoint] = of_kind(objects, "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"]["ca"]["secret"] == {"name": "admin", "key": "ca.crt"}
    assert endpoint["tlsConfig"]["serverName"] == "px-tsproxy-admin.streams.svc"
    assert "`px-tsproxy-admin.streams.svc`" in PAGE
    assert endpoint["authorization"]["credentials"] == {"name": "token", "key": "token"}
    [secret] = [each["secret"] for each in pods(objects)["volumes"] if each["name"] == "tls-admin-token"]
    assert secret["secretName"] == "token"


@needs_tools
def test_each_release_has_a_job_of_its_own_that_the_rules_know(tmp_path):
    """Rules and dashboard tell clusters apart by the job."""
    jobs = []
    for namespace, release in [("streams", "px"), ("streams", "py"), ("other", "px"), ("other", "2026")]:
        objects = render(tmp_path, PLAIN | SCRAPED, namespace=namespace, release=release)
        [endpoint] = of_kind(objects, "ServiceMonitor")["spec"]["endpoints"]
        [relabeling] = endpoint["relabelings"]
        assert relabeling["targetLabel"] == "job"
        jobs.append(relabeling["replacement"])
    assert jobs == ["tsproxy/streams/px", "tsproxy/streams/py", "tsproxy/other/px", "tsproxy/other/2026"]


@needs_tools
def test_rules_and_dashboard_arrive_as_they_are(tmp_path):
    objects = render(tmp_path, MODES["SNI, everything with TLS"])
    wanted = []
    for name in ("recording.yaml", "alerts.yaml"):
        text = (DEPLOY / "prometheus" / name).read_text()
        text = text.replace(
            "runbook: docs/guide/monitoring.md", "runbook: https://docs.example.com/monitoring"
        )
        wanted += yaml.safe_load(text)["groups"]
    assert of_kind(objects, "PrometheusRule")["spec"]["groups"] == wanted
    texts = [each["data"].get("tsproxy.json") for each in all_of_kind(objects, "ConfigMap")]
    [dashboard] = filter(None, texts)
    assert json.loads(dashboard) == json.loads((DEPLOY / "grafana" / "tsproxy.json").read_text())


@needs_tools
@pytest.mark.parametrize("mode", [mode for mode in MODES if "reports" in MODES[mode]])
def test_the_job_starts_a_command_that_exists_and_reads_where_the_proxies_write(tmp_path, mode, certificates):
    objects = render(tmp_path, MODES[mode])
    assert of_kind(objects, "CronJob")["spec"]["timeZone"] == "Etc/UTC"
    pod = job(objects)
    [container] = pod["containers"]
    assert container["command"] == ["spark_reports"]
    command, *arguments = container["args"]
    known = help_of("spark_reports", command)
    flags = [each.partition("=")[0] for each in arguments if each.startswith("--")]
    assert all(f"{flag} " in known for flag in flags)
    own = MODES[mode]["reports"].get("arguments", [])
    plain = ["daily", "--input", "logs", "--store", "lake", *own]
    assert without_places(completed(container["args"])) == without_places(completed(plain))
    [source] = [each for each in arguments if not each.startswith("--")]
    claims = {
        each["name"]: each["persistentVolumeClaim"]["claimName"]
        for each in pod["volumes"]
        if "persistentVolumeClaim" in each
    }
    if source.startswith("/"):
        config = load(read_yaml(configuration(tmp_path, objects, certificates)), ENVIRONMENT)
        assert source == str(config.decisions.directory)
        [volume] = [each for each in pods(objects)["volumes"] if each["name"] == "decisions"]
        assert volume["persistentVolumeClaim"]["claimName"] == claims["decisions"]
    made = {claim["metadata"]["name"] for claim in all_of_kind(objects, "PersistentVolumeClaim")}
    assert made == set(claims.values())


PAGE = (ROOT / "docs" / "guide" / "kubernetes.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
MANIFESTS = [block for block in BLOCKS if "apiVersion:" in block]
EXAMPLES = [yaml.safe_load(block) for block in BLOCKS if block not in MANIFESTS]


def test_a_command_of_a_page_names_the_namespace():
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    used = [line for page in pages for line in re.findall(r"^ *(kubectl .*|helm install .*)$", page, re.M)]
    used += [line for page in pages for line in re.findall(r"`(kubectl [^`]* [^`]*)`", page)]
    assert len(used) > 3
    assert [line for line in used if "--namespace " not in line] == []


def example_of(heading):
    """The values of the first example below a heading of the page."""
    section = PAGE.partition(f"# {heading}\n")[2]
    return yaml.safe_load(section.partition("```yaml\n")[2].partition("\n```\n")[0])


@needs_tools
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: " ".join(example))
def test_an_example_of_the_page_can_be_installed(tmp_path, example, certificates):
    """Examples that mount files of their own are started in their image by test_chart_running.py."""
    objects = render(tmp_path, PLAIN | example)
    conforms(tmp_path / "rendered.yaml", NEWEST)
    if "extraVolumes" not in example:
        file = configuration(tmp_path, objects, certificates)
        assert run_command("tsproxy", "check", file, environment=ENVIRONMENT).returncode == 0


@needs_tools
def test_the_gateway_leads_the_names_and_the_port_of_the_sni_example_to_the_service(tmp_path):
    [manifests] = [list(yaml.safe_load_all(block)) for block in MANIFESTS]
    file = tmp_path / "gateway.yaml"
    file.write_text(yaml.safe_dump_all(manifests))
    assert "Valid: 2, Invalid: 0, Errors: 0, Skipped: 0" in conforms(file, NEWEST)
    gateway, route = manifests
    example = example_of("SNI: one port and host names")
    listener = example["listener"]
    of_all = listener["brokers"]["host"].replace("b{node_id}", "*")
    assert route["spec"]["hostnames"] == [listener["advertisedHost"], of_all]
    assert gateway["spec"]["listeners"][0]["port"] == listener["port"]
    [rule] = route["spec"]["rules"]
    [backend] = rule["backendRefs"]
    service, _ = services(render(tmp_path, PLAIN | example))
    assert backend == {"name": service["metadata"]["name"], "port": service["spec"]["ports"][0]["port"]}
    assert route["spec"]["parentRefs"] == [{"name": gateway["metadata"]["name"]}]
    assert {each["metadata"]["namespace"] for each in manifests} == {
        service["metadata"].get("namespace", "streams")
    }


def test_the_page_names_every_key_that_the_chart_writes():
    assert [key for key in own_keys()["config"] if f"`{key}`" not in PAGE] == []


UPSTREAM = PLAIN["upstream"]
WAIVER = {"name": "etl", "until": "2026-12-31T00:00:00Z", "owner": "etl", "reason": "replay"}
MISTAKES = {
    "upstream.bootstrapServers: name at least one broker": {"upstream": {"bootstrapServers": []}},
    "image.repository: the project publishes no image": {"image": {"repository": ""}},
    "listener.advertisedHost: mode sni needs": {
        "listener": {"mode": "sni", "tls": {"secret": "x"}, "brokers": {"host": "b{node_id}.k"}}
    },
    "listener.brokers.host: mode sni needs": {"listener": {"mode": "sni", "tls": {"secret": "x"}}},
    "listener.tls.secret: mode sni needs TLS": {
        "listener": {"mode": "sni", "advertisedHost": "k", "brokers": {"host": "b{node_id}.k"}}
    },
    "decisions.volume: perPod needs workload: StatefulSet": {"workload": "Deployment"},
    "reports.input: with decisions.volume perPod": {"reports": {"enabled": True, "image": "r"}},
    "config.listeners: the chart writes this key. Set listener": {"config": {"listeners": []}},
    "config.limits.drain_delay: the chart writes this key": {"config": {"limits": {"drain_delay": "9s"}}},
    "listener.settings.bind: the chart writes this key. Set bindHost and": {
        "listener": {"settings": {"bind": "0.0.0.0:9999"}}
    },
    "'/config/policy/mode': value must be one of 'enforce', 'audit', 'off'": {
        "config": {"policy": {"mode": False}}
    },
    "'/config/policy/waivers/0/match/client_ids/0': got number, want string": {
        "config": {"policy": {"waivers": [WAIVER | {"match": {"client_ids": [83]}}]}}
    },
    "upstream.tls.caSecret needs upstream.tls.enabled": {"upstream": UPSTREAM | {"tls": {"caSecret": "ca"}}},
    "upstream.tls.certificateSecret needs upstream.tls.enabled": {
        "upstream": UPSTREAM | {"tls": {"certificateSecret": "proxy"}}
    },
    "config.upstream.tls.ca: another value sets this key, too": {
        "upstream": UPSTREAM | {"tls": {"enabled": True, "caSecret": "ca"}},
        "config": {"upstream": {"tls": {"ca": "/mine/ca.crt"}}},
    },
    "listener.settings.proxy_protocol.from: another value sets this key, too": {
        "listener": {
            "settings": {"proxy_protocol": {"from": ["10.0.0.1"]}},
            "proxyProtocolFrom": ["10.0.0.2"],
        }
    },
    "listener.settings.tls needs listener.tls.secret": {
        "listener": {"settings": {"tls": {"client_auth": "none"}}}
    },
    "listener.brokers.count: the brokers' ports go beyond 65535": {
        "listener": {"brokers": {"portsFrom": 65500, "count": 37}}
    },
    "listener.port is one of the brokers' ports": {"listener": {"port": 9392}},
    "admin.port is one of the brokers' ports": {"admin": {"port": 9193}},
    "admin.port is listener.port": {"admin": {"port": 9192}},
    "decisions.retentionSize: the proxy needs at least 1MiB": {"decisions": {"retentionSize": "1023KiB"}},
    "decisions.retentionSize: 8GiB is not less than decisions.size (8Gi)": {
        "decisions": {"volume": "none", "size": "8Gi"}
    },
    "decisions.retentionSize: 8GiB is not less than decisions.size (5Gi)": {"decisions": {"size": "5Gi"}},
    "decisions.retentionSize: 20GiB is not less than decisions.size (10Gi)": {
        "decisions": {"volume": "shared", "retentionSize": "20GiB"}
    },
    "decisions.retentionSize: unlimited is not less than": {"decisions": {"retentionSize": "unlimited"}},
    "decisions.storageClass: the chart makes no volume": {
        "decisions": {"volume": "shared", "claim": "mine", "storageClass": "nfs"}
    },
    "reports.storage.storageClass: the chart makes no volume": {
        "reports": {"storage": {"claim": "mine", "storageClass": "nfs"}}
    },
    "additional properties 'polcy' not allowed": {"polcy": {}},
    "value must be one of 'ports', 'sni'": {"listener": {"mode": "port"}},
}


@needs_tools
@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_the_values_is_named(tmp_path, text):
    with pytest.raises(AssertionError, match=re.escape(text)):
        render(tmp_path, PLAIN | MISTAKES[text])


@needs_tools
@pytest.mark.parametrize(
    "values",
    [
        {"drain": {"timeoutSeconds": 0}},
        {"decisions": {"retentionSize": "0B"}},
        {"bindHost": ""},
        {"bindHost": "::"},
        {"workers": 257},
        {"listener": {"advertisedHost": "kafka.example.com:9192"}},
        {"listener": {"proxyProtocolFrom": ["lb.example.com"]}},
        {"listener": {"proxyProtocolFrom": ["10.0.0.256"]}},
        {"listener": {"brokers": {"firstId": 2**31}}},
        {"upstream": {"bootstrapServers": ["kafka:99999"]}},
    ],
    ids=str,
)
def test_a_value_that_the_proxy_would_refuse_is_named_by_helm(tmp_path, values):
    [(section, given)] = values.items()
    path = f"at '/{section}/{next(iter(given))}" if isinstance(given, dict) else f"at '/{section}'"
    with pytest.raises(AssertionError, match=re.escape(path)):
        render(tmp_path, PLAIN | values)


UNUSUAL = {
    "addresses of version 6": {
        "bindHost": "[::]",
        "listener": {"advertisedHost": "2001:db8::1", "proxyProtocolFrom": ["2001:db8::/32", "192.0.2.7"]},
        "upstream": {"bootstrapServers": ["[2001:db8::2]:65535"]},
    },
    "variables": {
        "bindHost": "${POD_IP}",
        "upstream": {"bootstrapServers": ["${KAFKA}:9092"]},
        "extraEnv": [{"name": "POD_IP", "value": "10.0.0.1"}, {"name": "KAFKA", "value": "kafka"}],
    },
    "great numbers": {
        "drain": {"delaySeconds": 1_000_000, "timeoutSeconds": 1_048_576},
        "listener": {"brokers": {"firstId": 99_999_999, "count": 2}},
    },
    "names that look like numbers or truths": {
        "serviceAccount": {"name": "0x10"},
        "priorityClassName": "123",
        "service": {"type": "LoadBalancer", "loadBalancerClass": "on"},
        "decisions": {"volume": "shared", "claim": "0123"},
        "reports": {"enabled": True, "image": "r", "storage": {"claim": "83"}, "priorityClassName": "no"},
    },
    "a volume of which the chart does not know the size": {
        "decisions": {"volume": "shared", "claim": "mine", "retentionSize": "unlimited"},
    },
    "a small log without a volume": {
        "decisions": {"volume": "none", "size": "1.5Gi", "retentionSize": "1MiB"},
        "workload": "Deployment",
    },
}


@needs_tools
@pytest.mark.parametrize("values", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_values_arrive_and_fit(tmp_path, values, certificates):
    objects = render(tmp_path, PLAIN | values)
    conforms(tmp_path / "rendered.yaml", NEWEST)
    assert all(len(port["name"]) <= 15 for port in pods(objects)["containers"][0]["ports"])
    variables = {each["name"]: each["value"] for each in values.get("extraEnv", ())}
    config = load(read_yaml(configuration(tmp_path, objects, certificates)), ENVIRONMENT | variables)
    if "drain" in values:
        assert (config.drain_delay_ms, config.drain_timeout_ms) == (1_000_000_000, 1_048_576_000)


@needs_tools
@pytest.mark.parametrize("release", ["2026", "1e3", "on", "null", "0x10"])
def test_the_name_of_a_release_may_look_like_something_else(tmp_path, release):
    objects = render(tmp_path, MODES["SNI, everything with TLS"], release=release)
    printed = conforms(tmp_path / "rendered.yaml", NEWEST)
    assert f"Valid: {len(objects)}, Invalid: 0, Errors: 0, Skipped: 0" in printed
    assert {each["metadata"]["labels"]["app.kubernetes.io/instance"] for each in objects} == {release}


def leaves_of(values, schema, path=()):
    """Each value of the chart that is no section, with its schema."""
    for name, value in values.items():
        below = schema["properties"][name]
        if "properties" in below and ".".join((*path, name)) not in OPEN:
            yield from leaves_of(value, below, (*path, name))
        else:
            yield (*path, name), value, below


def another(path, value, schema):
    """A value that the schema allows, other than this one."""
    if "items" in schema:
        return [another(path, None, schema["items"])]
    if schema.get("type") == "object":
        return OBJECTS.get(path, {"name": "example"})
    texts = ("example", "example:1", "10.0.0.9", "3Gi", "3MiB", "b{node_id}.example")
    candidates = (*schema.get("enum", ()), not value, 7, *texts)
    return next(each for each in candidates if each != value and fits(each, {"type": "string"} | schema))


OBJECTS = {
    "config": {"log": {"level": "debug"}},
    "upstream.admin": {"refresh": "10s"},
    "listener.settings": {"addresses_in_configs": "pass"},
}
BASES = {
    "plain": PLAIN,
    "broad": MODES["SNI, everything with TLS"]
    | {"reports": {"enabled": True, "image": "reports:1", "input": ["logs"]}},
}
LEAVES = leaves_of(
    yaml.safe_load((CHART / "values.yaml").read_text()),
    json.loads((CHART / "values.schema.json").read_text()),
)
OTHERS = {".".join(path): another(".".join(path), value, schema) for path, value, schema in LEAVES}
SWITCHED_OFF = ("reports.", "monitoring.", "admin.tokenSecret.")
"""Sections of which nobody expects anything while their switch (`enabled`, a name) is off."""


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    return {name: render(tmp_path_factory.mktemp("base"), base) for name, base in BASES.items()}


@needs_tools
@pytest.mark.parametrize("path", OTHERS)
def test_no_value_is_ignored_without_a_word(tmp_path, path, unchanged):
    *sections, name = path.split(".")
    base = "broad" if path.startswith(SWITCHED_OFF) and name != "enabled" else "plain"
    values = at = copy.deepcopy(BASES[base])
    for section in sections:
        at = at.setdefault(section, {})
    at[name] = OTHERS[path]
    try:
        changed = render(tmp_path, values)
    except AssertionError as error:
        changed = str(error)
    assert changed != unchanged[base]
    assert not isinstance(changed, str) or path.partition(".")[0] in changed


@needs_tools
@pytest.mark.parametrize(
    ("mode", "rules", "sentence"),
    [
        ("audit", [], "no batch is rejected."),
        ("off", [{"name": "a", "mode": "audit"}], "no batch is rejected."),
        ("audit", [{"name": "a"}, {"name": "b", "mode": "enforce"}], "reject batches (b)."),
        ("enforce", [{"name": "a", "mode": "audit"}], None),
    ],
)
def test_the_notes_say_which_rules_reject(tmp_path, mode, rules, sentence):
    policy = {"mode": mode, "rules": rules} if rules else {"mode": mode}
    printed = notes(tmp_path, PLAIN | {"config": {"policy": policy}})
    said = re.findall(r"config.policy.mode is `(.*?)`, so (.*?\.) Read", printed)
    assert [(word, text.endswith(sentence)) for word, text in said] == ([(mode, True)] if sentence else [])


def notes(tmp_path, values):
    """The text that Helm prints after an installation."""
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return HELM.run(*("install", "px", CHART, "--namespace", "streams", "--values", file, "--dry-run=client"))


@needs_tools
@pytest.mark.parametrize(
    ("mode", "sentences"),
    [
        ("ports", ["Clients bootstrap at px-tsproxy.streams.svc.cluster.local:9192", "no batch is rejected"]),
        ("SNI, everything with TLS", ["Broker n is served at b{node_id}.kafka.example.com:9192"]),
        ("Deployment without a volume, SASL", ["the decision log is lost with each pod"]),
    ],
)
def test_the_notes_say_where_clients_connect_and_what_is_not_safe(tmp_path, mode, sentences):
    printed = notes(tmp_path, MODES[mode])
    for each in sentences:
        assert each in printed
    has_token = "tokenSecret" in MODES[mode].get("admin", {})
    assert ("can read the admin port" in printed) is not has_token
