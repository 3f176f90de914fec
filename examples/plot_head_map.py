"""
Patterns of a learned metric on the head
========================================

A metric is learned from simulated EEG trials of two imagined movements, and its patterns are drawn at the positions of
the channels. The example needs MNE 1.11 or newer, the first version with ``mne.decoding.SpatialFilter``.
"""

# %%
# Simulated trials
# ----------------
# Imagining a movement of one hand weakens the rhythm of the motor cortex on the opposite side. Each trial has a rhythm
# below C3 and one below C4, a strong rhythm at the back of the head that says nothing about the class, and noise. A
# source reaches a channel with a weight that falls with its distance, so that every channel records all sources.

import matplotlib.pyplot as plt
import mne
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier
from covmetric.descriptors import SeriesCovariances
from covmetric.plotting import EmbeddingDisplay, ImportanceDisplay, PatternsDisplay

montage = mne.channels.make_standard_montage("biosemi32")
info = mne.create_info(montage.ch_names, 128.0, "eeg").set_montage(montage)
positions = np.array([montage.get_positions()["ch_pos"][name] for name in info.ch_names])
sources = positions[[info.ch_names.index(name) for name in ("C3", "C4", "Oz")]]
weights = np.exp(-(np.linalg.norm(positions[:, None] - sources, axis=2) ** 2) / (2 * 0.04**2))

rng = np.random.default_rng(0)
y = np.repeat(["left hand", "right hand"], 60)
strength = np.where(y[:, None] == "right hand", [0.6, 1.2], [1.2, 0.6])  # of the rhythms below C3 and C4
strength = np.column_stack([strength, np.full(len(y), 3.0)]) * rng.lognormal(0.0, 0.3, (len(y), 3))
rhythms = strength[:, :, None] * rng.standard_normal((len(y), 3, 256))
X = 1e-5 * (weights @ rhythms + 0.5 * rng.standard_normal((len(y), 32, 256)))  # in volts

# %%
# A metric that weighs what matters
# ---------------------------------
# The largest variance is at the back of the head. After learning, the distance depends mostly on the motor cortex.

model = make_pipeline(SeriesCovariances(), CovMetricClassifier(CovMetric("relog", random_state=0), rule="mean"))
accuracies = cross_val_score(model, X, y, cv=5)
print(f"accuracy: {100 * accuracies.mean():.1f} percent in 5 folds")
model.fit(X, y)
print(model[-1].metric_.patterns(info.ch_names))

# %%
# Maps of the head
# ----------------
# A pattern says how a direction that counts in the distance appears in the channels. The importance of a channel is its
# part of the mean squared distance between the trials.

patterns = PatternsDisplay.from_estimator(model, n_patterns=4, info=info)
importance = ImportanceDisplay.from_estimator(model, X, info=info)

# %%
# The patterns themselves are an ``mne.decoding.SpatialFilter``, with all of MNE's plots.

spatial_filter = model[-1].metric_.patterns(info.ch_names).to_mne(info)
scree = spatial_filter.plot_scree(show=False)

# %%
# The trials before and after learning
# ------------------------------------

embedding = EmbeddingDisplay.from_estimator(model, X, y)
plt.show()
