"""
What lambda does
================

Lambda says how much the prior counts. At infinity W is the prior. As lambda falls, W follows the pairs: directions that
separate the classes get weight, directions in which similar examples differ lose it.
"""

# %%
# Classes that differ in the power of two hidden directions of eight. The path of lambda is solved from the largest to
# the smallest, each from the solution before.

import matplotlib.pyplot as plt
import numpy as np

from covmetric import CovMetric, CovMetricClassifier
from covmetric.datasets import make_spd_classes
from covmetric.plotting import MetricMatrixDisplay

data = make_spd_classes(n_classes=4, n_per_class=60, n=8, n_informative=2, nuisance=1.0, samples=60, random_state=1)
train, test = np.arange(240) % 2 == 0, np.arange(240) % 2 == 1
lambdas = np.logspace(1, -5, 13)

weights, accuracies = [], []
for lam in lambdas:
    learner = CovMetric("log", lam=lam, random_state=0).fit(data.X[train], data.y[train])
    weights.append(np.linalg.eigvalsh(learner.W_)[::-1] / np.trace(learner.W_))
    classifier = CovMetricClassifier(learner).fit(data.X[train], data.y[train])
    accuracies.append(classifier.score(data.X[test], data.y[test]))
fixed = CovMetricClassifier(CovMetric("log", lam=np.inf)).fit(data.X[train], data.y[train])

# %%
# The eigenvalues of W, as parts of its trace, and the accuracy of three neighbours on the test half:

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 6.5), sharex=True, layout="constrained")
above.stackplot(lambdas, np.transpose(weights), colors=plt.get_cmap("viridis")(np.linspace(0.1, 0.95, 8)))
above.set(xscale="log", ylabel="eigenvalues of W / tr W", ylim=(0, 1), title="two of eight directions remain")
below.plot(lambdas, 100 * np.array(accuracies), "o-", color="#d55e00", label="learned")
below.axhline(100 * fixed.score(data.X[test], data.y[test]), color="0.4", ls="--", label="W = I")
below.set(xlabel="lambda", ylabel="accuracy, percent")
below.invert_xaxis()
below.legend(frameon=False)

# %%
# W at the default, lambda = 1e-2. The two directions are mixtures of all channels:

learner = CovMetric("log", random_state=0).fit(data.X[train], data.y[train])
matrix = MetricMatrixDisplay.from_estimator(learner)
plt.show()
