"""Metrics under the names of the documentation, with labels that stay few."""

from dataclasses import replace

from tsproxy import __version__
from tsproxy.model.outcome import Outcome, Peer, VerdictName
from tsproxy.model.policy import CANDIDATE, Mode
from tsproxy.model.records import BatchFacts
from tsproxy.model.verdict import Reason, UnitGuess
from tsproxy.runtime.metrics import Metrics

ACCEPTED = Outcome(
    now_ms=0,
    peer=Peer("public", "192.0.2.1", 1),
    api_version=11,
    correlation_id=1,
    acks=-1,
    transactional_id=None,
    topic="orders",
    partition=0,
    batch=BatchFacts(2, "none", 100, 38, -1, -1, 0, 0),
    verdict=VerdictName.ACCEPTED,
    limits=None,
)
REJECTED = replace(
    ACCEPTED,
    verdict=VerdictName.REJECTED,
    reason=Reason.TOO_FAR_AHEAD,
    unit_guess=UnitGuess.NANOSECONDS,
    bad_records=5,
)


def rendered(metrics):
    lines = metrics.render().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}


def test_batches_and_records_are_counted_by_how_they_ended():
    metrics = Metrics()
    metrics.booked(ACCEPTED)
    metrics.booked(ACCEPTED)
    metrics.booked(REJECTED)

    found = rendered(metrics)
    accepted = 'listener="public",reason="",verdict="accepted"'
    rejected = 'listener="public",reason="too_far_ahead",verdict="rejected"'
    assert found[f"tsproxy_batches_total{{{accepted}}}"] == 2
    assert found[f"tsproxy_records_total{{{accepted}}}"] == 76
    assert found[f"tsproxy_batches_total{{{rejected}}}"] == 1
    assert found[f"tsproxy_records_total{{{rejected}}}"] == 38
    assert found['tsproxy_bad_records_total{reason="too_far_ahead",unit="nanoseconds"}'] == 5


def test_what_is_let_pass_and_would_be_refused_is_counted_apart():
    metrics = Metrics()
    would = replace(REJECTED, verdict=VerdictName.ACCEPTED, would_reject=True)
    metrics.booked(replace(would, rule=CANDIDATE))
    metrics.booked(replace(would, rule="own", mode=Mode.AUDIT))

    found = rendered(metrics)
    labels = 'reason="too_far_ahead",unit="nanoseconds"'
    assert found[f"tsproxy_candidate_bad_records_total{{{labels}}}"] == 5
    assert found[f"tsproxy_audited_bad_records_total{{{labels}}}"] == 5
    assert f"tsproxy_bad_records_total{{{labels}}}" not in found
    assert found['tsproxy_batches_total{listener="public",reason="",verdict="accepted"}'] == 2


def test_what_clients_choose_makes_no_series():
    metrics = Metrics()
    metrics.booked(ACCEPTED)
    before = len(rendered(metrics))
    for n in range(100):
        metrics.booked(replace(ACCEPTED, topic=f"t{n}", peer=replace(ACCEPTED.peer, client_id=f"c{n}")))

    assert len(rendered(metrics)) == before


def test_the_build_says_its_version():
    assert any(f'version="{__version__}"' in line for line in rendered(Metrics()))


def test_an_address_that_could_not_be_mapped_is_counted():
    metrics = Metrics()
    metrics.session_closed("public", "address_unmapped")
    metrics.session_closed("public", "peer_closed")

    assert rendered(metrics)["tsproxy_address_unmapped_total"] == 1


def test_two_sets_of_metrics_do_not_share_anything():
    one, other = Metrics(), Metrics()
    one.handshake_failed("public")

    series = 'tsproxy_tls_handshakes_failed_total{listener="public"}'
    assert series in rendered(one)
    assert series not in rendered(other)
