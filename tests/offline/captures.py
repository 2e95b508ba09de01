"""Capture files made by hand, and a capture of what really went over the loopback interface."""

import contextlib
import ipaddress
import itertools
import socket
import struct
import threading

CLIENT, BROKER = ("10.0.0.7", 41000), ("10.0.0.1", 9092)
SYN, ACK = 0x02, 0x10
ETHERNET = 1


def segment(payload=b"", sequence=1, flags=ACK, client=CLIENT, broker=BROKER, kept=None):
    """An IP packet with a TCP segment; `kept` bytes of the payload are in the capture."""
    tcp = struct.pack(">HHIIBBHHH", client[1], broker[1], sequence % 2**32, 0, 5 << 4, flags, 1, 0, 0)
    source, destination = (ipaddress.ip_address(each[0]) for each in (client, broker))
    size = len(tcp) + len(payload)
    if source.version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, 0, 0, 64, 6, 0)
    else:
        head = struct.pack(">IHBB", 6 << 28, size, 6, 64)
    return head + source.packed + destination.packed + tcp + payload[:kept]


def ethernet(packet, tags=b""):
    return bytes(12) + tags + (b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd") + packet


def pcap(packets, link=ETHERNET, order="<", in_ns=False):
    """`packets`: (at_ms, bytes, original size or None)."""
    magic = 0xA1B23C4D if in_ns else 0xA1B2C3D4
    out = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for at_ms, data, whole in packets:
        fraction = at_ms % 1000 * (1_000_000 if in_ns else 1_000)
        out.append(struct.pack(f"{order}IIII", at_ms // 1000, fraction, len(data), whole or len(data)) + data)
    return b"".join(out)


def pcapng(packets, link=ETHERNET, order="<"):
    """One section, one interface that counts microseconds, and a block that nobody knows."""

    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = struct.pack(f"{order}I", 12 + len(body))
        return struct.pack(f"{order}I", kind) + size + body + size

    out = [block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))]
    resolution = struct.pack(f"{order}HHB3xHH", 9, 1, 6, 0, 0)
    out += [block(1, struct.pack(f"{order}HHI", link, 0, 0) + resolution), block(0xBAD, b"whatever")]
    for at_ms, data, whole in packets:
        high, low = divmod(at_ms * 1000, 2**32)
        out.append(block(6, struct.pack(f"{order}IIIII", 0, high, low, len(data), whole or len(data)) + data))
    return b"".join(out)


def stream(requests, at_ms, cut=(), client=CLIENT, first=1000):
    """The packets of a connection that sends `requests`, cut into segments at the offsets `cut`."""
    data = b"".join(requests)
    edges = [0, *sorted({offset % len(data) for offset in cut} - {0}), len(data)]
    packets = [(at_ms, ethernet(segment(sequence=first - 1, flags=SYN, client=client)), None)]
    for start, end in itertools.pairwise(edges):
        packets.append((at_ms, ethernet(segment(data[start:end], first + start, client=client)), None))
    return packets


def may_listen():
    """True where this process may capture packets: on Linux, as root or with CAP_NET_RAW."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)).close()
    except (AttributeError, PermissionError):
        return False
    return True


@contextlib.contextmanager
def loopback(clock_ms):
    """Everything that goes over `lo` while the block lasts, in the list that it yields, once it ends."""
    packets, over = [], threading.Event()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as raw:
        raw.bind(("lo", 0))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        raw.settimeout(0.1)

        def listen():
            while True:
                try:
                    packets.append((clock_ms(), raw.recv(1 << 18), None))
                except TimeoutError:
                    if over.is_set():
                        return

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield packets
        finally:
            over.set()
            listener.join()
