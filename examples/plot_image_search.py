"""
Similar images
==============

Textures are described by the covariance matrix of their pixel features. A metric is learned from some of them, and the
nearest ones to new images are shown, in a fixed and in the learned metric.
"""

# %%
# Simulated textures, each class with its own direction, wavelength and bandwidth, under strong noise. A folder of your
# own images works in the same way: pass their paths instead of arrays.

import matplotlib.pyplot as plt
import numpy as np

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV
from covmetric.datasets import make_textures
from covmetric.descriptors import ImageCovariances, make_thumbnail
from covmetric.plotting import RetrievalDisplay

data = make_textures(n_classes=12, n_per_class=16, noise=0.6, random_state=3)
X = ImageCovariances("grey").fit_transform(data.images)
new = np.arange(len(X)) % 16 < 4
print(f"{np.sum(~new)} known images of {len(set(data.y))} textures, {np.sum(new)} new ones")

# %%
# The accuracy of five neighbours in both metrics:

fixed = CovMetricClassifier(CovMetric("log", lam=np.inf), n_neighbors=5).fit(X[~new], data.y[~new])
learned = CovMetricClassifier(CovMetricCV(random_state=0), n_neighbors=5).fit(X[~new], data.y[~new])
for name, classifier in (("log-Euclidean", fixed), ("learned", learned)):
    print(f"{name}: {100 * classifier.score(X[new], data.y[new]):.1f} percent")

# %%
# Queries are on the left, their five nearest known images on the right. The frames say which have the class of the
# query. First in the fixed metric, then in the learned one:

thumbnails = [make_thumbnail(image) for image in data.images]
known = [thumbnails[i] for i in np.flatnonzero(~new)]
queries = np.flatnonzero(new & (fixed.predict(X) != data.y))[:4]
asked = [thumbnails[i] for i in queries]
before = RetrievalDisplay.from_estimator(
    fixed, X[queries], asked, known, y=data.y[queries], reference_labels=data.y[~new]
)

# %%

after = RetrievalDisplay.from_estimator(
    learned, X[queries], asked, known, y=data.y[queries], reference_labels=data.y[~new]
)
plt.show()
