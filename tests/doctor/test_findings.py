"""The findings that need no broker: topics, ports, certificates, clock, folder, memory."""

import socket
from datetime import timedelta

import pytest

from tests.config.files import config_of
from tests.offline.commands import tsproxy
from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.cluster.limits_of_brokers import given_by
from tsproxy.doctor import machine, security, topics
from tsproxy.doctor.clocks import by_brokers, by_kernel
from tsproxy.doctor.clocks import examine as examine_clock
from tsproxy.doctor.findings import Finding, Grade, as_json, as_text, has_problem
from tsproxy.doctor.permissions import Rights
from tsproxy.doctor.ports import examine as examine_ports
from tsproxy.doctor.topics import Described
from tsproxy.model.addresses import Address
from tsproxy.proxy.clock_check.offsets import Offset
from tsproxy.proxy.clock_check.stamps import Look, Newest
from tsproxy.testing.ports import free_ports

HOUR_MS = 3_600_000
LONG_MAX = str(2**63 - 1)
BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
TYPE = "message.timestamp.type"
KAFKA_4 = {BEFORE: LONG_MAX, AFTER: str(HOUR_MS), TYPE: "CreateTime"}
KAFKA_3 = {**KAFKA_4, AFTER: LONG_MAX, "message.timestamp.difference.max.ms": LONG_MAX}
UPSTREAM = "upstream: { bootstrap_servers: [kafka-1:9092] }\n"


def described(own=None, by_default=KAFKA_4, **others):
    """Topics by their own settings; `others` are what further brokers give, by a name of no meaning."""
    answers = [
        TopicAnswer(
            topic,
            0,
            by_default | settings,
            defaults=by_default.keys() - settings.keys(),
            own=frozenset(settings),
        )
        for topic, settings in (own or {}).items()
    ]
    given = {1: given_by(answers)}
    for node_id, values in enumerate(others.values(), 2):
        given[node_id] = given_by([TopicAnswer("orders", 0, values, defaults=frozenset(values))])
    return Described(answers, given)


def listening(text, brokers="brokers: { ports_from: 0 }", bind="127.0.0.1:0"):
    return config_of(f"{UPSTREAM}listeners:\n  - bind: {bind}\n    {brokers}\nadmin: {{ bind: off }}\n{text}")


def said(findings, grade):
    return [each.text for each in findings if each.grade is grade]


# -- Topics ------------------------------------------------------------------------------------------


def test_a_topic_that_takes_any_age_is_a_warning_with_the_command_that_limits_it():
    [found] = [
        each
        for each in topics.examine(listening(""), described({"orders": {}, "week": {BEFORE: "604800000"}}))
        if each.grade is Grade.WARNING
    ]

    assert found.text.startswith("no limit on the age of records in 1 of 2 topics (orders)")
    assert found.command == (
        "kafka-configs.sh --bootstrap-server kafka-1:9092 --alter --entity-type topics --entity-name orders "
        f"--add-config {BEFORE}=604800000"
    )


def test_the_default_of_kafka_3_is_a_warning_and_that_of_kafka_4_is_told():
    three = [*topics.examine(listening(""), described({"orders": {}}, KAFKA_3))]
    four = [*topics.examine(listening(""), described({"orders": {}}, KAFKA_4))]

    assert any("times in the future in 1 of 1 topic (orders)" in text for text in said(three, Grade.WARNING))
    assert not any("times in the future" in text for text in said(four, Grade.WARNING))
    assert any(
        "an hour ahead in 1 of 1 topic (orders) is Kafka 4's default" in text for text in said(four, Grade.OK)
    )


def test_an_hour_that_somebody_has_set_is_not_called_a_default():
    found = [*topics.examine(listening(""), described({"orders": {AFTER: str(HOUR_MS)}}))]

    assert not any("default" in each.text for each in found)


def test_no_limit_is_missed_where_brokers_replace_the_timestamps():
    found = [*topics.examine(listening(""), described({"clicks": {TYPE: "LogAppendTime"}}))]

    assert [each.grade for each in found] == [Grade.OK]
    assert "1 topic with LogAppendTime (clicks)" in found[0].text


def test_brokers_with_other_defaults_are_a_warning_that_names_them():
    found = [*topics.examine(listening(""), described({"orders": {}}, KAFKA_4, other=KAFKA_3))]

    [text] = [text for text in said(found, Grade.WARNING) if "different defaults" in text]
    assert f"of {AFTER} (node 1: 1h, node 2: unlimited) for 1 topic (orders)" in text


def test_a_rule_that_allows_more_than_a_topic_is_a_warning_and_one_that_allows_less_is_told():
    policy = (
        "policy:\n  rules:\n"
        f"    - {{ name: wide, match: {{ topics: [orders] }}, {AFTER}: 1d }}\n"
        f"    - {{ name: tight, match: {{ topics: [orders] }}, {AFTER}: 1m }}\n"
    )
    found = [*topics.examine(listening(policy), described({"orders": {}}))]

    assert any(
        "rule wide allows more (after: 1d) than 1 topic (orders 1h)" in text
        for text in said(found, Grade.WARNING)
    )
    assert any("rule tight allows less than 1 topic (orders)" in text for text in said(found, Grade.OK))


@pytest.mark.parametrize(
    ("rules", "unfit"),
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
def test_a_rule_or_waiver_that_fits_no_topic_is_a_warning(rules, unfit):
    config = listening(f"policy: {{ {rules} }}\n")
    found = [*topics.unfit(config, Rights(("orders-eu", "shop.orders"), True, (), True))]

    assert [text.split(" fits no topic")[0] for text in said(found, Grade.WARNING)] == unfit
    assert [*topics.unfit(config, Rights((), True, (), True))] == []


def test_a_pattern_that_looks_like_a_regular_expression_is_told_so():
    config = listening("policy: { rules: [{ name: a, match: { topics: ['orders-.*'] } }] }\n")
    [found] = topics.unfit(config, Rights(("orders-eu",), True, (), True))

    assert "/orders-.*/ is a regular expression" in found.advice


# -- Ports -------------------------------------------------------------------------------------------


async def test_a_port_that_somebody_has_is_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        found = await examine_ports(listening("", bind=address), {})

    assert [each.check for each in found if each.grade is Grade.PROBLEM] == ["ports"]
    assert f"cannot listen on {address}: another program listens there" in said(found, Grade.PROBLEM)[0]


async def test_a_node_id_without_a_port_is_a_problem_with_the_numbers_to_set():
    brokers = {1001: Address("127.0.0.1", 1), 1003: Address("127.0.0.1", 2)}
    found = await examine_ports(listening("", brokers="brokers: { ports_from: 0, count: 2 }"), brokers)

    [problem] = [each for each in found if each.grade is Grade.PROBLEM]
    assert "node 1001, 1003 has no port" in problem.text
    assert "first_id: 1001 and count: 3" in problem.advice


async def test_an_advertised_host_that_does_not_resolve_here_is_a_warning():
    [port] = free_ports(1)
    found = await examine_ports(
        listening("", brokers="advertised_host: no-such-host.invalid", bind=f"127.0.0.1:{port}"), {}
    )

    [text] = said(found, Grade.WARNING)
    assert "no-such-host.invalid does not resolve on this machine" in text


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
    names = ["kafka.example.com", "*.kafka.example.com", "192.0.2.1"]
    shown = certificates.issue("listener-of-doctor", names)
    config = listening("", brokers=f"tls: {{ certificate: {shown.certificate}, key: {shown.key} }}")

    assert security.names_host(config.listeners[0].tls, host) is is_named


def test_an_expired_certificate_still_has_its_names(certificates):
    shown = certificates.issue("expired-of-doctor", ["kafka.example.com"], starts=timedelta(days=-3))
    config = listening("", brokers=f"tls: {{ certificate: {shown.certificate}, key: {shown.key} }}")

    assert security.names_host(config.listeners[0].tls, "kafka.example.com")


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


@pytest.mark.parametrize(
    ("protocols", "advertised", "found"),
    [
        ("", "PLAINTEXT://a:1,SSL://a:2", ["SSL://a:2"]),
        ("IN:PLAINTEXT,OUT:SASL_SSL", "IN://a:1,OUT://a:2", ["OUT://a:2"]),
        ("IN:PLAINTEXT", "IN://a:1", []),
        (None, None, []),
    ],
)
def test_listeners_with_tls_are_found_by_their_protocol(protocols, advertised, found):
    settings = {"listener.security.protocol.map": protocols, "advertised.listeners": advertised}

    assert security.tls_listeners(settings) == found


# -- The clock ---------------------------------------------------------------------------------------

NOW_MS = 1_767_225_600_000


@pytest.mark.parametrize(
    ("offset", "grade", "words"),
    [
        (Offset(200, 300), Grade.OK, "0.2 s ahead of the brokers'"),
        (Offset(-7_200_000, 300), Grade.PROBLEM, "7,200.0 s behind the brokers'"),
    ],
)
def test_the_clock_is_compared_with_what_brokers_wrote_between_two_looks(offset, grade, words):
    found = by_brokers(1_000, (Look(0, 1, NOW_MS), []), offset)

    assert found.grade is grade
    assert words in found.text


@pytest.mark.parametrize(("ahead_ms", "grade"), [(60_000, Grade.PROBLEM), (500, Grade.SKIPPED)])
def test_a_time_that_a_broker_has_written_and_is_still_to_come_shows_a_slow_clock(ahead_ms, grade):
    newest = [Newest("__consumer_offsets", 0, 1, NOW_MS + ahead_ms)]

    assert by_brokers(1_000, (Look(0, 1, NOW_MS), newest), None).grade is grade


@pytest.mark.parametrize(
    ("kernel", "grade"), [(True, Grade.OK), (False, Grade.WARNING), (None, Grade.SKIPPED)]
)
async def test_the_kernel_is_asked_whether_the_clock_is_synchronized(kernel, grade):
    found = await examine_clock(listening(""), [], [], Clock(), lambda: kernel)

    assert found[0].grade is grade


@pytest.mark.parametrize(("ms", "grade"), [(200, Grade.OK), (7_200_000, Grade.WARNING)])
def test_the_kernels_word_is_a_warning_only_if_the_brokers_do_not_contradict_it(ms, grade):
    """In a virtual machine the host often keeps the clock right, and the kernel is never told."""
    brokers = by_brokers(1_000, (Look(0, 1, NOW_MS), []), Offset(ms, 300))

    assert by_kernel(False, brokers).grade is grade


# -- The machine -------------------------------------------------------------------------------------


def folder_of(path):
    return listening(f"decisions: {{ directory: {path}, retention: {{ size: 1MiB }} }}\n")


def test_a_folder_that_can_be_written_is_fine_and_so_is_one_that_can_be_made(tmp_path):
    for path in (tmp_path, tmp_path / "new" / "folder"):
        assert {each.grade for each in machine.decisions(folder_of(path))} == {Grade.OK}
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_place_of_the_folder_is_a_problem(tmp_path):
    (tmp_path / "file").touch()

    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        [found] = machine.decisions(folder_of(folder))
        assert (found.grade, found.text) == (Grade.PROBLEM, f"{tmp_path / 'file'} is not a folder")


def test_a_folder_that_may_not_be_written_is_a_problem_with_the_command_for_it(tmp_path, monkeypatch):
    """The answer does not depend on the user of the tests: root may write anywhere."""
    monkeypatch.setattr("os.access", lambda *_: False)

    [there] = machine.decisions(folder_of(tmp_path))
    [absent] = machine.decisions(folder_of(tmp_path / "new"))
    assert (there.grade, absent.grade) == (Grade.PROBLEM, Grade.PROBLEM)
    assert there.command.startswith("chown ")
    assert f"{tmp_path} belongs to " in absent.text
    assert absent.command is None


def test_a_folder_of_another_user_is_a_warning(tmp_path, monkeypatch):
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr("os.geteuid", lambda: owner + 4_711)

    found = [each for each in machine.decisions(folder_of(tmp_path)) if each.grade is Grade.WARNING]
    assert [f"uid {owner + 4_711}" in each.text for each in found] == [True]


def test_a_retention_beyond_the_disk_is_a_warning(tmp_path):
    config = listening(f"decisions: {{ directory: {tmp_path}, retention: {{ size: 1000000GiB }} }}\n")

    [text] = said(machine.decisions(config), Grade.WARNING)
    assert "may fill up before old files are deleted" in text


def test_the_memory_is_that_of_the_container_if_it_has_less(tmp_path):
    (tmp_path / "memory.max").write_text("536870912\n")
    limited = machine.available_bytes(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")

    assert limited == 512 << 20
    assert machine.available_bytes(tmp_path) > 512 << 20


def test_limits_beyond_the_memory_are_a_warning():
    config = listening("limits: { buffered: 1GiB, decompressed_batch: 256MiB }\nworkers: 2\n")

    # Three processes of 60 MiB, 1 GiB held, and two batches for each worker.
    assert machine.most_bytes(config) == (3 * 60 + 1024 + 4 * 256) << 20
    assert machine.memory(config, 1 << 30).grade is Grade.WARNING
    assert machine.memory(config, 8 << 30).grade is Grade.OK


@pytest.mark.parametrize(
    ("granted", "limits", "grade"),
    [
        (1_000_000, "{ connections: 10000 }", Grade.OK),
        (1_024, "{ connections: 10000 }", Grade.WARNING),
        (1_024, "{ idle: 12m }", Grade.WARNING),
        (64, "{ connections: 10 }", Grade.PROBLEM),
        (None, "{ idle: 12m }", Grade.SKIPPED),
    ],
)
def test_few_file_descriptors_are_told_before_a_client_finds_out(granted, limits, grade):
    assert machine.open_files(listening(f"limits: {limits}\n"), granted).grade is grade


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs --config or --upstream"),
        (["--upstream", "127.0.0.1:1", "--advertised-host", "x"], "goes with --listen"),
    ],
)
async def test_wrong_usage_is_a_sentence_and_status_2(capsys, arguments, words):
    result = await tsproxy(capsys, "doctor", *arguments)

    assert result.status == 2
    assert words in result.err


async def test_a_cluster_that_does_not_answer_is_status_1_and_this_machine_is_examined_anyway(
    capsys, tmp_path
):
    result = await tsproxy(
        capsys, "doctor", "--upstream", "127.0.0.1:1,no-such-host.invalid:9092", "--decisions", tmp_path
    )

    assert result.status == 1
    assert "problem  cluster        127.0.0.1:1: Connection refused" in result.out
    assert "problem  names          no-such-host.invalid: Name or service not known" in result.out
    assert "skipped  permissions    no broker answers" in result.out
    assert "decisions" in result.out
