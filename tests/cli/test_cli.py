"""The command: what it prints, how it fails."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from covmetric.cli import COMMANDS, main


def test_help_and_version(capsys):
    for arguments in (["--help"], ["demo", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in COMMANDS)
    with pytest.raises(SystemExit) as stopped:
        main(["dance"])
    assert stopped.value.code == 2
    assert "invalid choice: 'dance'" in capsys.readouterr().err


def test_only_what_is_asked_for_is_loaded():
    code = (
        "import sys; from covmetric.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print('numpy' in sys.modules, 'sklearn' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "False False"


def test_demo(tmp_path, capsys):
    assert main(["demo", "--window", "2000", "--out", str(tmp_path / "demo.png")]) == 0
    printed = capsys.readouterr().out
    assert "CovMetricCV" in printed and "MDM, riemann" in printed and "SOLVED" in printed
    assert "every squared distance is between" in printed
    assert (tmp_path / "demo.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["demo", "--window", "2000", "--out", str(tmp_path / "demo.svg"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["rows"]) == 18 and set(result["people"]) == {"mg", "rr"}
    assert result["picture"].endswith("demo.svg")


def test_failures_are_told_without_a_traceback(tmp_path, capsys, monkeypatch):
    wrong_pictures = {"no/demo.png": "there is no folder", "demo.xyz": "must be a file", "": "must be a file"}
    for out, message in wrong_pictures.items():
        assert main(["demo", "--out", str(tmp_path / out)]) == 2
        told = capsys.readouterr().err
        assert "covmetric demo: --out: " in told and message in told
    for wrong in (["--window", "99"], ["--window", "many"], ["--jobs", "0"], ["--seed", "-1"]):
        with pytest.raises(SystemExit):
            main(["demo", *wrong])
        assert "is not an integer >=" in capsys.readouterr().err
    assert main(["demo", "--json", "--window", "100000", "--out", str(tmp_path / "demo.png")]) == 2
    assert "fewer than a window of 100000" in capsys.readouterr().err
    monkeypatch.setattr("covmetric.datasets.emg.find_spec", lambda _: None)
    assert main(["demo", "--json", "--out", str(tmp_path / "demo.png")]) == 2
    assert 'pip install "covmetric[demo]"' in capsys.readouterr().err


def test_ctrl_c(monkeypatch, capsys, tmp_path):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("covmetric.cli.demo.gestures", stop)
    assert main(["demo", "--json", "--out", str(tmp_path / "demo.png")]) == 130
    assert "stopped" in capsys.readouterr().err
