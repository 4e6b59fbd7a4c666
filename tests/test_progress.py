"""Long work says on a terminal what it is doing; short work, and work that nobody watches, shows nothing."""

import io
import sys
import time

import pytest

from hoeffding import progress
from hoeffding.progress import reporting, say


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, seconds, texts=("counting", "solving")):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with reporting():
        for text in texts:
            say(text)
        time.sleep(seconds)
    return stream.getvalue()


def test_long_work_on_a_terminal_shows_what_was_said_last(monkeypatch):
    pytest.importorskip("rich")
    text = shown(monkeypatch, Terminal(), 0.4)
    assert "solving" in text and "counting" not in text


def test_short_work_shows_nothing(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 30)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with reporting():
        say("counting")
    assert "counting" not in stream.getvalue()


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), 0.2) == ""


def test_without_rich_nothing_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert shown(monkeypatch, Terminal(), 0.2) == ""


def test_what_nobody_watches_may_be_said():
    say("anything")


def test_a_line_is_taken_away_when_the_work_fails(monkeypatch):
    with pytest.raises(KeyError), reporting():
        raise KeyError
    assert progress._line.get() is None
