"""What the pages say, and that they are one safe file."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, ImagePatchClassifier
from covmetric.datasets import make_spd_classes, make_textures
from covmetric.datasets.inputs import Inputs
from covmetric.descriptors import GridPatches, ImageCovariances
from covmetric.experiments.estimates import mean_and_standard_error, paired_difference
from covmetric.experiments.fold_results import ComparisonTable
from covmetric.plotting import ImportanceDisplay
from covmetric.report import (
    comparison_page,
    evaluation_neighbors,
    evaluation_page,
    model_page,
    neighbors_record,
    read_run,
    render,
    run_page,
    runs,
    search_page,
    write_page,
)
from covmetric.report.certificate import certificate_section
from covmetric.report.content import Facts, Neighbors, Page, Section, Table
from covmetric.report.environment import environment
from covmetric.report.model_plots import model_plots
from covmetric.report.models import find_references
from covmetric.report.pictures import data_uri
from covmetric.tasks import ModelView, data_record, evaluate, origin
from tests.report.examples import CLASSES, DANGER, DATA, LABELS, TRAIN, classifier, comparison

NEW = Inputs("matrices", DATA.X[~TRAIN], np.array([f"new {DANGER} {i}" for i in range(int((~TRAIN).sum()))]))


@cache
def evaluated():
    """What `evaluate --json` prints, after a round trip through JSON."""
    view = ModelView(classifier())
    labels = np.array([*LABELS[~TRAIN][:-1], "unknown class"])
    done = evaluate(view, NEW.names, NEW.examples, labels)
    run = {
        **origin(["evaluate", DANGER]),
        "data": data_record(Path("new.npz"), "matrices", done.labels, 4, None, ()),
        "model": {"path": DANGER, **view.as_dict()},
        "parameters": view.parameters(),
        "certificate": view.certificate(),
        **done.as_dict(),
    }
    return json.dumps(run)


def evaluation():
    return json.loads(evaluated())


def make_search_page():
    view = ModelView(classifier())
    return search_page(DANGER, view, NEW, view.neighbors(NEW.examples, 3), DANGER)


#: A page of each kind.
PAGES = {
    "model": cache(lambda: model_page(classifier(), DANGER, f"covmetric report '{DANGER}'")),
    "comparison": cache(lambda: comparison_page(comparison())),
    "evaluation": cache(lambda: evaluation_page(evaluation(), ModelView(classifier()), NEW)),
    "run": cache(lambda: run_page(evaluation())),
    "search": cache(make_search_page),
}


class Elements(HTMLParser):
    """All elements with their attributes, and the text outside of scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self._skip = [], "", False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._skip = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._skip = False

    def handle_data(self, data):
        self.text += "" if self._skip else data


@pytest.fixture(params=PAGES)
def html(request):
    return render(PAGES[request.param]())


def test_names_cannot_become_elements(html):
    found = Elements(html)
    scripts = [attributes for tag, attributes in found.elements if tag == "script"]
    assert len(scripts) in (0, 2)  # the data and the script of the neighbours
    assert not any("onerror" in attributes or attributes.get("src") == "x" for _, attributes in found.elements)
    assert DANGER in " ".join(found.text.split()) or DANGER in found.text


def test_page_names_no_address_but_its_own_parts(html):
    addresses = [
        value
        for _, attributes in Elements(html).elements
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "srcset", "action", "data") and value is not None
    ]
    assert addresses and all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in html
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", html))
    (policy,) = [a["content"] for tag, a in Elements(html).elements if tag == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'")


def test_ids_are_unique_and_links_lead_somewhere(html):
    found = Elements(html).elements
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [value[1:] for _, a in found for name, value in a.items() if "href" in name and value.startswith("#")]
    assert links and set(links) <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", html)) <= set(ids)


def test_pictures_have_texts_and_the_page_has_a_language_and_headings(html):
    found = Elements(html).elements
    assert ("html", {"lang": "en"}) in found
    assert sum(tag == "h1" for tag, _ in found) == 1
    assert all("alt" in attributes for tag, attributes in found if tag == "img")
    plots = sum(tag == "svg" for tag, _ in found)
    assert plots == sum(a.get("role") == "img" and len(a["aria-label"]) > 40 for _, a in found)
    assert all(a.get("scope") in ("row", "col") for tag, a in found if tag == "th")


def test_page_without_thumbnails_is_smaller_than_500_kb():
    """With as many examples, channels and classes as a page can show."""
    rng = np.random.default_rng(0)
    A, c = rng.standard_normal((600, 16, 30)), np.arange(600) % 60
    A *= 1.0 + 0.1 * c[:, None, None]
    big = CovMetricClassifier(CovMetric("log", lam=1.0, budget=1, tol=1e-2, random_state=0))
    names = [f"folder/session {i}/a long name of a trial {i}.fif" for i in range(600)]
    big.fit(A @ A.swapaxes(1, 2), np.array([f"class {i:02}" for i in c]), names=names)
    assert len(render(model_page(big, "big", "covmetric report big.model"))) < 500_000


def section(page, title):
    (found,) = [one for one in page.sections if one.title == title]
    return found


def tables(part):
    return [one for one in part.parts if isinstance(one, Table)]


def test_comparison_has_the_paired_differences():
    run = comparison()
    table = ComparisonTable.from_dict(run)
    (shown,) = tables(section(comparison_page(run), "Accuracy"))
    rows = {row[0]: row for row in shown.rows}
    assert [float(row[1].split()[0]) for row in shown.rows] == sorted(
        (float(row[1].split()[0]) for row in shown.rows), reverse=True
    )
    best, learned = table.best_fixed, next(row for row in table.rows if row.kind == "learned")
    percent = {row.method: {key: 100 * value for key, value in row.accuracies.items()} for row in table.rows}
    expected = paired_difference(percent[learned.method], percent[best.method]).text(sign=True)
    assert rows[learned.method][2] == expected and rows[best.method][2] == ""
    assert expected in comparison_page(run).headline
    assert "standard errors" in comparison_page(run).headline


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        ([0.3, 0.31, 0.3], "above it by more than"),
        ([-0.3, -0.31, -0.3], "below it by more than"),
        ([0.3, -0.3, 0.1], "not different from it"),
    ],
)
def test_headline_of_a_comparison_claims_no_more_than_the_difference_shows(difference, words):
    run = json.loads(json.dumps(comparison()))
    for fold in range(3):
        run["rows"][0]["folds"][fold]["accuracy"] = 0.5
        run["rows"][1]["folds"][fold]["accuracy"] = 0.1
        run["rows"][2]["folds"][fold]["accuracy"] = 0.5 + difference[fold]
    assert words in comparison_page(run).headline


def test_comparison_shows_what_the_best_methods_confuse():
    run = json.loads(json.dumps(comparison()))
    table = ComparisonTable.from_dict(run)
    plots, recall = section(comparison_page(run), "Confusion").parts
    assert [plot.title for plot in plots.plots] == ["covmetric-3nn", table.best_fixed.method]
    learned = table.confusion(next(row for row in table.rows if row.kind == "learned"))
    assert recall.head[:3] == ("class", "examples", "covmetric-3nn")
    assert [row[0] for row in recall.rows] == sorted(CLASSES) and {row[1] for row in recall.rows} == {"14"}
    assert [row[2] for row in recall.rows] == [f"{100 * learned[i, i] / 14:.1f}" for i in range(3)]
    assert f"{learned.trace()} of 42 test examples of all folds" in plots.plots[0].caption


def test_comparison_shows_neighbours_with_wrong_predictions_first():
    run = json.loads(json.dumps(comparison()))
    found = ComparisonTable.from_dict(run).neighbors
    (part,) = section(comparison_page(run), "Neighbours").parts
    assert part.titles == (f"In the best fixed metric, {found.fixed}", "In the learned metric, covmetric-3nn")
    names, labels, classes = found.names, found.labels, sorted(CLASSES)
    wrong = [one for one in found.after if one.predicted != labels[str(one.example)]]
    shown = [part.items[query.item].name for query in part.queries]
    assert len(shown) == 42 and shown[: len(wrong)] == [names[str(one.example)] for one in wrong]
    first = part.queries[0]
    (before,) = [one for one in found.before if one.example == wrong[0].example]
    for side, one in ((first.before, before), (first.after, wrong[0])):
        assert [(part.items[i].name, d) for i, d in side] == [(names[str(i)], d) for i, d in one.nearest]
        assert [part.items[i].label for i, _ in side] == [classes[labels[str(i)]] for i, _ in one.nearest]
    assert first.note.startswith(f"Predicted class: {classes[wrong[0].predicted]} (covmetric-3nn), ")
    assert all(title in render(comparison_page(run)) for title in part.titles)


def test_result_of_an_earlier_version_has_a_page():
    run = json.loads(json.dumps(comparison()))
    for row in run["rows"]:
        del row["confusion"]
        for fold in row["folds"]:
            del fold["status"], fold["relative_gap"]
    del run["neighbors"], run["class_names"]
    page = comparison_page(run)
    assert "did not keep the confusion" in section(page, "Confusion").parts[0].texts[0]
    assert "holds no neighbours" in section(page, "Neighbours").parts[0].texts[0]
    assert "holds no certificates" in section(page, "Certificate").parts[0].texts[0]
    render(page)


def forge(run, *path, value):
    """Set an entry of a result."""
    for key in path[:-1]:
        run = run[key]
    run[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("rows", 2, "confusion"), [[0, 7, 1]], "has the entry .0, 7, 1."),
        (("rows", 2, "confusion"), [[0, 1]], "not enough values"),
        (("rows", 2, "confusion"), [[0, 1, -3]], "has the entry"),
        (("class_names",), ["a"], "confusion of 1 classes has shape .3, 3."),
        (("neighbors", "after", 0, "example"), 10**6, "different examples|has no name"),
        (("neighbors", "after", 0, "nearest"), [[999, 0.1]], "the example 999 among the neighbours has no name"),
        (("neighbors", "after", 0, "predicted"), -1, "there is no class -1"),
        (("neighbors", "labels"), {}, "has no name or no class"),
        (("neighbors", "before"), None, "not iterable"),
        (("neighbors",), [1], "incomplete or invalid"),
    ],
)
def test_forged_entries_of_a_comparison_are_refused(path, value, message):
    run = json.loads(json.dumps(comparison()))
    forge(run, *path, value=value)
    with pytest.raises(ValueError, match=f"incomplete or invalid.*({message})|{message}"):
        comparison_page(run)


def test_failed_methods_are_listed_with_their_reason():
    run = json.loads(json.dumps(comparison()))
    for row in run["rows"]:
        row["folds"][0] |= {"accuracy": None, "failure": "the matrices are singular"}
    page = comparison_page(run)
    assert page.headline == "Every method failed."
    assert all(row[-1] == "failed: the matrices are singular" for row in tables(section(page, "Accuracy"))[0].rows)
    render(page)


def test_evaluation_says_the_accuracy_and_lists_the_errors():
    run = evaluation()
    page = evaluation_page(run)
    wrong = [one for one in run["predictions"] if one["label"] != one["predicted"]]
    accuracy = 100 * (1 - len(wrong) / len(run["predictions"]))
    assert page.headline.startswith(f"{accuracy:.1f} percent of {len(run['predictions'])} examples")
    by_class, errors = tables(section(page, "Accuracy"))
    assert [row[0] for row in by_class.rows] == [*sorted(CLASSES), "unknown class"]
    assert [row[0] for row in errors.rows] == [one["name"] for one in wrong]
    assert [s.title for s in page.sections].count("Neighbours") == 0
    asked = PAGES["evaluation"]()
    (part,) = section(asked, "Neighbours").parts
    shown = [part.items[query.item].name for query in part.queries]
    assert set(shown[: len(wrong)]) == {one["name"] for one in wrong}  # those with a wrong prediction come first
    assert part.queries[0].note == f"Predicted class: {wrong[0]['predicted']}."


def test_result_of_an_evaluation_has_the_neighbours_of_its_page():
    run, view = evaluation(), ModelView(classifier())
    part = evaluation_neighbors(view, NEW, run["predictions"])
    run["neighbors"] = json.loads(json.dumps(neighbors_record(part)))
    (later,) = section(run_page(run), "Neighbours").parts
    (direct,) = section(PAGES["evaluation"](), "Neighbours").parts
    assert later.text == direct.text and [q.note for q in later.queries] == [q.note for q in direct.queries]
    for one, other in zip(later.queries, direct.queries, strict=True):
        for side in ("before", "after"):
            found = [[(p.items[i].name, d) for i, d in getattr(q, side)] for p, q in ((later, one), (direct, other))]
            assert found[0] == found[1] and found[0]
    assert "picture" not in json.dumps(run["neighbors"]) and len(json.dumps(run["neighbors"])) < 500_000
    for path, value in ((("queries", 0, "item"), 10**6), (("items",), None), (("queries", 0, "after"), [[0]])):
        forged = json.loads(json.dumps(run))
        forge(forged["neighbors"], *path, value=value)
        with pytest.raises(ValueError, match=r"neighbours of the evaluation|not enough values"):
            run_page(forged)


def test_model_says_how_its_settings_did_before_and_after_learning():
    learner = classifier().learner_
    page = PAGES["model"]()
    results, best = learner.cv_results_, learner.best_index_
    folds = np.stack([results[f"split{fold}_test_score"] for fold in range(3)])
    assert f"{mean_and_standard_error((100 * folds[:, best]).tolist()).text()} percent accuracy" in page.headline
    phi = results["params"][best]["phi"]
    (fixed,) = [i for i, one in enumerate(results["params"]) if one["phi"] == phi and one["lam"] == np.inf]
    difference = mean_and_standard_error((100 * (folds[:, best] - folds[:, fixed])).tolist())
    assert (f"{difference.text(sign=True)} points" in page.headline) == (results["params"][best]["lam"] != np.inf)
    assert "optimistic" in page.headline
    (candidates,) = tables(section(page, "Accuracy"))
    assert candidates.rows[0][-1] == "chosen"


def test_candidates_name_only_the_settings_that_they_have():
    search = CovMetricCV(["log"], rule=["lda", "svm"], lambdas=[np.inf], random_state=0)
    fitted = CovMetricClassifier(search, rule="auto").fit(DATA.X[TRAIN], DATA.y[TRAIN])
    (candidates,) = tables(section(model_page(fitted, "rules", "rules"), "Accuracy"))
    settings = [row[0] for row in candidates.rows]
    assert any("rule lda" in one for one in settings) and not any("None" in one for one in settings)


@pytest.mark.parametrize(("n_std_errors", "is_best"), [(0.0, True), (50.0, False)])
def test_candidates_say_why_the_chosen_one_is_not_the_best(n_std_errors, is_best):
    search = CovMetricCV(["id", "log"], lambdas=[np.inf, 1e-1], cv=3, n_std_errors=n_std_errors, random_state=0)
    fitted = CovMetricClassifier(search).fit(DATA.X, LABELS)
    scores = search.fit(DATA.X, LABELS).cv_results_["mean_test_score"]
    assert (scores[search.best_index_] == scores.max()) == is_best
    (candidates,) = tables(section(model_page(fitted, "search"), "Accuracy"))
    reason = "the first one, in the order of preference, whose mean is at most 50 standard errors of the differences"
    assert (reason in candidates.note) != is_best and ("preference" in candidates.note) != is_best


@pytest.mark.parametrize(("right", "says"), [((14, 13, 12), True), ((14, 14, 12), False), ((2, 2, 2), False)])
def test_headline_says_if_both_accuracies_are_within_their_standard_errors(right, says):
    search = CovMetricCV(["log"], lambdas=[1e-1], cv=3, rule="lda", random_state=0)
    fitted = CovMetricClassifier(search, rule="auto", random_state=0).fit(DATA.X, LABELS)
    fitted._counts = np.array([[one, 14] for one in right])
    whole, single = (float(found) for found in re.findall(r"([\d.]+) ± ", model_page(fitted, "auto").headline)[:2])
    assert whole == pytest.approx(100 * sum(right) / 42, abs=0.05) and single == pytest.approx(95.2)
    assert ("The two accuracies differ by less than a standard error" in model_page(fitted, "auto").headline) == says


def test_scores_of_distances_are_not_called_accuracy():
    data = make_spd_classes(n_classes=6, n_per_class=8, n=3, random_state=0)
    search = CovMetricCV(["log"], cv="classes", lambdas=[1e-1], random_state=0).fit(data.X, data.y)
    page = model_page(search, "spd", "covmetric report spd.npz")
    assert " percent mean average precision" in page.headline and "percent accuracy" not in page.headline
    tables = [part for section in page.sections for part in section.parts if isinstance(part, Table)]
    assert tables[0].head[1] == "mean average precision"


def test_importance_is_that_of_the_training_examples(monkeypatch):
    data = make_spd_classes(n_classes=2, n_per_class=10, n=3, random_state=0)
    model = CovMetricClassifier(CovMetric("log", random_state=0), rule="mean").fit(data.X, data.y)
    with_examples = next(plot for plot in model_plots(model, find_references(model)) if "Importance" in plot.title)
    without = next(plot for plot in model_plots(model, None) if "Importance" in plot.title)
    assert "mean squared distance between training examples" in with_examples.caption
    assert "percent of its trace" in without.caption and with_examples.svg != without.svg
    drawn = []
    monkeypatch.setattr(ImportanceDisplay, "plot", lambda self, ax: drawn.append(self.importance))
    model_plots(model, find_references(model))
    np.testing.assert_allclose(drawn, [model.metric_.importance(data.X)], rtol=1e-10)


def test_model_without_references_or_search_has_a_page():
    metric = CovMetric("log", random_state=0).fit(DATA.X, DATA.y).metric_
    page = model_page(metric, "metric", "covmetric report metric.npz")
    assert "No accuracy was measured" in page.headline
    assert "Neighbours" not in [one.title for one in page.sections]
    assert "The matrix W" in render(page)


def test_fixed_metric_has_nothing_to_certify():
    view = ModelView(CovMetricClassifier(CovMetric("log", lam=np.inf)).fit(DATA.X, DATA.y))
    assert "nothing to certify" in certificate_section(view.certificate()).parts[0].texts[0]


def test_certificate_is_in_words_with_what_it_does_not_prove():
    result = classifier().learner_.result_
    words = section(PAGES["model"](), "Certificate")
    status, proof = words.parts[0].texts
    low, high = result.certificate.distance_factor
    assert status == "SOLVED: the relative gap is proven to be within the tolerance."
    at_least, at_most, below, above = (
        float(re.search(pattern, proof)[1])
        for pattern in (r"at least (\S+):", r"at most (\S+) above", r"between (\S+) and", r"and (\S+) times")
    )
    assert at_least <= result.certificate.primal - result.certificate.bound
    assert result.certificate.bound <= at_most < 1.2 * result.certificate.bound
    assert below <= low < high <= above
    assert any("classifies new examples well" in text for text in words.parts[-1].texts)


def test_search_page_offers_the_queries_and_then_their_neighbours():
    page = PAGES["search"]()
    part = section(page, "Neighbours").parts[0]
    assert isinstance(part, Neighbors) and not part.compares
    names = [part.items[query.item].name for query in part.queries]
    assert names[: len(NEW)] == NEW.names.tolist() and len(names) > len(NEW)
    view = ModelView(classifier())
    first = view.neighbors(NEW.examples, 3)[0]
    assert [part.items[i].name for i, _ in part.queries[0].after] == [one.name for one in first]
    assert [d for _, d in part.queries[0].after] == [one.distance for one in first]


@pytest.mark.parametrize("missing", ["accuracy", "interval", "confusion", "predictions", "per_class", "certificate"])
def test_incomplete_evaluation_is_refused(missing):
    run = evaluation()
    del run[missing]
    with pytest.raises(ValueError, match="incomplete or invalid"):
        evaluation_page(run)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not JSON", "is neither a model file nor a result of evaluate --json or compare --json$"),
        ("[1, 2]", "not a result"),
        ('{"rows": [{"kind": 1}]}', "the comparison are incomplete or invalid"),
        ('{"confusion": {"classes": ["a"], "matrix": [[1, 2]]}}', "the evaluation are incomplete or invalid"),
        ("[" * 100_000, "is neither a model file nor a result"),
        ("\udcff", "is neither a model file nor a result"),
    ],
)
def test_files_that_are_no_results_are_refused(text, message, tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    with pytest.raises(ValueError, match=message):
        run_page(read_run(path))


def test_infinity_in_a_result_is_a_string():
    run = evaluation()
    run["certificate"] |= {"gap": "inf", "bound": "inf", "distance_factor": [0.0, "inf"]}
    proof = section(evaluation_page(run), "Certificate").parts[0].texts[1]
    assert "It proves nothing about single distances." in proof


def test_missing_jinja_gets_a_message_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    environment.cache_clear()
    try:
        with pytest.raises(ImportError, match=r"a report needs the package jinja2: pip install jinja2"):
            render(Page("title", "headline"))
    finally:
        environment.cache_clear()


def test_page_is_written_whatever_the_names_are(tmp_path):
    page = Page("caf\u00e9 \udcff \u2713", "headline", [Section("A & B", [])])
    written = write_page(page, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "caf\u00e9 ? \u2713" in written and 'id="a-b"' in written
    with pytest.raises(ValueError, match="there is no folder"):
        write_page(page, tmp_path / "missing" / "page.html")


def test_results_that_are_too_large_or_of_no_known_kind_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    path.write_text('{"confusion": {}}')
    monkeypatch.setattr(runs, "_MAX_BYTES", 10)
    with pytest.raises(ValueError, match=r"run\.json has 17 bytes, which is too large"):
        read_run(path)
    with pytest.raises(ValueError, match="neither an evaluation nor a comparison"):
        run_page({"accuracy": 1.0})


def test_pictures_without_pillow_name_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r"pip install pillow"):
        data_uri(np.zeros((2, 2, 3), dtype=np.uint8))


def test_page_of_patches_tells_images_from_regions():
    data = make_textures(n_classes=3, n_per_class=6, size=32)
    patches = ImagePatchClassifier(ImageCovariances(regions=GridPatches(16)), CovMetricClassifier(random_state=0))
    patches.fit(data.images, data.y)
    page = model_page(patches, "textures")
    assert page.headline.startswith("A metric was learned for 3 classes from 18 examples")
    text = " ".join(Elements(render(page)).text.split())
    facts = dict(
        row for section in page.sections for part in section.parts if isinstance(part, Facts) for row in part.rows
    )
    assert (facts["training examples"], facts["regions"]) == ("18", "72")
    assert facts["examples by class"] == "0: 6, 1: 6, 2: 6"
    assert "Of the five training regions that are nearest to a training region" in text
    assert "48 of the 72 training regions, each with the training regions that are nearest" in text
    assert "72 training examples" not in text and "examples of the same class" not in text


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        ({"rule": "mean"}, "The probabilities of class means rank"),
        ({"rule": "neighbors", "n_neighbors": 3}, "count the votes of neighbours"),
        ({"rule": "svm", "C": 1.0}, "of the support vector machine rank"),
        ({"rule": "mean", "decision": "vote"}, "means over its regions"),
        ({"rule": "mean", "decision": "nearest-set"}, None),
        ({"rule": "logistic", "C": 1.0}, None),
        ({"rule": "blend", "rules": [{"rule": "svm", "C": 1.0, "weight": 1.0}]}, None),
        ({"rule": ["mean"]}, None),
    ],
)
def test_page_says_what_probabilities_are_worth(rule, note):
    run = evaluation()
    run["model"]["rule"] = rule
    text = " ".join(Elements(render(run_page(run))).text.split())
    assert ("not calibrated" not in text) if note is None else (note in text)
    assert "not calibrated" not in render(run_page({**run, "predictions": []}))


def test_page_of_a_model_says_how_to_make_it_again(tmp_path, monkeypatch):
    model = CovMetricClassifier(CovMetric(lam=np.inf)).fit([[0.0], [1.0], [7.0], [9.0]], [0, 0, 1, 1])
    page = model_page(model, "model")
    call = "write_page(model_page(model, 'model'), 'report.html')"
    assert call in " ".join(Elements(render(page)).text.split())
    monkeypatch.chdir(tmp_path)
    exec(call, {"write_page": write_page, "model_page": model_page, "model": model})
    assert Path("report.html").read_text() == render(page)
