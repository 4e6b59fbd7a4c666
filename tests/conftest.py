"""Hypothesis without clocks or luck, a fixture for all implementations of the kernels, and figures that are closed."""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

from hoeffding import _kernels

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn, not shown

settings.register_profile(
    "hoeffding",
    deadline=None,
    derandomize=True,
    max_examples=60,
    # ``implementation`` holds for all examples of a test, which is what this check is afraid of.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("hoeffding")


@pytest.fixture(params=_kernels.implementations())
def implementation(request):
    """The test runs with this implementation of the kernels active: the reference and every instruction set."""
    with _kernels.using(request.param):
        yield request.param


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
