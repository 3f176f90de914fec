"""What a result says about its origin."""

from __future__ import annotations

from importlib import metadata

from covmetric.tasks import records


def test_packages_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(records, "_PACKAGES", ("numpy", "covmetric-no-such-package", "scipy"))
    versions = records.package_versions()
    assert set(versions) == {"python", "covmetric", "numpy", "scipy"}
    assert versions["scipy"] == metadata.version("scipy")
