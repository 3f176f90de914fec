from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _no_open_figures():
    """Close the figures of pyplot after each test; matplotlib warns if there are more than twenty."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
