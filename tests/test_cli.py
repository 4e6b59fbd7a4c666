"""The command line: what it prints, where it stops, and what it says when its packages are missing."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hoeffding import _kernels, cli
from hoeffding.cli import info

HIDE = "import sys; sys.modules[{package!r}] = None; from hoeffding.cli import main; sys.exit(main())"


def run(*arguments):
    return CliRunner().invoke(cli._build_app(), list(arguments))


def run_in_a_process(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        timeout=60,
        check=False,
    )


def test_without_a_command_the_help_is_shown():
    assert run_in_a_process("from hoeffding.cli import main; main()").returncode == 2


def test_info_says_what_runs_here():
    done = run("info")
    assert done.exit_code == 0
    assert f"{_kernels.active()} in use" in done.output
    for name in (*_kernels.implementations(), version("numpy"), version("hoeffding")):
        assert name in done.output


def test_info_names_packages_that_are_missing(monkeypatch):
    monkeypatch.setattr(info, "OPTIONAL", {"nothing": ("no-such-package",)})
    assert dict(info.info_facts())["no-such-package"] == "not installed (optional, for nothing)"


def test_info_imports_no_optional_package():
    code = (
        "import sys; from hoeffding.cli import info\n"
        "list(info.info_facts()); print({'pandas', 'polars', 'rich'} & {*sys.modules})"
    )
    assert run_in_a_process(code).stdout.strip() == "set()"


def test_version():
    assert run("--version").output == f"hoeffding {version('hoeffding')}\n"


@pytest.mark.parametrize("command", [[], ["demo"], ["explain"], ["bench"], ["reproduce"], ["info"]])
def test_help_has_an_example(command):
    done = run(*command, "--help")
    assert done.exit_code == 0
    assert "Example" in done.output


def test_a_mistaken_command_is_refused_without_a_traceback():
    done = run_in_a_process("import sys; sys.argv[1:] = ['dmo']; from hoeffding.cli import main; main()")
    assert done.returncode == 2
    assert "dmo" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra_one_line_says_what_to_install(package):
    done = run_in_a_process(HIDE.format(package=package))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [cli.MISSING_EXTRA]
    assert 'pip install "hoeffding[app]"' in done.stderr


def test_an_interrupt_exits_with_130_and_no_traceback():
    code = (
        "import sys; sys.argv[1:] = ['info']\n"
        "from hoeffding import cli\n"
        "from hoeffding.cli import info\n"
        "def interrupt(): raise KeyboardInterrupt\n"
        "info.info_facts = interrupt\n"
        "sys.exit(cli.main())"
    )
    done = run_in_a_process(code)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_an_unknown_instruction_set_is_one_line_and_no_traceback():
    environment = os.environ | {"HOEFFDING_ISA": "sse9"}
    code = "import sys; sys.argv[0] = 'hoeffding'; from hoeffding.cli import main; sys.exit(main())"
    run = subprocess.run(
        [sys.executable, "-c", code, "info"], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2 and "Traceback" not in run.stderr
    assert "hoeffding: HOEFFDING_ISA='sse9': this machine has reference, portable" in run.stderr


BREAK = """
import sys
from hoeffding import cli
from hoeffding.cli import info
def fail(): raise {error}
info.info_facts = fail
sys.argv[0] = 'hoeffding'
sys.exit(cli.main())
"""


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ("ValueError('bins=1: too few')", 2, "hoeffding: bins=1: too few"),
        ("FileNotFoundError(2, 'No such file', 'x.csv')", 2, "x.csv"),
        (r"ValueError('\x1b[31mred')", 2, "hoeffding: ?[31mred"),
        ("KeyError('lost')", 1, "run the same command with --debug"),
    ],
)
def test_exit_codes_tell_mistakes_from_errors_of_ours(error, code, words):
    command = [sys.executable, "-c", BREAK.format(error=error), "info"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code
    assert words.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr
    shown = subprocess.run([*command, "--debug"], capture_output=True, text=True, check=False, timeout=60)
    assert shown.returncode == 1 and "Traceback" in shown.stderr


def test_the_page_on_commands_has_every_command_and_every_option_of_explain():
    import typer

    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
    group = typer.main.get_command(cli._build_app())
    assert set(re.findall(r"^\| `hoeffding (\w+)` \|", page, re.MULTILINE)) == set(group.commands)
    table = page.split("| option | meaning |")[1].split("\n\n")[0]
    shown = {option for row in table.splitlines() for option in re.findall(r"`(-[-\w]*)", row.partition(" | ")[0])}
    options = {parameter.opts[-1] for parameter in group.commands["explain"].params if parameter.name != "table"}
    assert shown == options - {"--help"}
