"""The fast path: native code for the requests and answers that need no decision.

The session decides, and is the one definition of the proxy's behaviour. The fast path repeats two of its
decisions, so that nearly every request costs a microsecond instead of a hundred:

* It **forwards** requests that are certainly acceptable: requests of APIs whose answers the proxy does not
  read, and Produce requests of v2 batches. These batches have a usual header, and times within the bounds
  that the session has set for their topics. The fast path also forwards the answers that accept such
  requests, and counts the batches. It forwards a Fetch answer from version 16 on, except an end that may name
  brokers. Unless the policy says so, it does not read every compressed batch (`adaptive`). This is the only
  difference from a session without the fast path.
* It **rejects** batches for some seconds after the session has rejected one, for the same reason and with the
  same words. To do so, it finds culprits, checks CRCs and writes answers.

It leaves everything else to the session. `tests/fastpath/test_sessions.py` checks that the results are the
same: a session with the fast path sends and counts what a session without it does.

    RequestFilter    how many bytes of what the client sent may be forwarded
    AnswerFilter     how many bytes of what the broker sent may be forwarded
    Rejecter         the answers to requests that are rejected as an earlier one was
    Table            by topic: bounds, rejections, and what was counted
    TopicTrust       how many compressed batches in a row were in order
    InFlight         the queue of requests in flight, which the fast path shares with the session
    Newest           the number of the newest view: without it, nothing is forwarded or rejected
    Rejection        a rejection that may be repeated
    ForwardedProduce, ForwardedBatch, ForwardedFetch, ForwardedRelay
                     a request that the fast path forwarded, if the session must read its answer

Native code calls Python to read a compressed batch, to count what a rejection costs the client (`throttle`),
to get the words of a rejection (once a millisecond), and to make a slot of a forwarded request.

Not here: buffers, decompression, first decisions. No bytes that are read here raise an error.
"""

from tsproxy.fastpath._native import (
    AnswerFilter,
    Freshness,
    InFlight,
    Newest,
    Rejecter,
    RequestFilter,
    Table,
    TopicTrust,
)
from tsproxy.fastpath.forwarded import ForwardedBatch, ForwardedFetch, ForwardedProduce, ForwardedRelay
from tsproxy.fastpath.rejection import Rejection

__all__ = [
    "AnswerFilter",
    "ForwardedBatch",
    "ForwardedFetch",
    "ForwardedProduce",
    "ForwardedRelay",
    "Freshness",
    "InFlight",
    "Newest",
    "Rejecter",
    "Rejection",
    "RequestFilter",
    "Table",
    "TopicTrust",
]
