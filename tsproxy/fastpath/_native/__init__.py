"""The fast path in Cython. `__init__.pyi` describes each name."""

from tsproxy.fastpath._native.answers import AnswerFilter
from tsproxy.fastpath._native.in_flight import InFlight
from tsproxy.fastpath._native.rejecter import Rejecter
from tsproxy.fastpath._native.rejections import Freshness
from tsproxy.fastpath._native.requests import Newest, RequestFilter
from tsproxy.fastpath._native.table import Table, TopicTrust

__all__ = [
    "AnswerFilter",
    "Freshness",
    "InFlight",
    "Newest",
    "Rejecter",
    "RequestFilter",
    "Table",
    "TopicTrust",
]
