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
from covmetric.plotting import ImportanceDisplay, PatternsDisplay

montage = mne.channels.make_standard_montage("biosemi32")
info = mne.create_info(montage.ch_names, 128.0, "eeg").set_montage(montage)
positions = np.array([montage.get_positions()["ch_pos"][name] for name in info.ch_names])
sources = positions[[info.ch_names.index(name) for name in ("C3", "C4", "Oz")]]
distances = np.linalg.norm(positions[:, None] - sources, axis=2)  # in metres
weights = np.exp(-(distances**2) / (2 * 0.04**2))

rng = np.random.default_rng(0)
y = np.repeat(["left hand", "right hand"], 60)
# The strengths of the rhythms below C3 and C4, and of that at the back of the head:
strength = np.where(y[:, None] == "right hand", [0.6, 1.2, 3.0], [1.2, 0.6, 3.0])
strength *= rng.lognormal(0.0, 0.3, strength.shape)
rhythms = strength[:, :, None] * rng.standard_normal((len(y), 3, 256))
X = 1e-5 * (weights @ rhythms + 0.5 * rng.standard_normal((len(y), 32, 256)))  # in volts

# %%
# A metric that weighs what matters
# ---------------------------------
# The importance of a channel is its part of the mean squared distance between the trials. A source has its largest
# weights on the channel above it and on the four around that, so that three groups of five channels stand for the three
# sources. Learning raises the importance of the two groups over the motor cortex, which have more than half of it then,
# and halves that of the back of the head.

groups = dict(zip(("C3", "C4", "Oz"), weights.T > 0.3, strict=True))
learner = CovMetric("relog", random_state=0)
fixed = CovMetric("relog", lam=np.inf)  # W = I
for name, metric in {"W = I": fixed, "learned W": learner}.items():
    model = make_pipeline(SeriesCovariances(), CovMetricClassifier(metric, rule="mean"))
    model.fit(X, y)
    percent = 100 * model[-1].metric_.importance(model[:-1].transform(X))
    around = [f"{percent[near].sum():.0f} around {place}" for place, near in groups.items()]
    print(f"{name}: importance in percent: {', '.join(around)}")
    accuracies = cross_val_score(model, X, y, cv=5)
    print(f"    accuracy: {100 * accuracies.mean():.1f} percent in 5 folds")

# %%
# By the class means, W = I is as accurate here (the accuracies differ by two of 120 trials), but the learned metric
# says where the classes differ. Its first two patterns have their largest entries at C4 and C3. With W = I, each of the
# 32 patterns has 3.1 percent of tr W; after learning, these two have 13.7 and 6.3 percent, and the others at most 3.4.

print(model[-1].metric_.patterns(info.ch_names))

# %%
# Maps of the head
# ----------------
# A pattern says how a direction that counts in the distance appears in the channels. The first two are the rhythms
# below C4 and C3. The third and the fourth are little more than noise, as their shares of tr W say.

patterns = PatternsDisplay.from_estimator(model, n_patterns=4, info=info)

# %%
# The importance of the channels has its peaks at C3 and C4 too.

importance = ImportanceDisplay.from_estimator(model, X, info=info)

# %%
# The patterns themselves are an ``mne.decoding.SpatialFilter``, with all of MNE's plots.

spatial_filter = model[-1].metric_.patterns(info.ch_names).to_mne(info)
scree = spatial_filter.plot_scree(show=False)
plt.show()
