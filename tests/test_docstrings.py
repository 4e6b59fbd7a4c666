"""Every example in a docstring runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import hoeffding

MODULES = ["hoeffding", *(m.name for m in pkgutil.walk_packages(hoeffding.__path__, "hoeffding."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    attempted = {name: doctest.testmod(importlib.import_module(name)).attempted for name in MODULES}
    for name in ("hoeffding.engines.cube", "hoeffding.measure", "hoeffding.subsets"):
        assert attempted[name] > 0, f"{name} has no example"
