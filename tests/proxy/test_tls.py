"""Certificates and keys that cannot be used are told by file and section, never with a traceback."""

import contextlib
import ssl
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.config.files import config_of
from tests.proxy.test_revocation import authority
from tests.testing.test_certificates import shake_hands
from tsproxy.config import ConfigError
from tsproxy.config.settings import ClientAuth, ListenerTls, Secret, TlsVersion, UpstreamTls
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import client_context
from tsproxy.tls.contexts import check_files, server_context, upstream_context

PLACE = "tsproxy.yaml:4: listeners[0].tls"


@pytest.fixture(scope="module")
def identity(certificates):
    return certificates.issue("tls")


def problem(certificate, key, client_ca=None, client_auth=ClientAuth.NONE, password=None):
    with pytest.raises(ConfigError) as caught:
        server_context(
            ListenerTls(
                certificate=certificate,
                key=key,
                client_ca=client_ca,
                client_auth=client_auth,
                key_password=password,
                place=PLACE,
            )
        )
    return str(caught.value)


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [({}, ssl.TLSVersion.TLSv1_2), ({"min_version": TlsVersion.V1_3}, ssl.TLSVersion.TLSv1_3)],
)
def test_tls_below_1_2_is_not_spoken_and_1_3_alone_can_be_asked_for(identity, certificates, asked, spoken):
    tls = ListenerTls(certificate=identity.certificate, key=identity.key, **asked)

    assert server_context(tls).minimum_version is spoken
    assert upstream_context(UpstreamTls(certificates.certificate, **asked)).minimum_version is spoken


def test_authorities_of_the_system_are_not_trusted_beside_those_of_the_file(
    identity, certificates, tmp_path, monkeypatch
):
    """A certificate of a public authority would make anybody a broker, or a client with any name."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CertificateAuthority(tmp_path, "a public one").certificate))
    own = ListenerTls(
        certificate=identity.certificate,
        key=identity.key,
        client_ca=certificates.certificate,
        client_auth=ClientAuth.REQUIRED,
    )
    for context in (upstream_context(UpstreamTls(certificates.certificate)), server_context(own)):
        assert [each["subject"] for each in context.get_ca_certs()] == [
            ((("commonName", "tsproxy test authority"),),)
        ]
    [public] = upstream_context(UpstreamTls()).get_ca_certs()
    assert public["subject"] == ((("commonName", "a public one"),),)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Certificates with their chains, and the authorities `root` and `issuing`, the second of which signs."""
    folder = tmp_path_factory.mktemp("trusted")
    root = authority(folder / "root", "root")
    issuing = authority(folder / "issuing", "issuing", root)
    made = {name: issuing.issue(name) for name in ("one", "another")}
    forging = CertificateAuthority(folder, "one")
    forging._key = load_pem_private_key(made["one"].key.read_bytes(), None)
    made["signed by one"] = forging.issue("signed by one")
    above = {
        "one": issuing.certificate,
        "another": issuing.certificate,
        "signed by one": made["one"].certificate,
    }
    for name, identity in made.items():
        chain = identity.certificate.read_bytes() + above[name].read_bytes()
        made[name] = replace(identity, certificate=folder / f"{name}.chain")
        made[name].certificate.write_bytes(chain)
    return made, {"root": root.certificate, "issuing": issuing.certificate, "one": above["signed by one"]}


@pytest.mark.parametrize("side", ["clients", "brokers"])
@pytest.mark.parametrize(
    ("trusted", "accepted"),
    [("root", ["one", "another"]), ("issuing", ["one", "another"]), ("one", ["one"])],
)
def test_each_certificate_of_the_authorities_is_trusted_alone_and_one_that_is_none_signs_nobody(
    identity, certificates, shown, trusted, accepted, side
):
    """As a broker does, to which Java's trust store with the issuing authority alone is enough."""
    made, authorities = shown
    ours = {"certificate": identity.certificate, "key": identity.key}
    checking = {"client_ca": authorities[trusted], "client_auth": ClientAuth.REQUIRED}
    let_in = []
    for name, theirs in made.items():
        if side == "clients":
            client = client_context(certificates.certificate, theirs)
            server = server_context(ListenerTls(**ours, **checking))
        else:
            client = upstream_context(UpstreamTls(authorities[trusted]))
            server = server_context(ListenerTls(certificate=theirs.certificate, key=theirs.key))
        with contextlib.suppress(ssl.SSLCertVerificationError):
            shake_hands(client, server, "localhost")
            let_in.append(name)
    assert let_in == accepted


def test_check_names_the_unusable_files_of_every_section(identity, tmp_path):
    good = f"certificate: '{identity.certificate}', key: '{identity.key}'"
    sections = {name: good.replace(str(identity.key), f"{tmp_path}/{name}.key") for name in ("l", "u", "a")}
    config = config_of(
        f"upstream: {{ bootstrap_servers: ['k:9092'], tls: {{ {sections['u']} }} }}\n"
        f"listeners: [{{ bind: '127.0.0.1:9192', tls: {{ {sections['l']} }} }}]\n"
        f"admin: {{ bind: '127.0.0.1:9091', tls: {{ {sections['a']} }} }}\n"
    )
    with pytest.raises(ConfigError) as caught:
        check_files(config)
    assert [each.text for each in caught.value.problems] == [
        f"{tmp_path}/{name}.key cannot be read: No such file or directory" for name in ("l", "a", "u")
    ]
    check_files(
        config_of("upstream: { bootstrap_servers: ['k:9092'] }\nlisteners: [{ bind: '127.0.0.1:9192' }]\n")
    )


UNUSABLE = {
    "no PEM": (
        "text",
        "key",
        ": {text} holds no certificate: in a PEM file a line says -----BEGIN CERTIFICATE-----",
    ),
    "DER": ("der", "key", ": {der} holds no certificate: it looks like DER; openssl x509 -inform der"),
    "DER for a key": ("certificate", "der", ": {der} holds no private key: it looks like DER; openssl pkey"),
    "damaged": ("damaged", "key", ": {damaged} and {key} must be PEM files"),
    "another's key": ("certificate", "other", ": {other} is not the private key"),
}
"""The files of certificate and key, and the beginning of the problem."""


@pytest.mark.parametrize(("certificate", "key", "text"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_files_that_cannot_be_used_are_named(identity, certificates, tmp_path, certificate, key, text):
    contents = {
        "text": b"hello",
        "der": ssl.PEM_cert_to_DER_cert(identity.certificate.read_text()),
        "damaged": b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    files = {name: tmp_path / name for name in contents}
    files |= {"certificate": identity.certificate, "key": identity.key}
    files["other"] = certificates.issue("another").key
    assert problem(files[certificate], files[key]).startswith(PLACE + text.format_map(files))


@pytest.fixture(params=[PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL], ids=["pkcs8", "openssl"])
def encrypted(request, identity, tmp_path):
    """The identity's key under the passphrase `hunter2`."""
    key = load_pem_private_key(identity.key.read_bytes(), None)
    secret = key.private_bytes(Encoding.PEM, request.param, BestAvailableEncryption(b"hunter2"))
    (tmp_path / "encrypted.key").write_bytes(secret)
    return tmp_path / "encrypted.key"


def test_an_encrypted_key_does_not_ask_on_the_terminal(identity, encrypted):
    text = problem(identity.certificate, encrypted)
    assert text.startswith(f"{PLACE}.key: {encrypted} is encrypted: ")


def test_an_encrypted_key_is_read_with_its_passphrase(identity, encrypted):
    password = Secret("hunter2")
    server_context(ListenerTls(certificate=identity.certificate, key=encrypted, key_password=password))


@pytest.mark.parametrize("wrong", ["hunter3", "x", "p" * 2000])
def test_a_wrong_passphrase_is_named_and_not_shown(identity, encrypted, wrong):
    text = problem(identity.certificate, encrypted, password=Secret(wrong))

    assert text == f"{PLACE}.key_password: {encrypted} cannot be decrypted with this passphrase"


def test_authorities_that_are_none_are_named(identity, tmp_path):
    (tmp_path / "ca.pem").write_text("")

    text = problem(identity.certificate, identity.key, tmp_path / "ca.pem", ClientAuth.REQUIRED)
    assert text.startswith(f"{PLACE}.client_ca: {tmp_path}/ca.pem must be a PEM file")
