"""The numbers of `inspect.compressed: adaptive`: when a compressed batch may stay unread.

Reading one costs what decompressing it costs. So a topic of a connection whose batches were in order is read
by chance only, and the times in the batch's header are judged instead. The broker still reads every record.
"""

from typing import Final

TRUSTED_AFTER: Final = 100
"""So many compressed batches in a row must be read, be in order, and be accepted by the broker."""
ONE_READ_OF: Final = 100
"""One batch of so many is still read, drawn for each batch."""
PAUSE_MS: Final = 60_000
"""After so long without a compressed batch, trust begins anew."""
READ_ALL_MS: Final = 600_000
"""After a bad batch, every batch is read for so long, and until trust is earned again."""
