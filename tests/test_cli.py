"""The command line: what it prints, where it stops, and what it says when its packages are missing."""

import os
import re
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest
from typer.testing import CliRunner

from hoeffding import _kernels, cli
from hoeffding.cli import demo, info

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


def test_the_demo_fits_80_columns_and_is_plain_text_when_piped():
    done = run_in_a_process("from hoeffding.cli import main; main()", COLUMNS="80")
    assert done.returncode == 2, "without a command, the help is shown"
    done = run_in_a_process("import sys; sys.argv[1:] = ['demo']; from hoeffding.cli import main; main()", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    assert "…" not in done.stdout, "a column was cut"


def test_the_demo_prints_the_coefficients_of_both_measures():
    output = run("demo").output
    dependent, uniform = demo.demo_results()
    for name in ("rain", "traffic × roadworks"):
        subset = name.split(" × ")
        row = next(line for line in output.splitlines() if re.match(rf"\s*{name} +-?\d", line))
        assert f"{dependent.coefficient(subset):.3f}" in row
        assert f"{uniform.coefficient(subset):.3f}" in row


def test_the_shares_that_the_demo_prints_sum_to_one():
    shares = [float(s) for s in re.findall(r"(-?[\d.]+) %\s*$", run("demo").output, re.MULTILINE)]
    assert len(shares) == 5
    assert sum(shares) == pytest.approx(100, abs=5 * 0.05 + 1e-9)  # each is rounded to 0.1


def test_what_the_demo_says_about_umbrellas_is_true():
    dependent, _ = demo.demo_results()
    with_umbrellas = [j for j, s in enumerate(dependent.subsets) if 3 in s]
    assert np.abs(dependent.coefficients[with_umbrellas]).max() < 1e-14
    assert not demo._used(dependent)[with_umbrellas].any()
    x = dependent.measure.sample(100_000, rng=0)
    assert demo._correlation(dependent.measure, 0, 3) == pytest.approx(np.corrcoef(x[:, 0], x[:, 3])[0, 1], abs=0.02)
    assert "correlation 0.71" in run("demo").output


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


@pytest.mark.parametrize("command", [[], ["demo"], ["info"]])
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
        "import sys; sys.argv[1:] = ['demo']\n"
        "from hoeffding import cli\n"
        "from hoeffding.cli import demo\n"
        "def interrupt(): raise KeyboardInterrupt\n"
        "demo.demo_results = interrupt\n"
        "sys.exit(cli.main())"
    )
    done = run_in_a_process(code)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_a_terminal_that_cannot_show_a_sign_is_no_error():
    code = "import sys; sys.argv[1:] = ['demo']; from hoeffding.cli import main; main()"
    done = run_in_a_process(code, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "rain ? traffic" in done.stdout


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
from hoeffding.cli import demo
def fail(): raise {error}
demo.demo_results = fail
sys.argv[0] = 'hoeffding'
sys.exit(cli.main())
"""


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        ("ValueError('bins=1: too few')", 2, "hoeffding: bins=1: too few"),
        ("FileNotFoundError(2, 'No such file', 'x.csv')", 2, "x.csv"),
        ("KeyError('lost')", 1, "run the same command with --debug"),
    ],
)
def test_exit_codes_tell_mistakes_from_errors_of_ours(error, code, words):
    command = [sys.executable, "-c", BREAK.format(error=error), "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code
    assert words.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr
    shown = subprocess.run([*command, "--debug"], capture_output=True, text=True, check=False, timeout=60)
    assert shown.returncode == 1 and "Traceback" in shown.stderr
