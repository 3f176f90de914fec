"""
Learning from pairs
===================

An expert has said of some pairs of examples whether they belong together. A distance is learned from these pairs alone,
and tested on pairs of other examples.
"""

# %%
# Here the examples are the digits of scikit-learn, each described by the covariance matrix of its pixel features, and
# the expert knows the digits. Index pairs refer to ``preprocessor``, the array of all examples.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from covmetric import CovMetricPairs
from covmetric.descriptors import ImageCovariances
from covmetric.plotting import PairDistancesDisplay

digits = load_digits(n_class=6)
X = ImageCovariances(["x", "y", "I", "|Ix|", "|Iy|", "|Ixx|", "|Iyy|"]).fit_transform(digits.images[:600] * 15.0)
y = digits.target[:600]
rng = np.random.default_rng(0)
pairs = np.array([rng.choice(300, 2, replace=False) for _ in range(3000)])
same = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)

learner = CovMetricPairs("tangent", lam=1e-3, preprocessor=X, reg=1e-6).fit(pairs, same)
print(f"{np.sum(same == 1)} similar and {np.sum(same == -1)} dissimilar pairs: {learner.status_.name}")

# %%
# Pairs of the other 300 digits, which nobody has judged: how often is a similar pair closer than a dissimilar one?

others = np.array([300 + rng.choice(300, 2, replace=False) for _ in range(2000)])
truth = np.where(y[others[:, 0]] == y[others[:, 1]], 1, -1)
fixed = CovMetricPairs("tangent", lam=np.inf, preprocessor=X, reg=1e-6).fit(pairs, same)
for name, model in (("W = I", fixed), ("learned", learner)):
    print(f"{name}: {100 * model.score(others, truth):.1f} percent")

# %%
# The distances of all pairs of these digits before and after learning:

display = PairDistancesDisplay.from_estimator(learner, X[300:], y[300:], pairs="all")
plt.show()
