"""The benchmark of scale runs, on the smallest sizes."""

from __future__ import annotations

import pytest

from benchmarks import scale


def test_extraction_is_bounded_and_equal(capsys):
    pytest.importorskip("distributed", reason='Dask is not installed: pip install "covmetric[dask]"')
    scale.main(["extraction", "--images", "6", "--size", "30", "40", "--block", "2"])
    output = capsys.readouterr().out
    assert "6 of 30 x 40 pixels" in output
    assert "bits of one process  equal (6 images compared)" in output


def test_unknown_sections_are_refused(capsys):
    with pytest.raises(SystemExit):
        scale.main(["nothing"])
    assert "invalid choice: 'nothing' (choose from" in capsys.readouterr().err
