"""The tables of states: without a state that is never reached or never left."""

import pytest

from tsproxy.session import states
from tsproxy.session.lifetime import BROKER, CLIENT, BrokerEnd, ClientEnd
from tsproxy.session.states import SessionState, TransitionError, after, first_state

TABLES = {
    "states of a session": (states.TRANSITIONS, [SessionState.AUTHENTICATING, SessionState.READY]),
    "states of a client": (CLIENT, [ClientEnd.OPEN]),
    "states of a broker": (BROKER, [BrokerEnd.CONNECTING]),
}
ENDS = {
    "states of a session": SessionState.CLOSED,
    "states of a client": ClientEnd.LOST,
    "states of a broker": BrokerEnd.ENDED,
}


def drawing(name):
    """The table as a Mermaid state diagram, for ARCHITECTURE.md."""
    table, first = TABLES[name]
    lines = ["stateDiagram-v2", *(f"    [*] --> {state.name}" for state in first)]
    for state, row in table.items():
        for cause, following in row.items():
            lines.append(f"    {state.name} --> {following.name}: {cause.name.lower().replace('_', ' ')}")
    return "\n".join(["```mermaid", *lines, "```"])


@pytest.mark.parametrize("name", TABLES)
def test_each_state_is_reached_and_can_end(name):
    table, first = TABLES[name]
    reached = {following for row in table.values() for following in row.values()} | set(first)
    assert reached == set(table) == set(type(ENDS[name]))
    assert all(ENDS[name] in row.values() for state, row in table.items() if state is not ENDS[name])
    assert not table[ENDS[name]]


@pytest.mark.parametrize("name", TABLES)
def test_each_cause_leads_somewhere(name):
    table, _ = TABLES[name]
    met = {cause for row in table.values() for cause in row}
    assert met == set(type(next(iter(met))))


def test_a_cause_that_a_state_cannot_meet_is_a_mistake():
    with pytest.raises(TransitionError, match="JUDGED in CLOSED"):
        after(SessionState.CLOSED, states.Cause.JUDGED)


def test_a_state_that_takes_no_requests_has_no_fast_path():
    assert all(state.takes_requests for state in SessionState if state.fast_path_allowed)
    assert first_state(broker_needs_sasl=True) is SessionState.AUTHENTICATING
    assert not SessionState.AUTHENTICATING.fast_path_allowed
