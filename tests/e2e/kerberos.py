"""A realm of MIT Kerberos' own KDC (Debian's krb5-kdc), and a broker whose clients log in with tickets."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from tests.kit.commands import output_of
from tsproxy.testing.ports import free_ports

PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
KDC = shutil.which("krb5kdc", path=PATH)

needs_kdc = pytest.mark.skipif(
    KDC is None,
    reason="Kerberos needs a KDC (apt-get install krb5-kdc). test_sasl.py has all other mechanisms",
)

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


def login(keytab, principal):
    module = "com.sun.security.auth.module.Krb5LoginModule"
    return f'{module} required useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}";'


def properties(keytab):
    """A broker's, for tickets beside SCRAM."""
    return {
        f"{LISTENER}.sasl.enabled.mechanisms": "GSSAPI,SCRAM-SHA-512",
        f"{LISTENER}.gssapi.sasl.jaas.config": login(keytab, SERVICE),
        f"{LISTENER}.sasl.kerberos.service.name": "kafka",
    }


def by_name(kafka):
    """Tickets are for host names."""
    return kafka.bootstrap_servers.replace("127.0.0.1", "localhost")


@contextmanager
def realm(folder):
    """A KDC that knows the proxy's service, its user and alice. Yields the keytab of service and alice.

    krb5.conf, the keytab and the tickets of the proxy's user, and the KDC's process id (pid) are in `folder`.
    Every Java asks this KDC.
    """
    [port] = free_ports(1)
    for name, text in (("krb5.conf", KRB5_CONF), ("kdc.conf", KDC_CONF)):
        (folder / name).write_text(text.format(realm=REALM, port=port, folder=folder))
    keytab, own = folder / "keytab", folder / "proxy.keytab"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", PATH)
        patch.setenv("KRB5_CONFIG", str(folder / "krb5.conf"))
        patch.setenv("KRB5_KDC_PROFILE", str(folder / "kdc.conf"))
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={folder / 'krb5.conf'}")
        patch.setenv("KRB5_CLIENT_KTNAME", str(own))
        patch.setenv("KRB5CCNAME", f"FILE:{folder / 'tickets'}")
        output_of("kdb5_util", "create", "-s", "-r", REALM, "-P", "of-no-importance")
        for principal, file in ((SERVICE, keytab), (CLIENT, keytab), (PROXY_USER, own)):
            output_of("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
            output_of("kadmin.local", "-r", REALM, "-q", f"ktadd -k {file} {principal}")
        with (folder / "kdc.log").open("wb") as log:
            kdc = subprocess.Popen([KDC, "-n", "-r", REALM, "-P", folder / "pid"], stdout=log, stderr=log)
        try:
            yield keytab
        finally:
            kdc.terminate()
            kdc.wait()
