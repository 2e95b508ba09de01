"""A TLS connection says that there is nothing to read exactly where OpenSSL would say so."""

import random
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.config.settings import ListenerTls, TlsVersion, UpstreamTls
from tsproxy.tls.contexts import TlsConnection, server_context, upstream_context


@pytest.fixture(scope="module", params=TlsVersion)
def contexts(request, certificates):
    """The listener's, and a client's that speaks this version of TLS."""
    made = certificates.issue("tls-connection")
    listener = server_context(ListenerTls(certificate=made.certificate, key=made.key))
    client = upstream_context(UpstreamTls(certificates.certificate))
    client.check_hostname = False
    newest = {TlsVersion.V1_2: ssl.TLSVersion.TLSv1_2, TlsVersion.V1_3: ssl.TLSVersion.TLSv1_3}
    client.maximum_version = newest[request.param]
    return listener, client


class Pair:
    """A client's end, and the listener's, which is given no more of what was sent than is said."""

    def __init__(self, contexts, session=None):
        listener, client = contexts
        self.incoming, self.sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        answers = ssl.MemoryBIO()
        self.connection = listener.wrap_bio(self.incoming, answers, server_side=True)
        self.client = client.wrap_bio(answers, self.sent, session=session)
        for end in (self.client, self.connection) * 3:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                self.incoming.write(self.sent.read())
        assert self.connection.version() == self.client.version()
        assert isinstance(self.connection, TlsConnection)

    def read(self, size):
        """The bytes of one read. If it says that it waits, OpenSSL must say the same."""
        buffer = bytearray(size)
        try:
            return bytes(buffer[: self.connection.read(size, buffer)])
        except ssl.SSLWantReadError:
            with pytest.raises(ssl.SSLWantReadError):
                ssl.SSLObject.read(self.connection, size)
            return None

    def read_all(self, size=16_384):
        read = b""
        while some := self.read(size):
            read += some
        return read


@given(
    sizes=st.lists(st.integers(1, 40_000), max_size=4),
    cuts=st.lists(st.integers(1, 30_000), max_size=8),
    size=st.sampled_from([1_000, 16_384, 262_144]),
)
def test_everything_is_read_however_it_comes(contexts, sizes, cuts, size):
    written = [random.Random(each).randbytes(each) for each in sizes]
    pair = Pair(contexts)
    for data in written:
        pair.client.write(data)
    read = b""
    for cut in (*cuts, -1):
        pair.incoming.write(pair.sent.read(cut))
        read += pair.read_all(size)

    assert read == b"".join(written)
    assert pair.read(size) is None


def test_a_goodbye_behind_the_last_bytes_is_read(contexts):
    pair = Pair(contexts)
    pair.client.write(b"the last")
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.unwrap()
    pair.incoming.write(pair.sent.read())

    assert pair.read(100) == b"the last"
    assert pair.read(100) == b"", "the end"


def test_an_end_without_a_goodbye_is_an_error(contexts):
    pair = Pair(contexts)
    assert pair.read(100) is None
    pair.incoming.write_eof()

    with pytest.raises(ssl.SSLEOFError):
        pair.connection.read(100)


def test_bytes_that_are_no_tls_are_an_error(contexts):
    pair = Pair(contexts)
    pair.incoming.write(b"GET / HTTP/1.1\r\n\r\n")

    with pytest.raises(ssl.SSLError):
        pair.connection.read(100)


def test_without_a_buffer_bytes_are_returned(contexts):
    pair = Pair(contexts)
    pair.client.write(b"some")
    pair.incoming.write(pair.sent.read())

    assert pair.connection.read(100) == b"some"
