"""An address as it is counted and compared: one client, whatever form its address comes in."""

from ipaddress import ip_network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tsproxy.model.addresses import counted_as, is_any, is_in

NETWORKS = (ip_network("10.0.0.0/8"), ip_network("2001:db8::/32"))


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::7", "2001:db8::/64"),
        ("2001:db8:0:1:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("64:ff9b::192.0.2.7", "64:ff9b::c000:207"),
        ("no address", "no address"),
        ("", ""),
    ],
)
def test_an_ipv4_address_counts_for_itself_and_an_ipv6_address_for_its_network_of_64_bits(address, counted):
    """RFC 4291, 2.5.1: a host chooses the last 64 bits of its address itself."""
    assert counted_as(address) == counted


@given(st.ip_addresses(v=6), st.integers(0, 2**64 - 1))
def test_all_addresses_that_a_host_may_choose_count_as_one(address, chosen):
    network = int(address) >> 64 << 64
    assume(network not in (0, 0x64FF9B << 96))  # in which one address may stand for one of IPv4
    assert counted_as(str(address)) == counted_as(str(type(address)(network | chosen)))


@pytest.mark.parametrize(
    ("address", "is_inside"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("11.1.2.3", False),
        ("2001:db8::7", True),
        ("2001:db9::7", False),
        ("fe80::1%eth0", False),
        ("no address", False),
    ],
)
def test_an_address_is_found_in_its_network_in_either_form(address, is_inside):
    assert is_in(address, NETWORKS) is is_inside


ANY = ("0.0.0.0", "::", "0", "00.0.0.0", "0x0", "0.0", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0", "::%lo")


@pytest.mark.parametrize("host", ANY)
def test_the_address_of_no_machine_is_known_in_each_form(host):
    assert is_any(host)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "::1", "0.0.0.1", "00x", "zero", "0.example", "::ffff:127.0.0.1"]
)
def test_no_other_host_is_taken_for_it(host):
    assert not is_any(host)
