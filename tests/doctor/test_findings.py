"""The findings that need no broker: topics, ports, certificates, clock."""

import asyncio
import json
import socket
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.config.files import SMALLEST, config_of
from tests.offline.commands import tsproxy
from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.cluster.limits_of_brokers import given_by
from tsproxy.doctor import security, topics
from tsproxy.doctor.clients import examine as examine_clients
from tsproxy.doctor.clock_offset import by_offset
from tsproxy.doctor.findings import Finding, Grade, as_json, as_text, has_problem
from tsproxy.doctor.permissions import Rights
from tsproxy.doctor.permissions import examine as examine_rights
from tsproxy.doctor.ports import examine as examine_ports
from tsproxy.doctor.topics import Described
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ErrorCode
from tsproxy.proxy.clock_check.offsets import Offset

HOUR_MS = 3_600_000
LONG_MAX = str(2**63 - 1)
BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
TYPE = "message.timestamp.type"
KAFKA_4 = {BEFORE: LONG_MAX, AFTER: str(HOUR_MS), TYPE: "CreateTime"}
DIFFERENCE = "message.timestamp.difference.max.ms"
KAFKA_3 = {**KAFKA_4, AFTER: LONG_MAX, DIFFERENCE: LONG_MAX}
UPSTREAM = "upstream: { bootstrap_servers: [kafka-1:9092] }\n"


def described(own=None, by_default=KAFKA_4, **others):
    """Topics by their own settings; `others` are what further brokers give, by a name of no meaning."""
    answers = [
        TopicAnswer(
            topic,
            0,
            by_default | settings,
            defaults=by_default.keys() - settings.keys(),
            overrides=frozenset(settings),
        )
        for topic, settings in (own or {}).items()
    ]
    given = {1: given_by(answers)}
    for node_id, values in enumerate(others.values(), 2):
        given[node_id] = given_by([TopicAnswer("orders", 0, values, defaults=frozenset(values))])
    return Described(answers, given)


def page(content):
    body = json.dumps(content).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


def listening(text, brokers="brokers: { ports_from: 0 }", bind="127.0.0.1:0"):
    return config_of(f"{UPSTREAM}listeners:\n  - bind: {bind}\n    {brokers}\nadmin: {{ bind: off }}\n{text}")


def said(findings, grade):
    return [each.text for each in findings if each.grade is grade]


# -- Topics ------------------------------------------------------------------------------------------


ANY_AGE, NO_LIMIT = (f"{name} is unlimited in 1 of 1 topic (orders)" for name in (BEFORE, AFTER))
HOUR = {DIFFERENCE: str(HOUR_MS)}
WEEK = {BEFORE: "604800000"}
BY_BROKERS = described({"queue": WEEK}, KAFKA_3 | HOUR)
SET_THERE = replace(BY_BROKERS, topics=[replace(BY_BROKERS.topics[0], defaults=frozenset())])
WIDE_AND_TIGHT = (
    "policy:\n  rules:\n"
    f"    - {{ name: wide, match: {{ topics: [orders] }}, {AFTER}: 1d }}\n"
    f"    - {{ name: tight, match: {{ topics: [orders] }}, {AFTER}: 1m }}\n"
)
TOPICS = {
    "a topic that takes any age": (
        described({"orders": {}, "week": WEEK}),
        "",
        [f"{BEFORE} is unlimited in 1 of 2 topics (orders)"],
    ),
    "the default of Kafka 3": (described({"orders": {}}, KAFKA_3), "", [ANY_AGE, NO_LIMIT]),
    "the default of Kafka 4": (described({"orders": {}}), "", [ANY_AGE]),
    "a limit that goes with Kafka 4, set by a topic": (
        described({"queue": HOUR | WEEK | {AFTER: "5"}}, KAFKA_3),
        "",
        [f"{DIFFERENCE} limits 1 topic (queue): Kafka 4 does not know it"],
    ),
    "the same at brokers of 4.0, which show it without its value": (
        described({"queue": {DIFFERENCE: None} | WEEK}),
        "",
        [],
    ),
    "the same by default": (BY_BROKERS, "", []),
    "the same, set by a broker": (SET_THERE, "", [f"{DIFFERENCE} limits 1 topic (queue)"]),
    "brokers replace the timestamps": (described({"clicks": {TYPE: "LogAppendTime"}}), "", []),
    "brokers with other defaults": (
        described({"orders": {}}, KAFKA_4, other=KAFKA_3),
        "",
        [
            ANY_AGE,
            NO_LIMIT,
            f"brokers have different defaults of {AFTER} (node 1: 1h, node 2: unlimited) for 1 topic",
        ],
    ),
    "limits of the policy beside those of the topic": (
        described({"orders": {}}, KAFKA_3),
        f"policy: {{ limits_from: stricter, defaults: {{ {BEFORE}: 7d }} }}",
        [],
    ),
    "the same in audit mode": (
        described({"orders": {}}, KAFKA_3),
        f"policy: {{ mode: audit, limits_from: stricter, defaults: {{ {BEFORE}: 7d }} }}",
        [ANY_AGE, NO_LIMIT],
    ),
    "a rule that allows more than a topic, and one that allows less": (
        described({"orders": {}}),
        WIDE_AND_TIGHT,
        [ANY_AGE, "rule wide allows more (after: 1d) than 1 topic (orders 1h)"],
    ),
}
"""Topics, a part of the configuration, and the beginnings of all warnings."""


@pytest.mark.parametrize(("found", "text", "warnings"), TOPICS.values(), ids=TOPICS)
def test_limits_that_let_too_much_pass_are_warnings(found, text, warnings):
    texts = said(topics.examine(listening(text), found), Grade.WARNING)
    assert [told.startswith(begin) for told, begin in zip(texts, warnings, strict=True)] == [True] * len(
        texts
    )


@pytest.mark.parametrize(
    ("rules", "unmatched"),
    [
        ("rules: [{ name: a, match: { topics: ['payments', 'orders-.*'] } }]", ["rule a"]),
        ("rules: [{ name: a, match: { topics: ['payments', 'orders-*'] } }]", []),
        ("rules: [{ name: a, match: { topics: ['/.*orders/'] } }]", []),
        ("rules: [{ name: a, match: { topics: ['__*'] } }, { name: b }]", []),
        (
            "waivers: [{ name: w, match: { topics: [x] }, until: 2199-12-01T00:00:00Z, "
            "owner: o, reason: r }]",
            ["waiver w"],
        ),
    ],
)
def test_a_rule_or_waiver_that_matches_no_topic_is_a_warning(rules, unmatched):
    config = listening(f"policy: {{ {rules} }}\n")
    found = [*topics.unmatched(config, Rights(("orders-eu", "shop.orders"), True, ()))]

    assert [text.split(" matches no topic")[0] for text in said(found, Grade.WARNING)] == unmatched
    assert [*topics.unmatched(config, Rights((), True, ()))] == []


def test_a_pattern_that_looks_like_a_regular_expression_is_told_so():
    config = listening("policy: { rules: [{ name: a, match: { topics: ['orders-.*'] } }] }\n")
    [found] = topics.unmatched(config, Rights(("orders-eu",), True, ()))

    assert "/orders-.*/ is a regular expression" in found.advice


# -- Ports -------------------------------------------------------------------------------------------


def test_a_port_that_somebody_has_is_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        found = examine_ports(listening("", bind=address), {})

    assert [each.check for each in found if each.grade is Grade.PROBLEM] == ["ports"]
    assert f"cannot listen on {address}: another program listens there" in said(found, Grade.PROBLEM)[0]


def test_a_node_id_without_a_port_is_a_problem_with_the_numbers_to_set():
    brokers = {1001: Address("127.0.0.1", 1), 1003: Address("127.0.0.1", 2)}
    found = examine_ports(listening("", brokers="brokers: { ports_from: 0, count: 2 }"), brokers)

    [problem] = [each for each in found if each.grade is Grade.PROBLEM]
    assert "node 1001, 1003 has no port" in problem.text
    assert "first_id: 1001 and count: 3" in problem.advice


# -- Certificates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "is_named"),
    [
        ("kafka.example.com", True),
        ("b1.kafka.example.com", True),
        ("b1.other.example.com", False),
        ("192.0.2.1", True),
        ("192.0.2.2", False),
    ],
)
def test_the_names_of_a_listeners_certificate_are_those_that_clients_accept(certificates, host, is_named):
    shown = certificates.issue(
        "listener-of-doctor", ["kafka.example.com", "*.kafka.example.com", "192.0.2.1"]
    )
    config = listening("", brokers=f"tls: {{ certificate: {shown.certificate}, key: {shown.key} }}")

    assert (security.rejection(config.listeners[0].tls, host) is None) is is_named


@pytest.mark.parametrize(
    ("starts", "lasts", "reason"),
    [
        (timedelta(days=-3), timedelta(days=2), "certificate has expired"),
        (timedelta(days=1), timedelta(days=2), "certificate is not yet valid"),
        (timedelta(days=-1), timedelta(days=2), None),
    ],
)
def test_a_certificate_that_no_client_accepts_now_is_a_problem(certificates, starts, lasts, reason):
    shown = certificates.issue("dates-of-doctor", starts=starts, lasts=lasts)
    assert of_certificate(shown.certificate, shown.key) == reason


def test_a_certificate_that_is_not_for_servers_is_a_problem(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-subj", "/CN=proxy", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    command += ["-addext", "extendedKeyUsage=clientAuth", "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    assert of_certificate(certificate, key) == "unsuitable certificate purpose"


def of_certificate(certificate, key):
    """The reason why clients do not accept a listener's certificate, as doctor tells it; None if they do."""
    brokers = f"brokers: {{ ports_from: 0 }}\n    tls: {{ certificate: {certificate}, key: {key} }}"
    [found] = security.to_clients(listening("", brokers=brokers), {})
    begin = f"listener default: clients do not accept {certificate}: "
    assert found.text.startswith(begin) is (found.grade is Grade.PROBLEM)
    return found.text.removeprefix(begin) if found.grade is Grade.PROBLEM else None


def test_a_certificate_without_a_brokers_name_is_a_problem(certificates):
    shown = certificates.issue("narrow-of-doctor", ["kafka.example.com", "b1.example.com"])
    brokers = (
        "advertised_host: kafka.example.com\n    brokers: { host: 'b{node_id}.example.com' }\n"
        f"    tls: {{ certificate: {shown.certificate}, key: {shown.key} }}"
    )
    [found] = security.to_clients(
        listening("", brokers=brokers), {1: Address("kafka-1", 9092), 2: Address("kafka-2", 9092)}
    )

    assert found.grade is Grade.PROBLEM
    assert found.text.endswith("is not valid for b2.example.com")


# -- The clock ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "grade", "words"),
    [
        (Offset(200, 300), Grade.OK, "0.2 s ahead of the brokers'"),
        (Offset(-7_200_000, 300), Grade.PROBLEM, "7,200.0 s behind the brokers'"),
        (None, Grade.SKIPPED, "their clocks are not known"),
    ],
)
def test_the_clock_is_compared_with_what_brokers_wrote_between_two_looks(offset, grade, words):
    found = by_offset(1_000, offset)

    assert found.grade is grade
    assert words in found.text


# -- The whole ---------------------------------------------------------------------------------------


def test_a_control_character_of_a_broker_does_not_reach_the_terminal():
    shown = as_text([Finding("cluster", Grade.PROBLEM, "no\x1b[31m\nok  entry", "try\rit")])

    assert "\x1b" not in shown
    assert "no [31m ok  entry" in shown.splitlines()[0]
    assert shown.splitlines()[-1] == "1 problem, 0 warnings, 0 ok, 0 skipped"


@pytest.mark.parametrize(
    ("grades", "result"),
    [
        ([Grade.OK, Grade.SKIPPED], "ok"),
        ([Grade.OK, Grade.WARNING], "warning"),
        ([Grade.WARNING, Grade.PROBLEM], "problem"),
    ],
)
def test_the_result_is_the_worst_grade(grades, result):
    findings = [Finding("cluster", grade, "…") for grade in grades]

    assert as_json(findings)["result"] == result
    assert has_problem(findings) is (result == "problem")


async def test_a_configuration_that_cannot_be_used_is_a_problem_and_status_2(capsys, tmp_path):
    config = tmp_path / "tsproxy.yaml"
    config.write_text("upstream: { bootstrap_servers: [kafka-1:9092] }\npolcy: {}\n")

    text = await tsproxy(capsys, "doctor", "--config", config)
    as_data = await tsproxy(capsys, "doctor", "--config", config, "--json")

    assert (text.status, as_data.status) == (2, 2)
    assert f"problem  configuration  {config}:2: polcy: unknown key; did you mean 'policy'?" in text.out
    assert as_data.json["result"] == "problem"


async def test_a_cluster_that_does_not_answer_is_status_1_and_the_listeners_are_examined_anyway(capsys):
    result = await tsproxy(
        capsys, "doctor", *("--upstream", "127.0.0.1:1,no-such-host.invalid:9092", "--admin", "off")
    )

    assert result.status == 1
    assert "problem  cluster        127.0.0.1:1: Connection refused" in result.out
    assert "problem  cluster        no-such-host.invalid:9092: Name or service not known" in result.out
    assert "skipped  permissions    no broker answers" in result.out
    assert "skipped  ports          no fixed port is configured" in result.out


NO_SUCH_TOPIC = TopicAnswer("probe", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, {})
DESCRIBED = TopicAnswer("t", ErrorCode.NONE, {})


@pytest.mark.parametrize(
    ("visible", "sees_all", "described", "of_limits", "of_names"),
    [
        ((), True, NO_SUCH_TOPIC, "skipped", "ok"),
        ((), False, NO_SUCH_TOPIC, "skipped", "warning"),
        (("t",), True, DESCRIBED, "ok", "ok"),
        (("t",), False, DESCRIBED, "ok", "warning"),
    ],
)
def test_a_right_that_was_not_tried_is_not_called_granted(visible, sees_all, described, of_limits, of_names):
    limits, names, *_ = examine_rights(config_of(SMALLEST), Rights(visible, sees_all, [described]))
    assert (limits.grade.value, names.grade.value) == (of_limits, of_names)
    assert ("none was asked" in limits.text) is not visible
    assert ("Produce 12 at most" in names.text) is not sees_all


LISTENING = f"{UPSTREAM}listeners: [ {{ bind: '127.0.0.1:0', brokers: {{ ports_from: 0 }} }} ]\n"
USES = [
    {"client_id": "oura", "api": "Produce", "version_min": 0, "version_max": 0},
    {"client_id": "oura", "api": "Fetch", "version_min": 0, "version_max": 3},
    {"client_id": "app", "principal": "User:app", "api": "Fetch", "version_min": 1, "version_max": 1},
]


def top(rows, clients):
    return page({"refused_by_kafka_4": rows, "clients_refused_by_kafka_4": clients})


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (top([], 0), ["Kafka 4 refuses none of those that the running proxy has seen"]),
        (
            top(USES, 80),
            [
                "Kafka 4 refuses 80 clients by protocol (KIP-896): oura: Produce 0, oura: Fetch 0 to 3, "
                "app as User:app: Fetch 1"
            ],
        ),
        (b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 6\r\n\r\ntoken?", []),
        (page(["another program"]), []),
        (b"\x15\x03\x03\x00\x02\x02\x46", []),  # TLS
        (b"", []),
    ],
)
async def test_a_running_proxy_says_which_clients_kafka_4_refuses(answer, told):
    """Without one, or if another program listens at its admin port, there is no finding."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        config = config_of(f"{LISTENING}admin: {{ bind: '127.0.0.1:{port}' }}\n")
        assert [each.text for each in await examine_clients(config)] == told
    assert await examine_clients(config) == []
