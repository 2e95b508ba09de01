# cython: language_level=3
"""The versions of Produce at which its layout changes, as C variables."""

from tsproxy.wire import k00_produce

FLEXIBLE_FROM = k00_produce.FLEXIBLE_FROM
TOPIC_IDS_FROM = k00_produce.TOPIC_IDS_FROM
