"""
Recentring sessions
===================

What changes most from one recording session to the next is the mean of the covariance matrices. ``Recentre`` moves
every session to its own mean, without labels, and what was learned in some sessions then works in others.
"""

# %%
# Three days of simulated recordings with two classes. Every day, the channels mix in another way.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from covmetric import CovMetric, CovMetricClassifier, Recentre

rng = np.random.default_rng(0)
y = np.array(["rest", "move"])[np.arange(300) % 2]
day = np.repeat(["Monday", "Wednesday", "Friday"], 100)
series = rng.standard_normal((300, 5, 60))
series[y == "move", 0] *= 1.6  # only channel 0 carries class information
for name in np.unique(day):
    series[day == name] = (np.eye(5) + 0.35 * rng.standard_normal((5, 5))) @ series[day == name]
X = series @ series.transpose(0, 2, 1) / 60
old, new = day != "Friday", day == "Friday"

# %%
# Friday is new. Without recentring, the classifier knows only what Mondays and Wednesdays look like.

plain = CovMetricClassifier(CovMetric(random_state=0), rule="mean").fit(X[old], y[old], groups=day[old])
recentre = Recentre("transductive").fit(X[old], groups=day[old])
centred = recentre.transform(X, groups=day)
moved = CovMetricClassifier(CovMetric(random_state=0), rule="mean").fit(centred[old], y[old], groups=day[old])
accuracies = plain.score(X[new], y[new]), moved.score(centred[new], y[new])

# %%
# Both panels show vectors of the learned metric. The colour is the day, the marker is the class: before recentring the
# days fall apart, afterwards the classes do.

figure, panels = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
colours = {"Monday": "#0072b2", "Wednesday": "#009e73", "Friday": "#d55e00"}
for axes, model, matrices, accuracy, title in zip(
    panels, (plain, moved), (X, centred), accuracies, ("as recorded", "recentred"), strict=True
):
    plane = PCA(2).fit_transform(model.metric_.transform(matrices))
    for name, colour in colours.items():
        for label, marker in (("rest", "o"), ("move", "^")):
            chosen = (day == name) & (y == label)
            face = colour if label == "move" else "none"
            axes.scatter(
                *plane[chosen].T, s=28, marker=marker, facecolor=face, edgecolor=colour, label=f"{name}, {label}"
            )
    axes.set(title=f"{title}: {100 * accuracy:.0f} percent of Friday", xticks=[], yticks=[])
figure.legend(*panels[1].get_legend_handles_labels(), loc="outside right center", frameon=False)
plt.show()
