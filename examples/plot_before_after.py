"""
Before and after learning
=========================

Recordings with eight channels are compared by their covariance matrices. The power of two hidden directions depends on
the class; that of the six others changes from recording to recording and says nothing. A fixed distance counts all of
them alike.
"""

# %%
# Half of the recordings are for learning, the other half for testing.

import matplotlib.pyplot as plt
import numpy as np

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import make_spd_classes
from covmetric.plotting import EmbeddingDisplay

data = make_spd_classes(n_classes=4, n_per_class=100, n=8, n_informative=2, nuisance=1.2, samples=80, random_state=1)
names = np.array(["left hand", "right hand", "feet", "rest"])[data.y]
train, test = np.arange(400) % 2 == 0, np.arange(400) % 2 == 1
fixed = CovMetricClassifier(CovMetric("log", lam=np.inf)).fit(data.X[train], names[train])
learned = CovMetricClassifier(CovMetric("log", lam=1e-3, random_state=0)).fit(data.X[train], names[train])
for title, classifier in (("log-Euclidean distance", fixed), ("learned distance", learned)):
    print(f"{title}: {100 * classifier.score(data.X[test], names[test]):.1f} percent")

# %%
# The proof that no solver could find a better metric for these pairs, bounds and lambda:

print(learned.learner_.result_.certificate)

# %%
# The test recordings, which the metric has not seen, in the plane of their largest variance:

display = EmbeddingDisplay.from_estimator(learned, data.X[test], names[test])
display.figure_.set_size_inches(9, 4)
plt.show()
