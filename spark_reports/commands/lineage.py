"""OpenLineage events of a night: START, then COMPLETE or FAIL (`--lineage`, extra `lineage`).

OpenLineage's own client sends them, and finds its transport as it does everywhere: `openlineage.yml`,
`OPENLINEAGE_URL`, and its other variables. A night goes on if an event cannot be sent, and says so.
"""

import argparse
import re
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from spark_reports.exits import UsageError
from tsproxy import __version__

_JOB: Final = "spark_reports.night"
_PRODUCER: Final = f"urn:tsproxy:spark_reports:{__version__}"
_KEY: Final = re.compile(r"(?<=://)[^/@\s]*:[^/\s]*@")
"""A key and its secret in an address. `container@account` of Azure is none."""

Tell = Callable[[str, str | None], None]
"""Sends an event of this type (START, COMPLETE, FAIL), with the text of an error."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lineage",
        metavar="NAMESPACE",
        help=f"send OpenLineage events of the job {_JOB} in this namespace, as its client is configured",
    )


def of_night(options: argparse.Namespace, day: date) -> Tell:
    """The sender of a run's events; one that sends nothing without `--lineage`. Raises UsageError without the
    client."""
    if options.lineage is None:
        return lambda *_: None
    try:
        from openlineage.client import OpenLineageClient, event_v2, facet_v2
        from openlineage.client.uuid import generate_new_uuid
    except ImportError as error:
        raise UsageError(
            f"--lineage needs OpenLineage's client: pip install openlineage-python ({error})"
        ) from None

    def datasets(kind: Any, places: list[str | None]) -> list[Any]:
        named = [dataset(place, options.lineage) for place in places if place is not None]
        return [kind(namespace=namespace, name=name) for namespace, name in named]

    inputs = datasets(event_v2.InputDataset, options.input)
    outputs = datasets(event_v2.OutputDataset, [options.table, options.rollup, options.output])
    nominal = facet_v2.nominal_time_run.NominalTimeRunFacet(
        f"{day}T00:00:00Z", f"{day + timedelta(days=1)}T00:00:00Z", producer=_PRODUCER
    )
    run_id = str(generate_new_uuid())
    job = event_v2.Job(namespace=options.lineage, name=_JOB)

    def tell(kind: str, error: str | None) -> None:
        facets: dict[str, Any] = {"nominalTime": nominal}
        if error is not None:
            facets["errorMessage"] = facet_v2.error_message_run.ErrorMessageRunFacet(
                _KEY.sub("", error), "Python", producer=_PRODUCER
            )
        event = event_v2.RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            eventType=event_v2.RunState[kind],
            producer=_PRODUCER,
            run=event_v2.Run(run_id, facets),
            job=job,
            inputs=inputs,
            outputs=outputs,
        )
        try:
            OpenLineageClient().emit(event)
        except Exception as failure:  # each transport has errors of its own
            sys.stderr.write(f"spark_reports: the OpenLineage event {kind} was not sent: {failure}\n")

    return tell


def dataset(place: str, namespace: str) -> tuple[str, str]:
    """The namespace and the name that OpenLineage gives to a folder; a table of a catalog has the job's
    namespace. `{date}` and globs are no part of the name, and neither are a key and its secret."""
    fixed = _KEY.sub("", place.partition("{")[0].partition("*")[0])
    parts = urlsplit(fixed)
    if parts.scheme and parts.netloc:
        scheme = "s3" if parts.scheme in ("s3a", "s3n") else parts.scheme
        return f"{scheme}://{parts.netloc}", parts.path.strip("/") or "/"
    if not parts.scheme and "/" not in place and "." in place and not Path(place).exists():
        return namespace, place
    return "file", str(Path(parts.path if parts.scheme == "file" else fixed).absolute())
