"""The options of a connection in words that any program understands, without those that a client does not
use.

servers, protocol (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL), ca, certificate, key (PEM files),
mechanism, user, password.
"""

from pathlib import Path

from tsproxy.testing.client_options import ClientOptions, Identity, Login


def plain_words(options):
    """ClientOptions -> words by name."""
    words = {"servers": options.bootstrap_servers, "protocol": options.protocol}
    if options.ca is not None:
        words["ca"] = str(options.ca)
    if options.identity is not None:
        words |= {"certificate": str(options.identity.certificate), "key": str(options.identity.key)}
    if options.login is not None:
        login = options.login
        words |= {"mechanism": login.mechanism, "user": login.user, "password": login.password}
    return words


def client_options(words):
    """The same back again."""
    identity = login = None
    if "certificate" in words:
        certificate, key = Path(words["certificate"]), Path(words["key"])
        identity = Identity(certificate, key, keystore=certificate)
    if "user" in words:
        login = Login(words["user"], words["password"], words["mechanism"])
    ca = Path(words["ca"]) if "ca" in words else None
    return ClientOptions(words["servers"], words["protocol"], ca, identity, login)
