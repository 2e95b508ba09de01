"""docs/evidence/capacity.md follows from docs/evidence/benchmarks.md, and its arithmetic is right."""

from pathlib import Path

import pytest

from benchmarks.capacity_page import figures, page, write
from benchmarks.page import MissingFigureError

DOCS = Path(__file__).parents[2] / "docs" / "evidence"

BENCHMARKS = """\
# Benchmarks

## CPU by size, codec and TLS

| load | bytes a request | records a request | CPU, µs a request | CPU, ns a record | CPU, ms a MB | busy |
| --- | --- | --- | --- | --- | --- | --- |
| 1 KB, 8×5 | 1,000 | 8 | 5.00 [4.00–6.00] | 625 [500–750] | 5.00 [4.00–6.00] | 97 % |
| 100 KB lz4, 8×5, TLS | 43,000 | 891 | 129 [110–140] | 145 [123–157] | 3.00 [2.56–3.26] | 90 % |
| Fetch, 1 MB, 8×1, TLS | 1,000,000 | – | 1500 [1400–1600] | – | 1.50 [1.40–1.60] | 99 % |

## Memory of idle connections

| proxy | in all | before | a connection |
| --- | --- | --- | --- |
| haproxy | 18 MiB | 15 MiB | 3.3 KiB |
| tsproxy | 70 MiB | 50 MiB | 20.0 KiB |
| tsproxy, TLS | 110 MiB | 60 MiB | 64.0 KiB |

## Everything rejected, many clients

| clients | rejected | decision log | memory |
| --- | --- | --- | --- |
| 400 clients | 100,000 | 0.30 MiB | 3 MiB |
| 10,000 clients | 90,000 | 3.20 MiB | 14 MiB |

## Another
"""
MANY = """\

## Many connections, and all of them at once

| connections | workers | CPU a connection |
| --- | --- | --- |
| 10,000 idle, TLS + SCRAM, a real broker | 2 | 1500 µs |

## Many topics and partitions

| topics × partitions | scrape |
| --- | --- |
| 10,000 × 10 | 20 KiB |
"""
EMPTY = (
    "# Capacity\n\n<!-- workers: from benchmarks.md -->\nold\n<!-- end of workers -->\n\n"
    "<!-- examples: from benchmarks.md -->\n<!-- end of examples -->\n\n"
    "<!-- large: from benchmarks.md -->\n<!-- end of large -->\n\nThe end.\n"
)


def test_the_page_is_what_follows_from_the_benchmarks():
    """Otherwise: python -m benchmarks.capacity_page"""
    text = (DOCS / "capacity.md").read_text(encoding="utf-8")
    assert page(text, figures((DOCS / "benchmarks.md").read_text(encoding="utf-8"))) == text


def test_a_kind_of_traffic_needs_its_cpu_at_sixty_per_cent_of_each_worker():
    """600 ms / 5 ms = 120 MB/s a worker."""
    text = page(EMPTY, figures(BENCHMARKS))
    assert "| 1 KB, 8×5 | 5 | 120 MB/s | 9 |\n" in text
    assert "old" not in text
    assert text.endswith("\nThe end.\n")


def test_an_example_shows_each_step():
    """1,000 × 3 ms + 2,000 × 1.5 ms are 6 cores, so 10 workers; 3,000 MB/s need two links of 2,187.5 MB/s."""
    text = page(EMPTY, figures(BENCHMARKS))
    example = text.partition("### 1 GB/s\n")[2].partition("<!-- end")[0]
    assert example.split("\n") == [
        "",
        "* Produce: 1,000 MB/s × 3 ms = 3.00 cores.",
        "* Fetch: 2 × 1,000 MB/s × 1.5 ms = 3.00 cores.",
        "* Workers: 6.00 cores / 0.6 = 10.",
        "* Machines by CPU: 10 / 16 = 1.",
        "* Machines by network: (1,000 + 2,000) MB/s / 2,188 MB/s = 2.",
        "* Memory: 10 × 60 MiB + 10,000 connections × 64 KiB = 1.2 GiB, and what clients have in flight.",
        "* **2 machines**, and one more, so that one may fail: the network decides.",
        "",
        "",
    ]


def test_the_large_installation_shows_each_step():
    """8,750 MB/s are 2,917 that are produced and twice as much that is read: 17.5 cores, so 30 workers."""
    text = page(EMPTY, figures(BENCHMARKS + MANY))
    large = text.partition("<!-- large: from benchmarks.md -->\n")[2].partition("<!-- end of large")[0]
    steps = " ".join(large.split()).split("* **")[1:]
    assert [step.partition("**: ")[0] for step in steps[:-1]] == [
        "Traffic",
        "Processes",
        "Memory",
        "File descriptors",
        "Ports",
        "Brokers' connections",
        "Decision log",
        "Metrics",
    ]
    assert "2,917 × (3 + 2 × 1.5) ms = 17.5 cores, and / 0.6 = 30 workers" in steps[1]
    assert "30 × 60 MiB + 100,000 × 64 KiB = 7.9 GiB" in steps[2]
    assert "3,334 connections, ± 58, and each takes 2: 6,668" in steps[3]
    assert "28,232 from one address to each broker, so 100,000 connections need 4 brokers" in steps[4]
    assert "8,333 at each of 12 brokers, and the workers' own: 30 × (12 + 1) = 390" in steps[5]
    assert "3.2 MiB a minute: 135 GiB a day" in steps[6]
    assert "20 KiB with 10,000 topics: 112 MiB a day" in steps[7]
    assert "100,000 × 1.5 ms (TLS, SCRAM) = 150 s of CPU, so 5 s with 30 cores" in steps[8]


def test_what_no_run_has_measured_is_left_out():
    text = page(EMPTY, figures(BENCHMARKS))
    assert "**Decision log**" in text
    assert "**Metrics**" not in text
    assert "come back" not in text


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(MissingFigureError, match="no table in 'CPU by size, codec and TLS'"):
        figures("# Benchmarks\n")
    with pytest.raises(MissingFigureError, match="no row Fetch, 1 MB, 8×1, TLS"):
        page(EMPTY, figures(BENCHMARKS.replace("Fetch, 1 MB, 8×1, TLS", "Fetch, 2 MB")))
    with pytest.raises(MissingFigureError, match="no row tsproxy, TLS"):
        figures(BENCHMARKS.replace("tsproxy, TLS", "other"))
    with pytest.raises(MissingFigureError, match="no place for 'examples'"):
        page(EMPTY.replace("end of examples", ""), figures(BENCHMARKS))


def test_a_run_that_writes_the_benchmarks_elsewhere_needs_no_capacity_page(tmp_path):
    write(tmp_path)
    assert not list(tmp_path.iterdir())
