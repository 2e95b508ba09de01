"""`tsproxy check` says of certificates that are over, end soon or are not valid yet, and takes the file."""

from datetime import timedelta

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.cli import main
from tsproxy.clock import Clock
from tsproxy.tls.certificate_expiry import certificate_notices

DAYS = timedelta(days=1)
LASTING = {"hosts": ["localhost"], "starts": -400 * DAYS, "lasts": 800 * DAYS}


def file_with(certificate, authority, *, upstream=None):
    """A right file whose listener shows one certificate, and whose own connection another, or the same."""
    ours = upstream or certificate
    tls = f"tls: {{ ca: '{authority}', certificate: '{ours.certificate}', key: '{ours.key}' }}"
    more = f"client_ca: '{authority}'"
    return (
        SMALLEST.replace(" }", f", {tls} }}", 1)
        + f"    tls: {{ certificate: '{certificate.certificate}', key: '{certificate.key}', {more} }}\n"
    )


def told(text, at=timedelta()):
    now_ms = Clock().now_ms() + round(at.total_seconds() * 1000)
    return [(each.key, each.text) for each in certificate_notices(config_of(text), now_ms)]


@pytest.fixture
def made(certificates):
    return lambda name, **dates: certificates.issue(f"ends-{name}", **{**LASTING, **dates})


def test_each_file_that_is_over_is_told_with_its_subject_and_its_end(made, certificates, tmp_path):
    """Certificates, authorities and lists of revocations of every section."""
    good, crl = made("good"), tmp_path / "revoked.pem"
    crl.write_bytes(certificates.revocations())
    admin = f"tls: {{ certificate: '{good.certificate}', key: '{good.key}' }}"
    text = file_with(good, certificates.certificate).replace(
        "client_ca: ", f"client_crl: '{crl}', client_ca: "
    )
    found = dict(told(f"{text}admin: {{ bind: '127.0.0.1:9091', {admin} }}\n", at=1_000 * DAYS))
    assert sorted(found) == [
        "admin.tls.certificate",
        "listeners[0].tls.certificate",
        "listeners[0].tls.client_ca",
        "listeners[0].tls.client_crl",
        "upstream.tls.ca",
        "upstream.tls.certificate",
    ]
    assert f"{good.certificate} (CN=ends-good) expired at 20" in found["listeners[0].tls.certificate"]
    assert f"{crl} (CN=tsproxy test authority) expired at 20" in found["listeners[0].tls.client_crl"]


YEAR = 365 * DAYS
VALIDITY = {
    "ends within thirty days": (-YEAR, 29 * DAYS, ["in 28 days: renew it"]),
    "ends later": (-YEAR, 31 * DAYS, []),
    "the last quarter of a short life": (-8 * DAYS, 2 * DAYS, ["renew it"]),
    "more than a quarter of it": (-7 * DAYS, 3 * DAYS, []),
    "not valid yet": (DAYS, YEAR, ["is not valid before 20"]),
}
"""When a certificate begins, how long it lasts from now on, and a part of what is told."""


@pytest.mark.parametrize(("starts", "left", "texts"), VALIDITY.values(), ids=VALIDITY)
def test_one_that_ends_soon_or_is_not_valid_yet_is_told(made, certificates, starts, left, texts):
    identity = made("soon", starts=starts, lasts=left - starts)
    notices = told(file_with(identity, certificates.certificate, upstream=made("good")))
    assert len(notices) == len(texts)
    assert all(part in text for part, (_, text) in zip(texts, notices, strict=True))


@pytest.mark.parametrize(("key", "is_told"), [("certificate", True), ("client_ca", False)])
def test_a_chain_ends_with_its_first_end_and_authorities_with_their_last(made, tmp_path, key, is_told):
    """A new authority stands beside the old one until the old one's certificates are gone."""
    ending = made("ending", starts=-400 * DAYS, lasts=410 * DAYS).certificate.read_bytes()
    lasting = made("lasting")
    several = tmp_path / "several.pem"
    several.write_bytes(lasting.certificate.read_bytes() + ending)
    files = {"certificate": lasting.certificate, "client_ca": lasting.certificate, key: several}
    tls = f"certificate: '{files['certificate']}', key: '{lasting.key}', client_ca: '{files['client_ca']}'"
    found = [each for each, _ in told(f"{SMALLEST}    tls: {{ {tls} }}\n")]
    assert found == [f"listeners[0].tls.{key}"] * is_told


def test_check_takes_the_file_and_names_the_line(made, certificates, tmp_path, capsys):
    over = made("over", starts=-10 * DAYS, lasts=9 * DAYS)
    file = tmp_path / "tsproxy.yaml"
    file.write_text(file_with(over, certificates.certificate, upstream=made("good")))
    assert main(["check", str(file)]) == 0
    notice, ok = capsys.readouterr().out.splitlines()
    assert notice.startswith(f"{file}:4: listeners[0].tls.certificate: notice: {over.certificate} ")
    assert ok.startswith(f"{file}: ok, ")
