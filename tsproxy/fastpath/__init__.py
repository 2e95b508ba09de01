"""The fast path: native code for the requests and answers that need no decision.

The session decides, and is the one definition of the proxy's behaviour. The fast path repeats two of its
decisions, so that nearly every request costs a microsecond instead of a hundred:

* It **forwards** what is certainly acceptable: a request of an API whose answer nobody reads, or a Produce
  request of plain v2 batches whose times lie within the bounds that the session has given for their topics.
  It also forwards the answers that accept such requests, and counts the batches. It forwards a Fetch answer
  from version 16 on, except an end that may name brokers. If the policy says so, it does not read every
  compressed batch (`adaptive`); this is the one thing that a session without it does not do.
* It **rejects** what the session has rejected: for some seconds after a rejection, batches that are rejected
  for the same reason with the same words. To do so it finds culprits, checks CRCs and writes answers.

It leaves everything else to the session, and so does an installation without native code (`IS_AVAILABLE`).
`tests/fastpath/test_sessions.py` holds both to the same results: a session with the fast path sends and
counts what a session without it does.

    RequestFilter    how many bytes of what the client sent may be forwarded
    AnswerFilter     how many bytes of what the broker sent may be forwarded
    Rejecter         the answers to requests that are rejected as one was before
    Table            by topic: bounds, rejections, and what was counted
    InFlight         the queue of requests in flight, which these share with the session
    Rejection        a rejection that may be repeated
    ForwardedProduce, ForwardedBatch, ForwardedFetch, ForwardedRelay
                     a request that was forwarded here, for an answer that the session must read

Native code calls Python in these places: to read a compressed batch, to count what a rejection costs the
client (`throttle`), for the words of a rejection (once a millisecond), and to make a slot of a forwarded
request.

Not here: buffers, decompression, first decisions. Nothing here raises for what the bytes hold.
"""

from tsproxy.fastpath.forwarded import ForwardedBatch, ForwardedFetch, ForwardedProduce, ForwardedRelay
from tsproxy.fastpath.rejection import Rejection
from tsproxy.wire import readers

IS_AVAILABLE = False
"""True if the native code was built, and is not turned off."""

try:
    if readers.NAME != "native":
        raise ImportError("no native code is wanted")
    from tsproxy.fastpath._native import AnswerFilter, InFlight, Rejecter, RequestFilter, Table

    IS_AVAILABLE = True
except ImportError:
    pass

__all__ = [
    "IS_AVAILABLE",
    "AnswerFilter",
    "ForwardedBatch",
    "ForwardedFetch",
    "ForwardedProduce",
    "ForwardedRelay",
    "InFlight",
    "Rejecter",
    "Rejection",
    "RequestFilter",
    "Table",
]
