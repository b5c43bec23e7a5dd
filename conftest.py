"""For tests and for examples in docstrings: those of an engine run where it is installed, each draws on new figures."""

import sys
from importlib.util import find_spec

import pytest

LIBRARIES = {"dask": "distributed", "spark": "pyspark", "ray": "ray"}
# A collector's modules import what it needs where they are imported.
COLLECTOR = ("starlette", "prometheus_client", "uvicorn")
collect_ignore = [
    f"src/qckm/engines/{engine}.py" for engine, library in LIBRARIES.items() if find_spec(library) is None
]
if not all(map(find_spec, COLLECTOR)):
    collect_ignore += [
        "tests/collector",
        *(
            f"src/qckm/collector/{name}.py"
            for name in (
                "api",
                "mqtt",
                "overview",
                "server",
                "service",
                "watching",
            )
        ),
    ]


@pytest.fixture(autouse=True)
def close_figures():
    """Close what was drawn: pyplot would give its axes to the next example that asks for none."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_sessionfinish(session):
    """Fail if all tests were skipped: nothing was tested then, whatever the target is called."""
    if hasattr(session.config, "workerinput"):  # a process of pytest-xdist, which sees a part
        return
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    ran = any(report.when == "call" for kind in ("passed", "failed", "xfailed") for report in stats.get(kind, []))
    if stats.get("skipped") and not ran and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
