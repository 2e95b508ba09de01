"""`tsproxy doctor` against one real broker: a listener with TLS and SASL, a plain one beside it, ACLs.

`tsproxy scan` has the same broker, for what a user without rights sees.
"""

import asyncio
from contextlib import suppress

import pytest
import pytest_asyncio
from aiokafka import AIOKafkaProducer
from confluent_kafka.admin import AclOperation

from tests.kit.admin import ANY, AUTHORIZER, grant, right
from tests.offline.commands import tsproxy
from tests.proxy.world import until
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.broker

USERS = {user: f"planted-password-of-{user}" for user in ("root", "newcomer", "nobody")}
DEAD_LETTERS = "dead_letters: { topic: letters }\npolicy: { defaults: { dead_letters: yes } }\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(tmp_path_factory):
    """Nobody but root may do anything, until a test grants it."""
    properties = {**AUTHORIZER, "super.users": "User:root"}
    authority = CertificateAuthority(tmp_path_factory.mktemp("authority"))
    async with KafkaCluster(
        security="SASL_SSL", users=USERS, authority=authority, properties=properties
    ) as it:
        await it.create_topic("orders")
        await it.create_topic("letters")
        await it.create_topic("stamped", config={"message.timestamp.type": "LogAppendTime"})
        yield it


@pytest.fixture
def doctor(kafka, capsys, tmp_path):
    """Runs the command with a file that says how to connect; `sasl` and `tls` of None leave the key out."""

    async def run(
        *arguments,
        command="doctor",
        user="root",
        password=None,
        mechanism="PLAIN",
        tls=True,
        sasl=True,
        more="",
    ):
        ca = kafka.client_options().ca
        password = password or USERS[user]
        config = tmp_path / "tsproxy.yaml"
        config.write_text(
            f"upstream:\n  bootstrap_servers: ['{kafka.bootstrap_servers}']\n"
            + (f"  tls: {{ ca: {ca} }}\n" if tls else "")
            + (
                f"  admin: {{ sasl: {{ mechanism: {mechanism}, username: {user}, password: {password} }} }}\n"
                if sasl
                else ""
            )
            + "listeners: [ { bind: '127.0.0.1:0', brokers: { ports_from: 0 } } ]\nadmin: { bind: off }\n"
            + f"decisions: {{ directory: {tmp_path}, retention: {{ size: 1MiB }} }}\n{more}"
        )
        result = await tsproxy(capsys, command, "--config", config, "--json", *arguments)
        assert not [secret for secret in (*USERS.values(), password) if secret in result.out + result.err]
        return result

    return run


def found(result, grade, check=None):
    return [
        each for each in result.json["findings"] if each["grade"] == grade and check in (None, each["check"])
    ]


async def test_a_user_with_all_rights_has_no_problem(doctor, kafka):
    result = await doctor()

    assert (result.status, found(result, "problem")) == (0, [])
    security = [each["text"] for each in found(result, "ok", "security")]
    address = kafka.bootstrap_servers
    assert f"{address}: the user 'root' logs in by PLAIN" in security
    [version] = found(result, "ok", "versions")
    assert version["text"] == f"node 1 at {address}: Produce 3 to 13"
    assert any(
        "before.max.ms is unlimited in 2 of 2 topics (letters, orders)" in each["text"]
        for each in found(result, "warning", "topics")
    )


async def test_a_missing_right_is_a_problem_until_it_is_granted(doctor, kafka):
    before = await doctor(user="newcomer")

    [problem] = found(before, "problem")
    [warning] = found(before, "warning", "permissions")
    assert before.status == 1
    assert "DescribeConfigs on topics: missing" in problem["text"]
    assert "Describe on topics: not granted on all" in warning["text"]
    missing = (AclOperation.DESCRIBE_CONFIGS, AclOperation.DESCRIBE)
    await grant(kafka, *(right(operation, ANY, user="newcomer") for operation in missing))

    after = await doctor(user="newcomer")
    assert (after.status, found(after, "problem")) == (0, [])
    texts = [each["text"] for each in found(after, "ok", "permissions")]
    assert texts[0] == "DescribeConfigs on topics: granted (3 topics asked)"

    letters = await doctor(user="newcomer", more=DEAD_LETTERS)
    [problem] = found(letters, "problem")
    assert problem["text"] == "Write on letters (dead_letters.topic): missing"


@pytest.mark.parametrize(
    ("servers", "topic", "grade", "text"),
    [
        ("localhost:{port}", "letters", "ok", "Write on letters (decisions.topic): granted"),
        ("localhost:{port}", "no-topic", "problem", "decisions.topic: there is no topic no-topic"),
        ("127.0.0.1:1", "letters", "problem", "decisions.topic: 127.0.0.1:1: Connection refused"),
    ],
)
async def test_the_topic_of_decisions_is_looked_for_in_its_own_cluster(
    doctor, kafka, servers, topic, grade, text
):
    port = kafka.bootstrap_servers.rpartition(":")[2]
    arguments = ["--set", f"decisions.topic.name={topic}"]
    arguments += ["--set", f"decisions.topic.bootstrap_servers={servers.format(port=port)}"]
    result = await doctor(*arguments)

    texts = [each["text"] for each in found(result, grade, "permissions")]
    assert [each for each in texts if each.startswith(text)]
    assert result.status == (grade == "problem")


async def test_topics_of_the_proxys_own_that_do_not_exist_are_a_problem(doctor):
    result = await doctor(more=DEAD_LETTERS.replace("letters }", "no-letters }"))

    [problem] = found(result, "problem")
    assert problem["text"] == "dead_letters.topic: there is no topic no-letters"
    assert problem["advice"] == "create it"


async def test_a_wrong_password_is_a_problem_that_names_the_user_alone(doctor):
    result = await doctor(user="root", password="planted-and-wrong", mechanism="SCRAM-SHA-512")

    problems = found(result, "problem", "security")
    assert result.status == 1
    assert "login of the user 'root' by SCRAM-SHA-512" in problems[0]["text"]
    assert found(result, "skipped", "permissions")


async def test_a_listener_that_requires_a_login_names_its_mechanisms(doctor):
    result = await doctor(sasl=False)

    texts = [each["text"] for each in found(result, "problem", "security")]
    assert any("requires a login by SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512)" in text for text in texts)


async def test_a_mechanism_that_brokers_do_not_have_is_a_problem_with_those_they_have(
    doctor, tmp_path, kafka, capsys
):
    (tmp_path / "token").write_text("planted-token")
    arguments = ["--set", "upstream.admin.sasl.mechanism=OAUTHBEARER"]
    arguments += ["--set", f"upstream.admin.sasl.token_file={tmp_path / 'token'}"]
    result = await doctor(*arguments, sasl=False)

    [problem] = found(result, "problem", "security")
    assert "does not accept OAUTHBEARER (it accepts PLAIN, SCRAM-SHA-256, SCRAM-SHA-512)" in problem["text"]
    assert "planted-token" not in result.out


@pytest.mark.parametrize(
    ("tls", "text"), [(False, "does this port speak TLS?"), (True, "does it speak TLS?")]
)
async def test_the_wrong_protocol_for_a_port_is_told_as_such(doctor, kafka, tls, text):
    plain = f"127.0.0.1:{kafka.node(1).internal_port}"
    result = await (doctor("--upstream", plain, sasl=False) if tls else doctor(tls=False))

    [problem] = found(result, "problem", "cluster")
    assert text in problem["text"]


async def test_a_certificate_of_an_unknown_authority_is_told_as_such(doctor, certificates):
    result = await doctor("--set", f"upstream.tls.ca={certificates.certificate}")

    [problem] = found(result, "problem", "cluster")
    assert "certificate was rejected" in problem["text"]


async def test_the_clock_is_compared_with_what_brokers_write_meanwhile(kafka, capsys, tmp_path):
    plain = f"127.0.0.1:{kafka.node(1).internal_port}"

    has_written = asyncio.Event()

    async def write():
        async with AIOKafkaProducer(bootstrap_servers=plain) as producer:
            while True:
                await producer.send_and_wait("stamped", b"x")
                has_written.set()

    writing = asyncio.create_task(write())
    await has_written.wait()
    arguments = ["--upstream", plain, "--decisions", tmp_path, "--admin", "off", "--json"]

    async def compared():
        """On a busy machine nothing may be written between the two looks of the doctor: it says so."""
        result = await tsproxy(capsys, "doctor", *arguments)
        texts = [each["text"] for each in found(result, "ok", "clock")]
        return [(result, text) for text in texts if "the brokers' (known to" in text]

    [(result, clock)] = await until(compared, "the broker's clock is known")
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing

    assert "this machine's clock is" in clock
    assert any(
        "1 topic with LogAppendTime (stamped)" in each["text"] for each in found(result, "ok", "topics")
    )


async def test_nothing_is_written_anywhere(doctor, kafka, tmp_path):
    before = await kafka.end_offsets("orders")
    config = tmp_path / "tsproxy.yaml"
    await doctor(more="clock: { probe: { topic: orders } }\n")

    assert await kafka.end_offsets("orders") == before
    assert [*tmp_path.iterdir()] == [config]


async def test_a_scan_by_a_user_that_sees_no_topic_is_told_so_with_status_1(doctor):
    """Brokers do not tell of what somebody may not Describe: a nightly gate would be green and blind."""
    gate = ("--fail-on", "any")
    root, nobody = [await doctor(*gate, command="scan", user=user) for user in ("root", "nobody")]

    assert (root.status, root.err) == (0, "")
    assert nobody.status == 1
    assert "the user 'nobody' sees no topic" in nobody.err
    assert "--operation Describe" in nobody.err
