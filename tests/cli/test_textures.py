"""The five commands of the README, on quarters of ten Brodatz textures."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.processes import covmetric

README = (Path(__file__).parents[2] / "README.md").read_text()
TEXTURES = (1, 3, 4, 5, 6, 9, 12, 15, 16, 17)
NEW = 9


def commands():
    """Return the commands of the section on five commands."""
    section = README.partition("## Your own images, in five commands\n")[2].partition("\n## ")[0]
    return [shlex.split(line) for line in re.findall(r"^    covmetric (.*)$", section, flags=re.MULTILINE)]


@pytest.mark.shared
def test_five_commands_of_the_readme(data_folder, tmp_path):
    """Three quarters of each texture are for training. The fourth quarter of one of them is the new image."""
    Image = pytest.importorskip("PIL.Image")
    pytest.importorskip("jinja2")
    if not (data_folder / "brodatz").is_dir():
        pytest.skip("the folder of real data has no Brodatz textures")
    for number in TEXTURES:
        folder = tmp_path / "textures" / f"D{number}"
        folder.mkdir(parents=True)
        with Image.open(data_folder / "brodatz" / f"D{number}.gif") as image:
            quarters = [image.crop((x, y, x + 320, y + 320)) for y in (0, 320) for x in (0, 320)]
        for i, quarter in enumerate(quarters[:3]):
            quarter.save(folder / f"{i}.png")
        if number == NEW:
            quarters[3].save(tmp_path / "new.png")
    fit, predict, search, explain, report = (_output(*one, cwd=tmp_path) for one in commands())
    assert "Learned from 30 images of 10 classes" in fit
    assert predict.split()[:2] == ["new.png", f"D{NEW}"]
    names = re.findall(r"D\d+/\d\.png", search)
    assert len(names) == 5 and sorted(names[:3]) == [f"D{NEW}/{i}.png" for i in range(3)]
    assert f"class D{NEW} with probability" in explain and "|Ix|" in explain
    assert "report.html" in report
    for page in ("neighbours.html", "report.html"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert "data:image/" in text and not re.search(r"(?:src|href)=[\"']?https?:", text)


def _output(*arguments, cwd):
    done = covmetric(*arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
