"""The parts of the benchmarks run, on the smallest sizes. No test asserts a time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import Bunch

from benchmarks import (
    cells,
    choices,
    descriptors,
    earlier,
    hostile,
    itml,
    mutants_of_files,
    neighbors,
    precise,
    problems,
    projection,
    recognition,
    search,
    sessions,
    solvers,
    steadiness,
)
from covmetric import CovMetricClassifier, Status, make_paper_problem, save_model, solve
from covmetric.estimators.default_search import default_search
from covmetric.experiments import methods
from covmetric.learning.splits import make_splits


def test_projection_is_timed():
    assert all(seconds > 0.0 for seconds in projection.row(5))
    ratio, every, fraction = projection.certificate_fraction(5)
    assert ratio > 0.0
    assert every >= 1
    assert 0.0 < fraction < 1.0


def test_mutants_of_files_are_counted_and_watched(tmp_path):
    watch = mutants_of_files.Watch()
    path = tmp_path / "model.npz"
    save_model(CovMetricClassifier(random_state=0).fit([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1]), path)
    result = mutants_of_files.try_mutants(path.read_bytes(), [[0.0], [6.0]], 30, 0, path, watch)
    assert result.refused + result.loaded == 30 and result.refused > 10
    assert not result.forbidden and result.growth >= 0
    assert not watch.events
    assert {"names", "svc", "CovMetricClassifier auto"} <= set(mutants_of_files.models())
    with watch.watching():
        (tmp_path / "written").write_text("")
        eval("1 + 1")
    assert {event.split()[0] for event in watch.events} == {"open", "compile", "exec"}


def test_rivals_reach_the_tolerance():
    problem = make_paper_problem(5, 10, 1e-2, 0)
    optimum = solve(problem, "newton", tol=1e-12).certificate.primal
    assert solvers.literal_seconds(problem, "perm") > 0.0
    assert solvers.lbfgs_seconds(problem, optimum) > 0.0
    assert solvers.cvxpy_seconds(problem, "CLARABEL") > 0.0


def test_growth_case_is_solved(capsys):
    solvers.main(["--case", "4", "100", "1e-2"])
    assert '"status": "SOLVED"' in capsys.readouterr().out


def test_unknown_section_is_refused():
    with pytest.raises(SystemExit, match="unknown section 'speed'"):
        solvers.main(["speed"])


def test_sessions_are_compared_on_the_same_trials(monkeypatch, capsys, tmp_path):
    """On long windows, so that there are few of them."""
    monkeypatch.setitem(sessions.DATA, "gestures, new person", lambda: sessions.gestures(True, 2500))
    task = next(sessions.DATA["gestures, new person"]())
    labelled, test = sessions.draw(task, (0, 2), 0)
    assert all(task.pool[index].all() and len(index) == 2 for index in labelled.values())
    assert task.test[test].all() and not task.source[test].any() and len(test) == np.count_nonzero(task.test)
    file = tmp_path / "sessions.json"
    command = ["gestures, new person", "--smoke", "--jobs", "1", "--json", str(file), "--pictures", str(tmp_path)]
    for _ in range(2):  # the second time, from the file
        sessions.main(command)
        printed = capsys.readouterr().out
        rows = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("| ")]
        assert {*sessions.RIVALS, *sessions.OURS, *sessions.STREAMS} <= set(rows)
    assert {path.name for path in tmp_path.glob("*.png")} == {"sessions-labels.png", "sessions-stream.png"}


def test_mdwm_has_the_best_trade_off_in_hindsight():
    rows = [
        {
            "data": "d",
            "target": target,
            "draw": draw,
            "k": 1,
            "method": f"MDWM {tradeoff}",
            "accuracy": tradeoff * (1 - tradeoff),
        }
        for target in (0, 1)
        for draw in (0, 1)
        for tradeoff in sessions.TRADEOFFS
    ]
    assert sessions.resolved(rows, "d", "MDWM", 1) == {0: 25.0, 1: 25.0}


@pytest.mark.shared
@pytest.mark.parametrize(("name", "n"), [("brodatz_like", 5), ("eth80_like", 9)])
def test_real_problems_are_solved(name, n, data_folder, monkeypatch):
    """The problems of the paper's images are solved to 1e-9 with every slack, down to lambda = 1e-6."""
    monkeypatch.setattr(problems, "_DATA", data_folder)
    embedded, labels = getattr(problems, name)()
    assert embedded.shape[1:] == (n, n)
    for slack in ("is", "l2", "re"):
        for lam in (1e-1, 1e-3, 1e-6):
            problem = problems.labelled_problem(embedded, labels, 800, lam, slack)
            assert solve(problem, "newton", tol=1e-9).status is Status.SOLVED


def test_problems_are_simulated_without_data(tmp_path, monkeypatch):
    monkeypatch.setattr(problems, "_DATA", tmp_path)
    embedded, labels = problems.eth80_like()
    assert embedded.shape == (800, 9, 9)
    assert len(np.unique(labels)) == 8


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ERing", "SSVEP"])
def test_recognition_has_all_methods(name, data_folder, monkeypatch, capsys):
    monkeypatch.setattr(problems, "_DATA", data_folder)
    rows = recognition.one_split(name, 0)
    assert [row["method"] for row in rows] == [*recognition.OURS, *recognition.RIVALS]
    assert all(0.0 < row["accuracy"] <= 1.0 for row in rows)
    recognition.print_table(rows + [{**row, "seed": 1} for row in rows], [name])
    assert "rule='auto' minus the best of pyRiemann" in capsys.readouterr().out


def test_recognition_measures_only_what_is_missing():
    rows = [{"data": "NATOPS", "seed": 0, "method": "mdm"}, {"data": "NATOPS", "seed": 1, "method": "fgmdm"}]
    rows += [{"data": "NATOPS", "seed": 0, "method": "fgmdm", "failure": "singular"}]
    tasks = recognition.missing_tasks(rows, ["NATOPS", "ERing"], 2, ["mdm", "fgmdm"])
    assert tasks == [("NATOPS", 1, ["mdm"]), ("ERing", 0, ["mdm", "fgmdm"]), ("ERing", 1, ["mdm", "fgmdm"])]


@pytest.mark.shared
def test_recognition_splits_eth80_with_five_objects_a_class(data_folder, monkeypatch):
    monkeypatch.setattr(problems, "_DATA", data_folder)
    _, y, objects, train, test = recognition.eth80_by_object(0)
    for part in (train, test):
        assert {len(np.unique(objects[part][y[part] == c])) for c in np.unique(y)} == {5}
    assert not set(objects[train]) & set(objects[test])


def test_recognition_names_the_missing_data(monkeypatch, tmp_path):
    monkeypatch.setattr(problems, "_DATA", tmp_path / "nowhere")
    with pytest.raises(SystemExit, match="set COVMETRIC_DATA to the folder"):
        recognition.main([])


def overlapping_classes(seed=0):
    embedded, labels = problems.simulated_classes(4, 60, classes=3, seed=seed)
    return embedded @ np.swapaxes(embedded, 1, 2) + np.eye(4), labels


def test_steadiness_best_score_equals_a_search_without_standard_errors():
    X, y = overlapping_classes(seed=2)
    auto, winner, choice = steadiness.fit_redrawn(X[:40], y[:40], None, 0)
    search = default_search(cv=5, n_std_errors=0.0, random_state=0).fit(X[:40], y[:40])
    assert choice == steadiness.choice(search.best_params_)
    assert choice != steadiness.choice(auto.learner_.best_params_)  # otherwise the test shows nothing
    expected = CovMetricClassifier(search.best_estimator_, **search.best_rule_).fit(X[:40], y[:40])
    assert winner.predict(X[40:]).tolist() == expected.predict(X[40:]).tolist()


def test_steadiness_tunes_rivals_on_the_folds_of_our_search(monkeypatch):
    X, y = overlapping_classes()
    search = steadiness.fit_redrawn(X, y, None, 3)[0].learner_
    splits = make_splits(5, X, y, None, search.best_estimator_.random_state)
    monkeypatch.setattr(methods, "CS", [1.0])
    rival = steadiness.fit_rival("tangent-svm", X, y, None, 3)
    assert [test.tolist() for _, test in rival.cv] == [split.test.tolist() for split in splits]


def test_steadiness_tasks_cover_seeds_and_subsamples_of_the_fixed_splits():
    assert steadiness.plan("NATOPS", n_splits=3, n_fixed=1, repeats=2) == [
        ("NATOPS", 0, 0, None),
        ("NATOPS", 4, 0, None),
        ("NATOPS", 7, 0, None),
        ("NATOPS", 0, 1, None),
        ("NATOPS", 0, 0, 0),
        ("NATOPS", 0, 0, 1),
    ]


def test_steadiness_spread_is_taken_within_splits():
    def rows(*accuracies):
        return [{"accuracy": accuracy, "choice": accuracy > 85.0} for accuracy in accuracies]

    result = steadiness.spread([rows(80.0, 82.0), rows(90.0, 90.0)])
    assert result == {"mean": 85.5, "deviation": pytest.approx(1.0), "range": 1.0, "choices": [1, 1]}


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ERing", "SSVEP"])
def test_steadiness_has_all_methods(name, data_folder, monkeypatch, capsys):
    monkeypatch.setattr(problems, "_DATA", data_folder)
    monkeypatch.setattr(methods, "CS", [1.0, 10.0])
    rows = steadiness.run(name, 0, 0, 0)
    assert [row["method"] for row in rows] == list(steadiness.METHODS)
    assert all(0.0 < row["accuracy"] <= 100.0 for row in rows)
    whole = {"subsample": None, "accuracy": 100.0}
    rows += [{**row, "subsample": 1} for row in rows]
    rows += [{**row, **whole, "split": split, "seed": row["subsample"]} for row in rows for split in (0, 1)]
    steadiness.print_table(rows, name)
    printed = capsys.readouterr().out
    assert f"{name}: accuracy in percent over 2 splits; spreads within 1 of them" in printed
    assert "| rule='auto' | 100.0 ± 0.0 | 100.0 | 0.0 | 0.0 | 1 | " in printed


def test_steadiness_trains_on_one_session_of_the_gestures(monkeypatch):
    person, session = np.array(["GM", "TL"]).repeat(4), np.array([1, 1, 2, 2] * 2)
    X, y, rounds = np.ones((8, 2, 2)), np.zeros(8), np.arange(8)
    monkeypatch.setattr(problems, "emg", lambda: Bunch(X=X, y=y, groups=rounds, person=person, session=session))
    parts = [[part.tolist() for part in steadiness.emg(seed)[3:]] for seed in range(4)]
    assert parts == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[2, 3], [0, 1]], [[6, 7], [4, 5]]]


def test_steadiness_prints_the_cost_of_the_searches(capsys):
    steadiness.print_cost(*overlapping_classes(), rounds=1)
    printed = capsys.readouterr().out
    assert "| earlier CovMetricCV() | " in printed
    assert "| rule='auto' | " in printed


def test_search_prints_a_row(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(problems, "_DATA", tmp_path / "nowhere")
    name, X, y = next(search.data(0))
    search.row(name, X[:40], y[:40], 0, (1e-2,))
    assert name in capsys.readouterr().out


def test_itml_prints_a_row(monkeypatch, capsys):
    """The prior stands in for the result of metric-learn, which is not installed."""
    from sklearn.datasets import load_iris

    answer = {"seconds": 1.0, "n_iter": 1000, "warned": False}
    monkeypatch.setattr(itml, "peer", lambda _, X, *__: (np.eye(X.shape[1]), answer))
    itml.compare(None, "iris", *load_iris(return_X_y=True), 1000)
    assert "iris" in capsys.readouterr().out
    compile(itml.PEER, "peer", "exec")


def test_neighbors_equal_those_of_pyriemann(capsys):
    neighbors.main(["--smoke"])
    printed = capsys.readouterr().out
    assert "equal those of logeuclid for 40 of 40" in printed
    assert "DIFFERENT RESULT" not in printed


def test_descriptors_print_a_table(capsys):
    descriptors.main(["--smoke"])
    assert "np.cov" in capsys.readouterr().out


def test_proofs_resume_from_their_file(tmp_path, capsys):
    """A seeded hundred of hostile problems: no violation, no false SOLVED, no negative rounding error."""
    from benchmarks import proofs

    file = tmp_path / "proofs.csv"
    proofs.main(["--seeds", "40", "--file", str(file)])
    proofs.main(["--seeds", "100", "--file", str(file)])
    printed = capsys.readouterr().out
    totals = dict(line.rsplit(maxsplit=1) for line in printed.split("100 problems")[1].strip().splitlines())
    totals = {name.strip(): int(value) for name, value in totals.items()}
    assert totals["violated"] == totals["false solved"] == totals["bad rounding"] == 0
    assert totals["solved"] >= 150 and totals["points"] >= 250
    assert len(file.read_text().splitlines()) == 101


def test_hostile_problems_are_solved_and_judged():
    rows = [hostile.check(seed, "auto") for seed in range(12)]
    assert all(row is None or (row[0] == "SOLVED" and not row[5]) for row in rows)


def test_problem_in_sixty_digits_has_the_same_optimum():
    problem = make_paper_problem(3, 6, 1e-2, 0)
    W, _ = precise.optimal_metric(problem)
    result = solve(problem, tol=1e-9)
    np.testing.assert_allclose(W.astype(float), result.W, rtol=1e-3, atol=1e-6)
    assert precise.condition(W) == pytest.approx(np.linalg.cond(result.W), rel=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a slow solver is stopped
def test_cells_time_all_solvers():
    _, problem = cells.draw(8)
    times = cells.measure(problem, at_least=0.0)
    assert set(times) == {"auto", *cells.RIVALS}
    assert times["auto"][1] == "SOLVED"


def test_choices_score_every_combination(monkeypatch):
    monkeypatch.setattr(choices, "METRICS", choices.METRICS[::8])
    accuracies = choices.one_split(choices.GESTURES, 0)
    assert len(accuracies) == len(choices.METRICS) * len(choices.RULES)
    assert all(20.0 < accuracy < 100.0 for accuracy in accuracies.values())


def test_choices_refuse_unknown_data(capsys):
    with pytest.raises(SystemExit):
        choices.main(["moons"])
    assert "unknown data set 'moons'; the data sets are NATOPS" in capsys.readouterr().err


def test_problems_are_solved_by_the_code_of_a_process(tmp_path):
    file = tmp_path / "problem.npz"
    earlier._save(file, problems.labelled_problem(*problems.simulated_classes(4, 30), 40, 1.0, "is"))
    task = {"file": str(file), "solver": "hybrid", "rounds": 2}
    single, path = (earlier.work({**task, "lambdas": lambdas}) for lambdas in ([1e-2], [1e-1, 1e-2]))
    assert single["statuses"] == ["SOLVED"] and path["statuses"] == ["SOLVED"] * 2
    assert single["seconds"] > 0.0 and path["iterations"] > 0
    assert earlier._cell({**single, "statuses": ["MAX_ITER"]}).endswith("MAX_ITER")
