"""Versions of TLS, and cipher suites: those that are chosen are the only ones of TLS 1.2."""

import ssl

import pytest

from tests.in_process import run_command
from tests.proxy.frames import answer
from tests.proxy.loops import on_both_loops
from tests.proxy.proxy_listeners import HOST, ask, echoing_broker
from tests.proxy.test_certificates import watched_front
from tests.proxy.test_listener_tls import before
from tsproxy.cli import main
from tsproxy.config.settings import ListenerTls, UpstreamTls
from tsproxy.tls.contexts import server_context, upstream_context

ONE, OTHER = "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"


def listener(certificates, ciphers):
    identity = certificates.issue("proxy-of-ciphers")
    tls = f"certificate: '{identity.certificate}', key: '{identity.key}', ciphers: '{ciphers}'"
    return f"{{ bind: '{HOST}:0', advertised_host: localhost, tls: {{ {tls} }} }}"


def client(certificates, ciphers):
    """One that speaks TLS 1.2 alone."""
    context = ssl.create_default_context(cafile=certificates.certificate)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    return context


@on_both_loops
async def test_a_client_with_other_suites_is_turned_away(certificates):
    async with watched_front(listener(certificates, ONE)) as (address, _):
        assert await ask(address, client(certificates, ONE)) == answer(5)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await ask(address, client(certificates, OTHER))


@on_both_loops
async def test_a_broker_with_other_suites_is_not_talked_to(certificates):
    identity = certificates.issue("broker-of-ciphers")
    chosen = upstream_context(UpstreamTls(certificates.certificate, ciphers=ONE))
    for suites, expected in ((ONE, answer(5)), (OTHER, b"")):
        broker_tls = server_context(
            ListenerTls(certificate=identity.certificate, key=identity.key, ciphers=suites)
        )
        broker_tls.maximum_version = ssl.TLSVersion.TLSv1_2
        async with echoing_broker(broker_tls) as broker, before(broker, lambda: chosen) as proxy_listener:
            assert await ask(proxy_listener.address) == expected


@pytest.mark.parametrize("section", ["upstream", "listener"])
def test_suites_that_openssl_does_not_have_are_a_mistake(certificates, tmp_path, section):
    theirs, ours = ("NO-SUCH", ONE) if section == "listener" else (ONE, "NO-SUCH")
    file = tmp_path / "tsproxy.yaml"
    file.write_text(
        f"upstream: {{ bootstrap_servers: [kafka:9092], tls: {{ ciphers: {ours} }} }}\n"
        f"listeners: [{listener(certificates, theirs)}]\n"
    )
    ended = run_command("tsproxy", "check", file)

    place = "listeners[0].tls" if section == "listener" else "upstream.tls"
    assert ended.returncode == 2
    assert f"{place}.ciphers: 'NO-SUCH' names no cipher suite of TLS 1.2 that OpenSSL has" in ended.stderr


NOTICES = {
    "a misspelt one": (
        "ECDHE+AESGCM:ECDHE+CHACHA2O",
        "'ECDHE+CHACHA2O' names no cipher suite of TLS 1.2 that OpenSSL has, and is ignored; correct it",
    ),
    "one of TLS 1.3": (
        "TLS_AES_256_GCM_SHA384 ECDHE+AESGCM",
        "'TLS_AES_256_GCM_SHA384' names no cipher suite",
    ),
    "none for TLS 1.3": (
        "ECDHE+AESGCM', min_version: '1.3",
        "has no effect: these are suites of TLS 1.2, and",
    ),
    "excluded ones": ("HIGH:!RC4:!NO-SUCH:-ALSO-NOT", ""),
}


@pytest.mark.parametrize(("ciphers", "text"), NOTICES.values(), ids=list(NOTICES))
def test_check_tells_of_suites_that_are_ignored_or_useless(certificates, tmp_path, capsys, ciphers, text):
    file = tmp_path / "tsproxy.yaml"
    file.write_text(
        "upstream: { bootstrap_servers: [kafka:9092] }\n"
        f"listeners: [{listener(certificates, ciphers).replace(':0', ':9192')}]\n"
    )
    assert main(["check", str(file)]) == 0

    told = [line for line in capsys.readouterr().out.splitlines() if ".ciphers: notice: " in line]
    assert len(told) == bool(text)
    assert all(line.startswith(f"{file}:2: listeners[0].tls.ciphers: notice: {text}") for line in told)
