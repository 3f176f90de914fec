"""The command `covmetric`: help, exit codes, and errors without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from covmetric.cli import COMMANDS, main
from covmetric.cli.command import Command


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def exit_code(arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return stopped.value.code


def replace_command(monkeypatch, name, run):
    summary, load = COMMANDS[name]
    monkeypatch.setitem(COMMANDS, name, (summary, lambda: Command(load().add_arguments, run)))


def test_help_lists_all_commands(capsys):
    assert exit_code(["--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for name, (summary, _) in COMMANDS.items():
        assert f"{name} {summary}" in printed


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_describes_it(name, capsys):
    assert exit_code([name, "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"usage: covmetric {name}" in printed and COMMANDS[name][0][1:] in printed


def test_version_is_printed(capsys):
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out.startswith("covmetric 0.")


def test_unknown_options_are_refused_with_the_usage_of_the_command(capsys):
    assert exit_code(["explain", "a.model", "b.npz", "--example", "6"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("usage: covmetric explain ") and "--number N" in printed
    assert printed.endswith("covmetric explain: error: unrecognized arguments: --example 6\n")


@pytest.mark.parametrize(("arguments", "message"), [(["dance"], "invalid choice: 'dance'"), ([], "required: COMMAND")])
def test_wrong_commands_are_refused(arguments, message, capsys):
    assert exit_code(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], {"numpy", "sklearn", "matplotlib", "covmetric.cli.demo"}),
        (["demo", "--help"], {"numpy", "sklearn", "matplotlib"}),
        (["compare", "--help"], {"numpy", "sklearn", "matplotlib"}),
        (["reproduce", "--help"], {"sklearn", "matplotlib", "numba"}),
    ],
)
def test_help_imports_nothing_heavy(arguments, unwanted):
    done = run_python(
        "import sys; from covmetric.cli import main\n"
        f"try: main({arguments})\n"
        "except SystemExit: pass\n"
        f"print(sorted({unwanted} & set(sys.modules)))"
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_ctrl_c_prints_stopped(monkeypatch, capsys):
    def stop(_):
        raise KeyboardInterrupt

    replace_command(monkeypatch, "demo", stop)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "\nstopped\n"


@pytest.mark.parametrize("module", ["covmetric.cli.demo", "covmetric.experiments.gestures"])
def test_ctrl_c_during_imports_prints_stopped(module, tmp_path):
    """While the subcommand is imported, and while it imports heavy modules."""
    done = run_python(
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "from covmetric.cli import main\n"
        "sys.meta_path.insert(0, Stop())\n"
        f"raise SystemExit(main(['demo', '--out', {str(tmp_path / 'demo.png')!r}]))"
    )
    assert done.returncode == 130 and done.stderr == "\nstopped\n"


@pytest.mark.parametrize("kind", [ValueError, FileNotFoundError, ImportError])
def test_errors_are_printed_in_one_line(kind, monkeypatch, capsys):
    def fail(_):
        raise kind("something is wrong")

    replace_command(monkeypatch, "demo", fail)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == "covmetric demo: something is wrong\n"


def test_closed_pipe_gives_exit_code_1():
    read, write = os.pipe()
    os.close(read)
    code = (
        "from covmetric import cli\n"
        "from covmetric.cli.command import Command\n"
        "run = lambda _: print('x' * 100_000, flush=True)\n"
        "cli.COMMANDS['demo'] = ('text', lambda: Command(lambda parser: None, run))\n"
        "raise SystemExit(cli.main(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_module_runs_the_command():
    done = subprocess.run([sys.executable, "-m", "covmetric", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("covmetric 0.")
