"""The captured traffic of the document's example: two clients, one of which sends microseconds."""

from tests.offline.captures import pcap, stream
from tests.session.messages import produce
from tests.wire.batches import batch

NOW_MS = 1_767_225_600_000
HOUR_MS = 3_600_000


def demo():
    good = [produce({"orders": {0: batch([NOW_MS - 20, NOW_MS])}}, client_id="shop") for _ in range(3)]
    late = [produce({"orders": {1: batch([NOW_MS - 9 * 24 * HOUR_MS])}}, client_id="archive")]
    wrong = [produce({"clicks": {0: batch([NOW_MS, NOW_MS * 1000])}}, client_id="web") for _ in range(2)]
    return pcap(
        stream(good + late, NOW_MS, client=("10.0.0.7", 41000))
        + stream(wrong, NOW_MS, client=("10.0.0.8", 41001))
    )
