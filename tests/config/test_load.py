"""A right configuration file is understood whole."""

from pathlib import Path

import pytest

from tests.config.files import SMALLEST, config_of, problems_of
from tsproxy.config import load, put_setting
from tsproxy.config.document import parse_yaml
from tsproxy.config.settings import BrokerPorts, ClientAuth, ConnectionLimits, SaslMechanism, Secret
from tsproxy.config.tree import KEYS
from tsproxy.config.values import instant_ms, instant_text
from tsproxy.model.addresses import Address
from tsproxy.model.policy import Mode, TimeLimit
from tsproxy.model.view import SessionLimits


def test_the_smallest_file_gets_every_default():
    config = config_of(SMALLEST)

    assert config.upstream.bootstrap_servers == (Address("kafka-1", 9092),)
    assert config.upstream.tls is None
    assert config_of(SMALLEST.replace("}", ", tls: {} }")).upstream.tls.ca is None  # TLS all the same
    assert config.upstream.sasl is None
    assert config.upstream.refresh_ms == 30_000
    [listener] = config.listeners
    assert (listener.name, listener.bind) == ("default", Address("127.0.0.1", 9192))
    assert listener.advertised_host == "127.0.0.1"
    assert listener.brokers == BrokerPorts(9193, 200)
    assert config.policy.mode is Mode.ENFORCE
    assert config.decisions.directory == Path("tsproxy-decisions")
    assert config.decisions.rotate_every_ms == 15 * 60 * 1000
    assert config.decisions.rotate_size_bytes == 128 << 20
    assert config.session_limits == SessionLimits()
    assert config.connection_limits == ConnectionLimits()
    assert config.drain_timeout_ms == 30_000
    assert config.admin.bind == Address("127.0.0.1", 9464)


def test_every_key_of_a_full_file_arrives():
    config = config_of(
        """\
upstream:
  bootstrap_servers: [kafka-1:9092, "[::1]:9093"]
  tls: { ca: ca.pem, certificate: proxy.pem, key: proxy.key }
  admin:
    refresh: 250ms
    sasl: { mechanism: SCRAM-SHA-512, username: tsproxy, password: "${PASSWORD}" }
listeners:
  - name: public
    bind: 0.0.0.0:9192
    advertised_host: kafka.example.com
    brokers: { ports_from: 19000, count: 3, first_id: 1001 }
    tls: { certificate: server.pem, key: server.key, client_ca: clients.pem, client_auth: requested }
policy: { mode: off }
decisions: { directory: /var/log/decisions, rotate: { every: 1h, size: 64MiB } }
limits: { produce_frame: 1MiB, zstd_window: 512KiB, in_flight_requests: 7,
  drain_timeout: 5s, drain_delay: 9s }
admin: { bind: off }
""",
        {"PASSWORD": "s3cret"},
    )

    upstream = config.upstream
    assert upstream.bootstrap_servers[1] == Address("::1", 9093)
    assert (upstream.tls.ca, upstream.tls.certificate, upstream.tls.key) == (
        Path("ca.pem"),
        Path("proxy.pem"),
        Path("proxy.key"),
    )
    assert upstream.sasl.mechanism is SaslMechanism.SCRAM_SHA_512
    assert upstream.sasl.credentials.password.reveal() == "s3cret"
    assert upstream.refresh_ms == 250
    [listener] = config.listeners
    assert listener.brokers == BrokerPorts(19000, 3, 1001)
    assert listener.tls.client_auth is ClientAuth.REQUESTED
    assert config.policy.mode is Mode.OFF
    assert config.session_limits.produce_frame == 1 << 20
    assert config.session_limits.zstd_window == 512 << 10
    assert config.session_limits.in_flight_requests == 7
    assert (config.drain_timeout_ms, config.stop_ms) == (5_000, 14_000)
    assert config.admin.bind is None


def test_a_secret_shows_itself_to_nobody():
    secret = Secret("hunter2")

    assert "hunter2" not in f"{secret} {secret!r} {[secret]}"


FROM_0, FROM_1001 = BrokerPorts(9193, 200), BrokerPorts(9193, 3, 1001)


@pytest.mark.parametrize(
    ("ports", "by_node"),
    [
        (FROM_0, {0: 9193, 199: 9392, 200: None, -1: None}),
        (FROM_1001, {1000: None, 1001: 9193, 1003: 9195, 1004: None, 0: None}),
    ],
)
def test_a_brokers_port_is_a_function_of_its_node_id_alone(ports, by_node):
    """Ids that begin elsewhere than at 0 need no port for each one below."""
    assert {node_id: ports.port_of(node_id) for node_id in by_node} == by_node


def test_settings_lie_over_the_file():
    document = parse_yaml(SMALLEST + "policy: { mode: off }\n", "tsproxy.yaml")

    put_setting(document, "policy.mode=enforce")
    put_setting(document, "upstream.bootstrap_servers=a:1,b:2")
    put_setting(document, "policy.limits_from=config")
    put_setting(document, "policy.defaults.message.timestamp.after.max.ms=10s")

    config = load(document, {})
    assert config.policy.mode is Mode.ENFORCE
    assert config.policy.defaults.after == TimeLimit(10_000)
    assert config.upstream.bootstrap_servers == (Address("a", 1), Address("b", 2))


@pytest.mark.parametrize(
    "written", ["'a:1, b:2,'", "['a:1', 'b:2']", "'${A}'", "'${B},b:2'", "['${B}', 'b:2']"]
)
def test_addresses_may_be_one_text_with_commas_also_from_a_variable(written):
    text = SMALLEST.replace("[kafka-1:9092]", written)
    config = config_of(text, {"A": "a:1,b:2", "B": "a:1"})
    assert config.upstream.bootstrap_servers == (Address("a", 1), Address("b", 2))


def test_a_wrong_address_in_one_text_is_shown_alone_but_never_what_a_variable_held():
    for written, told in (("'a:1,planted'", "'planted'"), ("'${A}'", "'${A}'")):
        [problem] = problems_of(SMALLEST.replace("[kafka-1:9092]", written), {"A": "a:1,planted"})
        assert f"upstream.bootstrap_servers: {told} is not allowed" in problem


LISTS = [key for key in KEYS if key.is_list]


@pytest.mark.parametrize("key", LISTS, ids=[key.path for key in LISTS])
def test_a_list_that_a_flag_may_set_has_items_without_a_comma(key):
    """A flag has one text for the whole list."""
    assert key.kind.has_no_comma or "[]" in key.path
    if key.kind.has_no_comma:
        for item in ("a", "a:1", "10.0.0.1"):
            with pytest.raises(ValueError, match=r"host|address"):
                key.kind.parse(f"{item},{item}")


WITH_DEFAULT = [key for key in KEYS if key.default is not None]


@pytest.mark.parametrize("key", WITH_DEFAULT, ids=[key.path for key in WITH_DEFAULT])
def test_a_default_is_written_as_a_text_that_reads_the_same(key):
    value = key.kind.parse(key.default)

    assert key.kind.parse(str(key.kind.write(value))) == value


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("9999-12-31T23:59:59.9999999Z", 253_402_300_799_999),  # not the year 10000, which has no date
        ("1969-12-31T23:59:59.9999Z", -1),
        ("0001-01-01T00:00:00.001Z", -62_135_596_799_999),
    ],
)
def test_an_instant_is_its_millisecond_and_is_written_as_a_text_that_reads_the_same(text, ms):
    assert (instant_ms(text), instant_ms(instant_text(ms))) == (ms, ms)
