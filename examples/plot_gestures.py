"""
Hand gestures in the next session
=================================

Eight electrodes around the forearm record two people who make five gestures, in two sessions each. A metric is learned
from the first session of one person and tested in the second. The recordings are real, and are read from an installed
geomstats (``pip install "geomstats<3" pandas``).
"""

# %%
# One covariance matrix per second of recording. A session has six rounds of all gestures. The rounds are the groups:
# similar pairs are then taken from different rounds, so that the metric ignores what changes from one to the next.

import matplotlib.pyplot as plt
import numpy as np

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import load_emg
from covmetric.plotting import ConfusionDisplay, EmbeddingDisplay

data = load_emg()
first, second = ((data.person == "rr") & (data.session == session) for session in (1, 2))
print(data.X[first].shape, data.target_names)

# %%
# A fixed metric, and the combination of a learned metric and several rules that ``rule="auto"`` finds:

fixed = CovMetricClassifier(CovMetric("log", lam=np.inf)).fit(data.X[first], data.y[first])
learned = CovMetricClassifier(rule="auto", random_state=0)
learned.fit(data.X[first], data.y[first], groups=data.groups[first])
for name, classifier in (("log-Euclidean, 3-NN", fixed), ("rule='auto'", learned)):
    print(f"{name}: {100 * classifier.score(data.X[second], data.y[second]):.1f} percent")
print(learned.learner_.result_.certificate)

# %%
# The windows of the second session in the plane of their largest variance. The metric has not seen them.

embedding = EmbeddingDisplay.from_estimator(learned, data.X[second], data.y[second])

# %%
# Which gestures are mistaken for which:

confusion = ConfusionDisplay.from_estimator(learned, data.X[second], data.y[second])
plt.show()
