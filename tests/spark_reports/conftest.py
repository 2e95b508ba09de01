"""One quiet local Spark session for all tests that need one: it takes seconds to start."""

import pytest

from spark_reports.session import spark_session


def pytest_collection_modifyitems(items):
    """Whoever asks for Spark needs Spark, and patience where the machine is busy with other things."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            item.add_marker(pytest.mark.timeout(1_800))


@pytest.fixture(scope="session")
def spark():
    with spark_session("local[2]") as session:
        # Compiling a query of a hundred rows costs ten times running it; the command's own tests do compile.
        session.conf.set("spark.sql.codegen.wholeStage", "false")
        session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        session.conf.set("spark.sql.shuffle.partitions", "1")
        yield session
