"""The numbers of `inspect.compressed`: when a compressed batch may stay unread.

To read a compressed batch, the proxy must decompress it. If the earlier batches of a topic on a connection
were in order, the fast path reads only some of the next ones, drawn at random. It judges the times in the
headers of the others. The broker still reads every record.
"""

from typing import Final

TRUSTED_AFTER: Final = 100
"""So many compressed batches in a row must be read, be in order, and be accepted by the broker, before one
stays unread."""
ONE_READ_OF: Final = 100
"""One batch of so many is still read. A random draw decides for each batch."""
PAUSE_MS: Final = 60_000
"""After so long without a compressed batch, the count up to `TRUSTED_AFTER` begins again."""
READ_ALL_MS: Final = 600_000
"""After a bad batch, every compressed batch of the address and topic is read for so long, and until
`TRUSTED_AFTER` is reached again."""
