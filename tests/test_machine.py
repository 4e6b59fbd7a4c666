"""Threads are counted as asked, sizes read well, and too large a job is refused with advice."""

import os
import re

import pytest

from hoeffding import machine
from hoeffding.machine import available_memory, n_threads, readable_bytes, require_memory


def test_a_positive_n_jobs_is_the_number_of_threads():
    assert [n_threads(n) for n in (1, 2, 7)] == [1, 2, 7]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no processor affinity")
def test_minus_one_means_the_cores_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5})
    assert n_threads(-1) == 3


def test_without_affinity_minus_one_means_all_cores_or_one(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert n_threads(-1) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert n_threads(-1) == 1


@pytest.mark.parametrize("n_jobs", [0, -2, True, 1.5, "2", None])
def test_any_other_n_jobs_is_refused_by_name(n_jobs):
    with pytest.raises(ValueError, match=re.escape(f"n_jobs={n_jobs!r}")):
        n_threads(n_jobs)


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (3 * 2**30, "3.0 GiB"), (2**70, "1024.0 EiB")],
)
def test_sizes_are_readable(n_bytes, words):
    assert readable_bytes(n_bytes) == words


def test_what_fits_is_allowed_and_what_does_not_is_refused_with_both_sizes_and_advice(monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 3 * 2**20)
    require_memory(3 * 2**20, "the table", "use less")
    with pytest.raises(MemoryError, match=re.escape("the table takes 4.0 MiB, 3.0 MiB are available; use less")):
        require_memory(4 * 2**20, "the table", "use less")


def test_a_system_that_does_not_say_how_much_memory_it_has_refuses_nothing(monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: None)
    require_memory(1e30, "the table", "use less")


def test_the_available_memory_is_at_most_the_physical_memory():
    free = available_memory()
    if free is None or not hasattr(os, "sysconf"):
        pytest.skip("this system does not say")
    assert 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
