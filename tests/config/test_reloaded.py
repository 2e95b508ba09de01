"""A reload takes what may change while the proxy runs, and names what must wait for a restart."""

from tests.config.files import SMALLEST, config_of
from tsproxy.config.reloaded import reloaded
from tsproxy.config.tree import KEYS, OPTIONAL
from tsproxy.model.addresses import Address
from tsproxy.model.policy import Mode

TWO = """\
upstream: { bootstrap_servers: [kafka-1:9092] }
listeners:
  - { name: one, bind: "127.0.0.1:9192", advertised_host: one.example.com }
  - { name: two, bind: "127.0.0.1:19192", advertised_host: two.example.com }
"""


def test_the_same_file_changes_nothing():
    change = reloaded(config_of(TWO), config_of("# a line more\n" + TWO))

    assert (change.changed, change.needs_restart) == ((), ())
    assert change.config == config_of(TWO)


def test_what_is_live_is_taken_and_named():
    wanted = config_of(SMALLEST + "policy: { mode: off }\nlimits: { drain_timeout: 5s }\n")

    change = reloaded(config_of(SMALLEST), wanted)

    assert change.config == wanted
    assert change.changed == ("policy.mode", "limits.drain_timeout")
    assert change.needs_restart == ()


def test_what_is_not_live_stays_and_is_named_while_the_rest_is_taken():
    wanted = config_of(SMALLEST + "policy: { mode: off }\nworkers: 4\nadmin: { bind: off }\n")

    change = reloaded(config_of(SMALLEST), wanted)

    assert change.config.policy.mode is Mode.OFF
    assert (change.config.workers, change.config.admin.bind) == (1, Address("127.0.0.1", 9464))
    assert change.changed == ("policy.mode",)
    assert change.needs_restart == ("admin.bind", "workers")


def test_a_change_that_waits_is_named_again_by_the_next_reload():
    wanted = config_of(SMALLEST + "workers: 4\n")

    first = reloaded(config_of(SMALLEST), wanted)

    assert reloaded(first.config, wanted).needs_restart == ("workers",)


def test_a_listener_of_which_a_part_must_wait_waits_as_a_whole():
    """Two listeners that swap places must not swap half of their settings."""
    first, second = TWO.splitlines()[2:]
    swapped = "\n".join([*TWO.splitlines()[:2], second, first, ""])

    change = reloaded(config_of(TWO), config_of(swapped))

    assert change.config == config_of(TWO)
    assert change.changed == ()
    assert set(change.needs_restart) == {
        f"listeners[{index}].{key}" for index in (0, 1) for key in ("name", "bind", "advertised_host")
    }


def test_a_listener_that_changes_what_is_live_lets_the_others_alone():
    change = reloaded(config_of(TWO), config_of(TWO.replace("two.example.com", "2.example.com")))

    assert change.changed == ("listeners[1].advertised_host",)
    assert [each.advertised_host for each in change.config.listeners] == ["one.example.com", "2.example.com"]


def test_another_number_of_listeners_waits_for_a_restart():
    change = reloaded(config_of(TWO), config_of(TWO[: TWO.rindex("  - ")]))

    assert change.needs_restart == ("listeners",)
    assert change.config == config_of(TWO)


def test_a_section_that_appears_waits_unless_its_row_says_otherwise():
    change = reloaded(config_of(SMALLEST), config_of(SMALLEST.replace("}", ", tls: {} }")))

    assert change.needs_restart == ("upstream.tls",)
    assert change.config.upstream.tls is None


def test_who_is_believed_to_be_a_load_balancer_is_taken_without_a_restart():
    trusting = SMALLEST + "    proxy_protocol: { from: [10.0.0.0/8] }\n"
    appeared, vanished = (
        reloaded(config_of(SMALLEST), config_of(trusting)),
        reloaded(config_of(trusting), config_of(SMALLEST)),
    )

    assert (appeared.changed, vanished.changed) == (("listeners[0].proxy_protocol",),) * 2
    assert appeared.config == config_of(trusting)
    assert vanished.config.listeners[0].proxy_protocol is None


def test_a_live_value_waits_with_the_value_beside_it_that_it_was_written_for():
    running = config_of(SMALLEST.replace("127.0.0.1:9192", "0.0.0.0:9192\n    advertised_host: kafka"))

    change = reloaded(running, config_of(SMALLEST))

    assert change.needs_restart == ("listeners[0].bind", "listeners[0].advertised_host")
    assert change.config == running


def test_every_row_that_is_live_can_be_found_in_the_tree():
    paths = {key.path for key in KEYS}
    assert len(paths) == len(KEYS)
    for section in OPTIONAL:
        assert any(path.startswith(f"{section.path}.") for path in paths), section.path
