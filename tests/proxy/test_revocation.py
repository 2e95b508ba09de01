"""Clients whose certificate was revoked are turned away, from the moment that the list says so."""

import asyncio
from datetime import timedelta

import pytest
import structlog
from cryptography import x509

from tests.kit.client import connect
from tests.proxy.frames import answer, request
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import config_of, echoing_broker, front_of, is_let_in
from tests.proxy.running import HOST
from tests.proxy.test_certificates import certificates_of, impatient, watched_front  # noqa: F401  # a fixture
from tests.proxy.world import World, until
from tsproxy.config import ConfigError
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import client_context
from tsproxy.tls.x509 import read_crls
from tsproxy.wire.primitives import DecodeError

DAY = timedelta(days=1)


@pytest.fixture
def crl(certificates, tmp_path):
    """A list that revokes nobody yet."""
    file = tmp_path / "revoked.pem"
    file.write_bytes(certificates.revocations())
    return file


def listener(certificates, crl, bind=f"{HOST}:0"):
    identity = certificates.issue("proxy-of-revocation")
    tls = (
        f"certificate: '{identity.certificate}', key: '{identity.key}', "
        f"client_ca: '{certificates.certificate}', client_crl: '{crl}'"
    )
    return f"{{ bind: '{bind}', advertised_host: localhost, tls: {{ {tls} }} }}"


def client(certificates, name):
    identity = certificates.issue(name)
    return identity, client_context(certificates.certificate, identity)


@on_both_loops
async def test_a_client_is_let_in_until_the_list_has_its_certificate_and_others_stay(certificates, crl):
    good, bad = client(certificates, "kept"), client(certificates, "revoked")
    world = World()
    async with watched_front(listener(certificates, crl), world) as (address, tls):
        assert await is_let_in(address, bad[1])
        before = tls()
        crl.write_bytes(certificates.revocations(bad[0]))
        await until(lambda: tls() is not before)

        assert not await is_let_in(address, bad[1])
        assert await is_let_in(address, good[1])
        [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
        assert "certificate revoked" in line["error"]


@on_both_loops
async def test_a_list_that_is_out_of_date_lets_nobody_in_and_says_so(certificates, crl):
    """Who was revoked since is not known: RFC 5280, 6.3.3."""
    _, context = client(certificates, "late")
    crl.write_bytes(certificates.revocations(starts=-3 * DAY, lasts=DAY))
    world = World()
    async with echoing_broker() as broker:
        config = config_of([broker], listener(certificates, crl))
        with structlog.testing.capture_logs() as logs:
            watched = certificates_of(config, world)
            watched.log_ends()
        async with front_of(config, world, tls=watched.listeners["default"].current) as proxy_listener:
            assert not await is_let_in(proxy_listener.address, context)
            [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
            assert "CRL has expired" in line["error"]

    [told] = [line for line in logs if "crl" in line["setting"]]
    assert told["event"] == "revocations_expired"
    assert told["subject"] == "CN=tsproxy test authority"
    name = 'tsproxy_certificate_expiry_seconds{setting="listeners.default.tls.client_crl"}'
    assert -2 * DAY.total_seconds() - 60 < world.metric(name) < -2 * DAY.total_seconds() + 60


@on_both_loops
async def test_an_authority_without_a_list_lets_nobody_in_and_says_so(certificates, crl, tmp_path):
    """Its clients alone: those of another authority, which has a list, are let in."""
    unlisted = authority(tmp_path / "unlisted", "unlisted")
    both = tmp_path / "both.pem"
    both.write_bytes(certificates.certificate.read_bytes() + unlisted.certificate.read_bytes())
    text = listener(certificates, crl).replace(str(certificates.certificate), str(both))
    issued = (certificates.issue("listed"), unlisted.issue("of-the-unlisted"))
    contexts = [client_context(certificates.certificate, identity) for identity in issued]
    world = World()
    async with watched_front(text, world) as (address, _):
        assert [await is_let_in(address, each) for each in contexts] == [True, False]
        [line] = await until(lambda: world.logged.of("tls_handshake_failed"))
        assert "unable to get certificate CRL" in line["error"]


@on_both_loops
async def test_a_connection_of_a_client_that_is_revoked_later_stays_open_until_it_is_too_old(
    certificates, crl
):
    identity, context = client(certificates, "connected")
    world = World()
    async with watched_front(listener(certificates, crl), world) as (address, tls):
        connected = await connect(address, ssl=context)
        before = tls()
        crl.write_bytes(certificates.revocations(identity))
        await until(lambda: tls() is not before)
        assert not await is_let_in(address, context)

        assert await connected.frame(request(5)) == answer(5)[4:]

        world.limits.apply(config_of([f"{HOST}:9"], limits="{ connection_age: 1ms }"))
        patrol = asyncio.create_task(world.limits.run())
        assert await connected.rest() == b""
        assert not await is_let_in(address, context)
        patrol.cancel()
        connected.close()


def authority(folder, name, above=None):
    """An authority of its own, which another one may have signed."""
    folder.mkdir()
    made = CertificateAuthority(folder, name)
    signer = above or made
    limits = x509.BasicConstraints(ca=True, path_length=None)
    builder = signer._builder(made._name, made._key.public_key(), -DAY, 2 * DAY, limits)
    made.certificate.write_bytes(signer._signed(builder))
    return made


@on_both_loops
@pytest.mark.parametrize("trusted", [("above", "below"), ("below",)], ids="+".join)
async def test_the_authorities_above_the_clients_own_are_not_looked_up(certificates, crl, tmp_path, trusted):
    """The authority that signs clients has a list. The one above it has none, and then revokes it."""
    above = authority(tmp_path / "above", "above")
    below = authority(tmp_path / "below", "below", above)
    files = {"above": above.certificate, "below": below.certificate}
    (tmp_path / "trusted.pem").write_bytes(b"".join(files[name].read_bytes() for name in trusted))
    contexts = {}
    for name in ("kept", "revoked"):
        identity = below.issue(name)
        contexts[name] = client_context(certificates.certificate, identity)
        crl.write_bytes(below.revocations(identity))
    text = listener(certificates, crl).replace(str(certificates.certificate), str(tmp_path / "trusted.pem"))
    async with watched_front(text) as (address, tls):
        assert await is_let_in(address, contexts["kept"])
        assert not await is_let_in(address, contexts["revoked"])
        before = tls()
        crl.write_bytes(below.revocations() + above.revocations(below))
        await until(lambda: tls() is not before)
        assert await is_let_in(address, contexts["kept"])


@pytest.mark.parametrize("content", ["a certificate", "nothing", "damaged"])
def test_a_file_that_is_no_list_of_revocations_is_a_mistake(certificates, crl, content, tmp_path):
    """A certificate in it would become one more authority that is trusted."""
    stranger = CertificateAuthority(tmp_path, "a stranger")
    texts = {
        "a certificate": crl.read_bytes() + stranger.certificate.read_bytes(),
        "nothing": b"",
        "damaged": crl.read_bytes().replace(b"M", b"?"),
    }
    crl.write_bytes(texts[content])
    with pytest.raises(ConfigError, match=rf"tls.client_crl: {crl} must be a PEM file with lists of revoked"):
        certificates_of(listener(certificates, crl))


async def test_a_list_that_ends_soon_is_told_as_a_list(certificates, crl):
    crl.write_bytes(certificates.revocations(starts=-10 * DAY, lasts=11 * DAY))
    with structlog.testing.capture_logs() as logs:
        certificates_of(listener(certificates, crl)).log_ends()
    [told] = [line for line in logs if line.get("setting", "").endswith("client_crl")]
    assert (told["event"], told["hours_left"]) == ("revocations_end_soon", 23)


@pytest.mark.parametrize("pem", [b"AAAA", b"MAA=", b"MAIwAA==", b"?"])
def test_what_is_no_list_is_told_by_an_error(pem):
    with pytest.raises(DecodeError):
        read_crls(b"-----BEGIN X509 CRL-----\n" + pem + b"\n-----END X509 CRL-----\n")
