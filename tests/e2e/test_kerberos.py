"""GSSAPI through the proxy: the client's ticket names the proxy's host, and brokers hold a key for that name.
The proxy's own connection logs in by GSSAPI as well.

With MIT Kerberos' own KDC (Debian's krb5-kdc), for `TSPROXY_TEST=full` where it is installed.
"""

import os
import shutil
import subprocess

import pytest

from tests.proxy.world import until
from tsproxy.testing.java_producer import Acknowledged, JavaProducer, JavaRecord, Rejected
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
KDC = shutil.which("krb5kdc", path=PATH)

pytestmark = [
    pytest.mark.broker,
    pytest.mark.full_only("starts a KDC; test_sasl.py passes other mechanisms through"),
    pytest.mark.skipif(
        KDC is None,
        reason="Kerberos needs a KDC (apt-get install krb5-kdc). test_sasl.py has all other mechanisms",
    ),
]

REALM = "TSPROXY.TEST"
LISTENER = "listener.name.clients"
SERVICE, CLIENT, PROXY_USER = f"kafka/localhost@{REALM}", f"alice@{REALM}", f"tsproxy@{REALM}"

KRB5_CONF = """
[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
    kdc = 127.0.0.1:{port}
}}
"""

KDC_CONF = """
[kdcdefaults]
kdc_listen = 127.0.0.1:{port}
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
}}
"""

SCRAM = "{ mechanism: SCRAM-SHA-512, username: proxy, password: for-itself }"
GSSAPI = "{ mechanism: GSSAPI }"
PROXY = """
upstream:
  bootstrap_servers: ['{upstream}']
  admin: {{ sasl: {sasl} }}
listeners: [{{ bind: '127.0.0.1:0', advertised_host: localhost, brokers: {{ ports_from: 0 }} }}]
"""


def login(keytab, principal):
    module = "com.sun.security.auth.module.Krb5LoginModule"
    return f'{module} required useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}";'


@pytest.fixture
def realm(tmp_path, monkeypatch):
    """A KDC that knows the proxy's service and alice; the keytab of both. Every Java asks it."""
    [port] = free_ports(1)
    for name, text in (("krb5.conf", KRB5_CONF), ("kdc.conf", KDC_CONF)):
        (tmp_path / name).write_text(text.format(realm=REALM, port=port, folder=tmp_path))
    keytab = tmp_path / "keytab"
    monkeypatch.setenv("PATH", PATH)
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    monkeypatch.setenv("KRB5_KDC_PROFILE", str(tmp_path / "kdc.conf"))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={tmp_path / 'krb5.conf'}")
    run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of-no-importance")
    for principal in (SERVICE, CLIENT):
        run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
        run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {keytab} {principal}")
    own = tmp_path / "proxy.keytab"
    run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {PROXY_USER}")
    run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {own} {PROXY_USER}")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(own))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'tickets'}")
    with (tmp_path / "kdc.log").open("wb") as log:
        kdc = subprocess.Popen([KDC, "-n", "-r", REALM], stdout=log, stderr=log)
    yield keytab
    kdc.terminate()
    kdc.wait()


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("sasl", [SCRAM, GSSAPI])
async def test_a_ticket_for_the_proxys_host_is_taken_by_the_broker(realm, tmp_path, sasl):
    if sasl == GSSAPI:
        pytest.importorskip("gssapi", reason="needs the extra tsproxy[kerberos] (pip install)")
    properties = {
        f"{LISTENER}.sasl.enabled.mechanisms": "GSSAPI,SCRAM-SHA-512",
        f"{LISTENER}.gssapi.sasl.jaas.config": login(realm, SERVICE),
        f"{LISTENER}.sasl.kerberos.service.name": "kafka",
    }
    users = {"proxy": "for-itself"}
    async with KafkaCluster(security="SASL_PLAINTEXT", users=users, properties=properties) as kafka:
        await kafka.create_topic("orders", config={"message.timestamp.before.max.ms": "60000"})
        config = tmp_path / "tsproxy.yaml"
        config.write_text(PROXY.format(upstream=_by_name(kafka), sasl=sasl))
        async with RunningProxy(config=config) as proxy:
            options = {
                "bootstrap.servers": f"localhost:{proxy.bootstrap_servers.rpartition(':')[2]}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "sasl.jaas.config": login(realm, CLIENT),
            }
            async with JavaProducer(options) as producer:
                [good] = await producer.send_all([JavaRecord("orders", b"good")])
                [bad] = await producer.send_all([JavaRecord("orders", b"bad", timestamp_ms=1)])
            assert isinstance(good, Acknowledged)
            assert isinstance(bad, Rejected)
            assert bad.exception == "InvalidTimestampException"
            await until(lambda: [line for line in proxy.decisions() if line["event"] == "decision"])

    # The ticket is for the broker to read: here nobody knows whose it is.
    [decision] = [line for line in proxy.decisions() if line["event"] == "decision"]
    assert "principal" not in decision


def _by_name(kafka):
    """Tickets are for host names."""
    return kafka.bootstrap_servers.replace("127.0.0.1", "localhost")
