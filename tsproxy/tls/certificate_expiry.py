"""When the certificates of a configuration expire, and the notices of `tsproxy check` about that.

A running proxy logs the same once a day, and has a metric for it (`reload.certificates`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tsproxy.config.problems import Problem
from tsproxy.config.settings import Config
from tsproxy.config.values import instant_text
from tsproxy.tls.x509 import Certificate, RevocationList, read_crls, read_pem
from tsproxy.wire.primitives import DecodeError

CRL: Final = "_crl"
"""The end of the names of settings for certificate revocation lists."""

WARNED_EARLY_S: Final = 30 * 86_400.0
"""A warning begins this long before a certificate's expiry, or in the last quarter of its life if that is
later. Otherwise a certificate that is replaced every day would always cause a warning."""


@dataclass(frozen=True, slots=True)
class End:
    """When the certificates of one file expire, and when to warn first."""

    setting: str
    file: Path
    subject: str
    expires_s: float
    warn_s: float
    begins_s: float


def ends_of(files: Mapping[str, Path]) -> Iterator[End]:
    """A chain expires with the first of its certificates that does. So do revocation lists, since clients of
    that authority are rejected then. A list of authorities expires with its last certificate."""
    for setting, file in files.items():
        if setting.endswith(".key"):
            continue
        choose: Callable[..., Certificate | RevocationList] = max if setting.endswith("ca") else min
        read: Callable[[bytes], Sequence[Certificate | RevocationList]] = (
            read_crls if setting.endswith(CRL) else read_pem
        )
        try:
            found = read(file.read_bytes())
        except (OSError, DecodeError):  # OpenSSL has accepted it before: no reason to reject it
            continue
        if found:
            it = choose(found, key=lambda each: each.not_after_s)
            early_s = min(WARNED_EARLY_S, (it.not_after_s - it.not_before_s) / 4)
            warn_s = it.not_after_s - early_s
            yield End(setting, file, it.subject, it.not_after_s, warn_s, it.not_before_s)


def certificate_notices(config: Config, now_ms: int) -> Iterator[Problem]:
    """Notices about certificates that are expired, expire soon, or are not valid yet, in usable files."""
    now_s = now_ms / 1000
    for end in ends_of(_files(config)):
        place, _, key = end.setting.rpartition(": ")
        who = f"{end.file} ({end.subject})"
        at_text = instant_text(round(end.expires_s * 1000))
        if end.expires_s <= now_s:
            yield Problem(place, key, f"{who} expired at {at_text}: renew it")
        elif end.begins_s > now_s:
            begins_text = instant_text(round(end.begins_s * 1000))
            yield Problem(
                place, key, f"{who} is not valid before {begins_text}: wait, or set this clock right"
            )
        elif end.warn_s <= now_s:
            days = int((end.expires_s - now_s) // 86_400)
            yield Problem(place, key, f"{who} ends at {at_text}, in {days} days: renew it")


def _files(config: Config) -> Mapping[str, Path]:
    """Certificate files by the name of their setting."""
    named = [
        (
            tls.place,
            {"certificate": tls.certificate, "client_ca": tls.client_ca, "client_crl": tls.client_crl},
        )
        for listener in config.listeners
        if (tls := listener.tls) is not None
    ]
    if (upstream := config.upstream.tls) is not None:
        named.append((upstream.place, {"certificate": upstream.certificate, "ca": upstream.ca}))
    return {f"{place}.{name}": file for place, files in named for name, file in files.items() if file}
