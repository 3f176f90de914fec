"""Neighbours before and after learning, against distances that are computed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric._utils.turns import choose_in_turn
from covmetric.estimators.references import References
from covmetric.report.models import find_references
from covmetric.report.neighbors import LabelledExamples, neighbors_part, same_class_rates
from tests.report.examples import DATA, LABELS, TRAIN, classifier


def naive_neighbors(distance, query, references, k, own=None):
    """The k nearest references by sorting all distances."""
    distances = [(distance(query, one), i) for i, one in enumerate(references) if i != own]
    return [i for _, i in sorted(distances)[:k]], [d for d, _ in sorted(distances)[:k]]


@pytest.mark.parametrize("own", [True, False], ids=["references", "new examples"])
def test_neighbours_are_the_nearest_references(own):
    fitted = classifier()
    metric, references = fitted.metric_, find_references(fitted)
    X = DATA.X[TRAIN] if own else DATA.X[~TRAIN]
    labels = (LABELS[TRAIN] if own else LABELS[~TRAIN]).tolist()
    queries = None if own else LabelledExamples(metric.embedding.transform(X), labels, [str(i) for i in range(len(X))])
    part = neighbors_part(metric, references, queries, k=4)
    order = choose_in_turn(labels, 48)
    assert len(part.queries) == len(order) == len(X)

    def euclidean(one, other):
        return float(np.linalg.norm(metric.embedding.transform(one) - metric.embedding.transform(other)))

    for q in (0, 5):
        query, i = part.queries[q], int(order[q])
        for found, distance in ((query.before, euclidean), (query.after, metric.distance)):
            near, distances = naive_neighbors(distance, X[i], DATA.X[TRAIN], 4, i if own else None)
            assert [part.items[j].name for j, _ in found] == [references.names[j] for j in near]
            np.testing.assert_allclose([d for _, d in found], distances, rtol=1e-6, atol=1e-9)


def test_same_class_rates_count_the_neighbours_of_each_reference():
    fitted = classifier()
    references = find_references(fitted)
    before, after = same_class_rates(fitted.metric_, references, k=3)
    distances = fitted.metric_.pairwise(DATA.X[TRAIN])
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :3]
    assert after == pytest.approx(np.mean(LABELS[TRAIN][near] == LABELS[TRAIN][:, None]))
    assert 0.0 <= before <= 1.0 and before != after


def test_names_are_those_that_the_commands_print():
    def shown(*names):
        references = References(np.arange(2), np.zeros((2, 1, 1)), np.array(names) if names else None, None)
        return LabelledExamples.of_references(references).names

    assert shown("/data/set/a/1.png", "/data/set/b/1.png") == ["/data/set/a/1.png", "/data/set/b/1.png"]
    assert shown("a", "") == ["a", "example 1"]
    assert shown() == ["example 0", "example 1"]
