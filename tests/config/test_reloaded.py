"""A reload takes what may change while the proxy runs, and names what must wait for a restart."""

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.config.reloaded import reloaded
from tsproxy.config.tree import KEYS, OPTIONAL

TWO = """\
upstream: { bootstrap_servers: [kafka-1:9092] }
listeners:
  - { name: one, bind: "127.0.0.1:9192", advertised_host: one.example.com }
  - { name: two, bind: "127.0.0.1:19192", advertised_host: two.example.com }
"""


FIRST, SECOND = TWO.splitlines()[2:]
SWAPPED = "\n".join([*TWO.splitlines()[:2], SECOND, FIRST, ""])
EXCHANGED = (
    TWO.replace("name: one", "name: 2").replace("name: two", "name: one").replace("name: 2", "name: two")
)
THREE = TWO + '  - { name: three, bind: "127.0.0.1:29192", advertised_host: three.example.com }\n'
BY_NAME = TWO.replace("two.example.com", "2.example.com")
TLS = SMALLEST.replace("}", ", tls: {} }")
TRUSTING = SMALLEST + "    proxy_protocol: { from: [10.0.0.0/8] }\n"
ADVERTISED = SMALLEST.replace("127.0.0.1:9192", "0.0.0.0:9192\n    advertised_host: kafka")
OFF = SMALLEST + "policy: { mode: off }\n"
DRAINS = OFF + "limits: { drain_timeout: 5s }\n"
TOKEN = SMALLEST + "admin: { bind: 0.0.0.0:9464, token: sesame }\n"
CLIENT_CA = SMALLEST + "admin: { bind: 0.0.0.0:9464, tls: { certificate: a, key: b, client_ca: c } }\n"
SCRAM = SMALLEST.replace("}", ", admin: { sasl: { mechanism: SCRAM-SHA-256, username: u, password: old } } }")
PLAIN = SCRAM.replace("SCRAM-SHA-256", "PLAIN").replace("old } }", "new } }, tls: {}")
LARGE = SMALLEST + "decisions: { directory: large, retention: { size: 20GiB } }\n"
TIGHT = LARGE.replace("large", "small").replace("20GiB", "1MiB")
RELOADS = {
    "the same file": (TWO, "# a line more\n" + TWO, (), (), TWO),
    "what is live": (SMALLEST, DRAINS, ("policy.mode", "limits.drain_timeout"), (), DRAINS),
    "what is not live stays, and the rest is taken": (
        SMALLEST,
        OFF + "workers: 4\nadmin: { bind: off }\n",
        ("policy.mode",),
        ("admin.bind", "workers"),
        OFF,
    ),
    # Two listeners that exchange their names must not exchange half of their settings.
    "listeners of which a part must wait": (
        TWO,
        EXCHANGED,
        (),
        tuple(f"listeners[{index}].{key}" for index in (0, 1) for key in ("bind", "advertised_host")),
        TWO,
    ),
    "a listener that changes what is live": (TWO, BY_NAME, ("listeners[1].advertised_host",), (), BY_NAME),
    "listeners in another order": (TWO, SWAPPED, (), (), TWO),
    "a listener in another place, and a live value of it": (
        TWO,
        SWAPPED.replace("two.example.com", "2.example.com"),
        ("listeners[0].advertised_host",),
        (),
        BY_NAME,
    ),
    # A client certificate that was asked for from now on waited for a port that somebody added.
    "a listener that is added": (
        TWO,
        THREE.replace("two.example.com", "2.example.com"),
        ("listeners[1].advertised_host",),
        ("listeners.three (added)",),
        BY_NAME,
    ),
    "a listener that is removed": (
        THREE,
        BY_NAME.replace(f"{FIRST}\n", ""),
        ("listeners[0].advertised_host",),
        ("listeners.one (removed)", "listeners.three (removed)"),
        THREE.replace("two.example.com", "2.example.com"),
    ),
    "a listener with another name": (
        TWO,
        BY_NAME.replace("name: two", "name: second"),
        (),
        ("listeners.second (added)", "listeners.two (removed)"),
        TWO,
    ),
    "a section that appears": (SMALLEST, TLS, (), ("upstream.tls",), SMALLEST),
    "a load balancer that is believed": (SMALLEST, TRUSTING, ("listeners[0].proxy_protocol",), (), TRUSTING),
    "and no longer": (TRUSTING, SMALLEST, ("listeners[0].proxy_protocol",), (), SMALLEST),
    "a live value beside one that it was written for": (
        ADVERTISED,
        SMALLEST,
        (),
        ("listeners[0].bind", "listeners[0].advertised_host"),
        ADVERTISED,
    ),
    # Halves of two sections: an open status page, a password in clear text, the old folder emptied.
    "a token that client certificates replace": (TOKEN, CLIENT_CA, (), ("admin.tls", "admin.token"), TOKEN),
    "a password for a connection with TLS": (
        SCRAM,
        PLAIN,
        (),
        ("upstream.admin.sasl.mechanism", "upstream.admin.sasl.password", "upstream.tls"),
        SCRAM,
    ),
    "the size of another folder": (
        LARGE,
        TIGHT,
        (),
        ("decisions.directory", "decisions.retention.size"),
        LARGE,
    ),
}
"""The file in force, the new one, the keys that are taken and that wait, and what is in force then."""


@pytest.mark.parametrize(("running", "wanted", "changed", "waiting", "taken"), RELOADS.values(), ids=RELOADS)
def test_what_is_live_is_taken_and_what_is_not_is_named(running, wanted, changed, waiting, taken):
    change = reloaded(config_of(running), config_of(wanted))

    assert (change.changed, sorted(change.needs_restart)) == (changed, sorted(waiting))
    assert change.config == config_of(taken)


def test_a_change_that_waits_is_named_again_by_the_next_reload():
    wanted = config_of(SMALLEST + "workers: 4\n")

    first = reloaded(config_of(SMALLEST), wanted)

    assert reloaded(first.config, wanted).needs_restart == ("workers",)


def test_every_row_that_is_live_can_be_found_in_the_tree():
    paths = {key.path for key in KEYS}
    assert len(paths) == len(KEYS)
    for section in OPTIONAL:
        assert any(path.startswith(f"{section.path}.") for path in paths), section.path
