"""A solve that was interrupted resumes from its file, with the bits of a solve that was not."""

from __future__ import annotations

import io
import json
import pickletools
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covmetric import CovMetric, Newton, Status, save_model, solve
from covmetric.constraints import RandomPairRecipe
from covmetric.model_file.archive import read_archive, write_archive
from covmetric.problem import BlockProblem
from covmetric.problem.blocks import GivenMultipliers, KeyedMatrix, MetricMultipliers, sources
from covmetric.solvers import checkpoint
from covmetric.solvers.base import StepFailed, StepStalled
from covmetric.solvers.blocks import BlockNewton, StepMultipliers
from covmetric.solvers.blocks import solver as block_solver
from covmetric.solvers.registry import runs_in_blocks, splitting_pays
from tests.data import two_classes
from tests.problems import SLACKS
from tests.solvers.blocks.test_solver import random_problem

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "solve.checkpoint"


def quiet(*arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(*arguments, **settings)


def assert_same(found, expected):
    """All but the times is the same, to the last bit."""
    assert (found.status, found.n_iter) == (expected.status, expected.n_iter)
    assert found.certificate == expected.certificate
    for name in ("core", "multipliers", "slacks"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    for name in ("n_iter", "projections", "primal", "dual", "gap", "phase"):
        np.testing.assert_array_equal(getattr(found.history, name), getattr(expected.history, name), err_msg=name)
    assert (np.diff(found.history.seconds) >= 0.0).all()


def problems():
    """Return problems whose solves take many steps, along a path of weights, with long and with short steps."""
    yield from ((slack, random_problem(slack, 4, 4, lam=1e-5)) for slack in SLACKS)
    yield "thin", random_problem("is", 7, 1, lam=1e-6, seed=1)
    yield "odd", random_problem("re", 9, 3, lam=1e-4, seed=3)


PROBLEMS = dict(problems())


@pytest.mark.parametrize("spacing", [1, 0, 3], ids=["matrix", "conjugate gradients", "sample"])
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_resumed_after_every_step(name, spacing, path, monkeypatch):
    """The solve is stopped by its limit after each single step, and resumed by another call."""
    monkeypatch.setattr(block_solver, "matrix_spacing", lambda *_: spacing)
    problem = PROBLEMS[name]
    expected = solve(problem, "newton", tol=1e-9)
    limits = range(1, expected.n_iter)
    # A solve that ends at its limit is certified there, which may prove the last step unnecessary.
    too_few = [n for n in limits if quiet(problem, "newton", tol=1e-9, max_iter=n).status is Status.MAX_ITER]
    assert len(too_few) > 5
    for steps in too_few:
        part = quiet(problem, "newton", tol=1e-9, checkpoint=path, max_iter=steps)
        assert (part.status, part.n_iter) == (Status.MAX_ITER, steps)
        assert path.exists()
    assert_same(solve(problem, "newton", tol=1e-9, checkpoint=path), expected)
    assert not path.exists(), "removed when solved"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_resumed_after_the_callback_stopped(n_jobs, path):
    problem = PROBLEMS["is"]
    expected = solve(problem, "newton", tol=1e-9, callback=lambda _: False)
    seen = []
    for stop_at in expected.history.n_iter[1:-1].tolist():
        part = quiet(
            problem, "newton", tol=1e-9, checkpoint=path, n_jobs=n_jobs,
            callback=lambda state, stop_at=stop_at: seen.append(state.n_iter) or state.n_iter >= stop_at,
        )  # fmt: skip
        assert part.status is Status.INTERRUPTED
    assert seen
    assert_same(solve(problem, "newton", tol=1e-9, checkpoint=path), expected)


def test_resumed_after_a_crash(path, monkeypatch):
    """Whatever ends a step, the file holds the step before it."""
    problem = PROBLEMS["l2"]
    expected = solve(problem, "newton", tol=1e-9)
    step, count = BlockNewton.step, []

    def crashing(self, problem, state):
        count.append(1)
        if len(count) % 3 == 0:
            state.C[:] = np.nan  # the state of a step that is not complete
            raise MemoryError
        step(self, problem, state)

    with monkeypatch.context() as patch:
        patch.setattr(BlockNewton, "step", crashing)
        for _ in range(2):
            with pytest.raises(MemoryError):
                solve(problem, "newton", tol=1e-9, checkpoint=path)
    assert_same(solve(problem, "newton", tol=1e-9, checkpoint=path), expected)


def test_interrupted_writing_leaves_the_last_file(path, monkeypatch):
    problem = PROBLEMS["l2"]
    quiet(problem, tol=1e-9, checkpoint=path, max_iter=2)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("covmetric.model_file.archive._write_members", full)
        with pytest.raises(OSError, match="no space left"):
            solve(problem, tol=1e-9, checkpoint=path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path], "no drafts are left"
    assert_same(solve(problem, tol=1e-9, checkpoint=path), solve(problem, tol=1e-9))


def test_recipes_resume(path):
    y = np.arange(20) % 3
    embedded = np.random.default_rng(0).standard_normal((20, 3, 3)) + y[:, None, None]
    problem = BlockProblem.from_recipe(embedded, RandomPairRecipe(y, 100), (5.0, 30.0), 100.0)
    expected = solve(problem, tol=1e-9)
    quiet(problem, tol=1e-9, checkpoint=path, max_iter=expected.n_iter // 2)
    other = BlockProblem.from_recipe(embedded, RandomPairRecipe(y, 100, seed=1), (5.0, 30.0), 100.0)
    with pytest.raises(ValueError, match="another problem"):
        solve(other, tol=1e-9, checkpoint=path)
    assert_same(solve(problem, tol=1e-9, checkpoint=path), expected)


@pytest.mark.parametrize("kind", ["result", "multipliers"])
def test_warm_starts_resume(kind, path):
    problem = random_problem("is", lam=1e-3)
    start = solve(problem, tol=1e-3)
    near = problem.replace(weights=5.0 * problem.weights)
    start = start if kind == "result" else 0.9 * start.multipliers
    expected = solve(near, tol=1e-10, warm_start=start)
    assert expected.n_iter >= 2
    for steps in range(1, expected.n_iter):
        quiet(near, tol=1e-10, warm_start=start, checkpoint=path, max_iter=steps)
    assert_same(solve(near, tol=1e-10, warm_start=start, checkpoint=path), expected)


def test_small_problems_are_solved_in_blocks_too(path):
    problem = random_problem(K=10)
    result = quiet(problem, checkpoint=path, max_iter=1, tol=1e-12)
    assert path.exists()
    assert solve(problem, checkpoint=path, tol=1e-12).n_iter > result.n_iter


@pytest.mark.parametrize("reason", [StepStalled, StepFailed])
def test_file_of_a_solve_that_ends_in_its_last_step(reason, path, monkeypatch):
    """If the step fails because the optimum has been reached, the problem is solved, and the file is removed."""
    problem = PROBLEMS["l2"]
    step, limit = BlockNewton.step, solve(problem, tol=1e-9).n_iter

    def failing(self, problem, state):
        if state.n_steps >= limit:
            raise reason
        step(self, problem, state)

    monkeypatch.setattr(BlockNewton, "step", failing)
    monkeypatch.setattr(BlockNewton, "due", lambda *_: False)
    result = solve(problem, tol=1e-6, checkpoint=path)
    assert (result.status, path.exists()) == (Status.SOLVED, False)
    limit = 2
    result = quiet(problem, tol=1e-9, checkpoint=path)
    assert result.status is not Status.SOLVED
    assert path.exists()


def test_multipliers_keep_their_scale():
    W, change = KeyedMatrix.of(np.eye(3)), KeyedMatrix.of(0.1 * np.eye(3))
    moved = W.moved(0.5, change, 1.05 * np.eye(3))
    for multipliers in (
        StepMultipliers(W=moved, change=change),
        StepMultipliers(W=moved),
        MetricMultipliers(W=np.eye(3)),
        GivenMultipliers(values=np.ones(60)),
    ):
        arrays = {}
        description = checkpoint._describe("x", 0.5 * multipliers, arrays)
        again = checkpoint._restore("x", description, arrays, (3, 3), 60)
        assert (type(again), again.theta) == (type(multipliers), 0.5)
        if isinstance(multipliers, StepMultipliers):
            assert again.W.key == moved.key
            assert (again.change is None) is (multipliers.change is None)


# --- Files that cannot be resumed -------------------------------------------------------------------------------------


@pytest.fixture
def saved(path):
    """A problem, and the file of its solve after six steps."""
    problem = PROBLEMS["is"]
    quiet(problem, "newton", tol=1e-9, checkpoint=path, max_iter=6)
    return problem, path


def refuses(saved, message, **settings):
    problem, path = saved
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"checkpoint .*solve\.checkpoint cannot be resumed: .*{message}.*remove the"):
        solve(problem, "newton", **{"tol": 1e-9, "checkpoint": path, **settings})
    assert path.read_bytes() == before, "a file that is not ours is left alone"


def test_other_problems_and_tolerances(saved):
    problem, path = saved
    refuses(saved, "it belongs to another problem or tolerance", tol=1e-8)
    for other in (
        problem.replace(bounds=np.nextafter(problem.bounds, np.inf)),
        problem.replace(weights=2.0 * problem.weights),
        problem.replace(keep=np.arange(59)),
        random_problem("l2", 4, 4, lam=1e-5),
        random_problem("is", 4, 4, lam=1e-5, seed=1),
        random_problem("is", 5, 4, lam=1e-5),
    ):
        refuses((other, path), "it belongs to another problem or tolerance")


@pytest.mark.parametrize("size", [0, 1, 100, 0.5, -1])
def test_truncated_files(saved, size):
    data = saved[1].read_bytes()
    saved[1].write_bytes(data[: int(size * len(data)) if 0 < size < 1 else size])
    refuses(saved, "")


def test_flipped_bits(saved):
    data = bytearray(saved[1].read_bytes())
    for position in range(40, len(data), len(data) // 25):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        saved[1].write_bytes(damaged)
        try:
            outcome = solve(saved[0], "newton", tol=1e-9, checkpoint=saved[1]).status.name
        except ValueError as error:
            outcome = str(error)
        # Nobody reads some of the bits, such as those of a date.
        assert outcome == "SOLVED" or "cannot be resumed" in outcome


def test_other_files(saved):
    saved[1].write_text("not a checkpoint")
    refuses(saved, "")
    X, y = two_classes()
    save_model(CovMetric().fit(X, y).metric_, saved[1])
    refuses(saved, "it holds a model")
    with zipfile.ZipFile(saved[1], "w") as archive:
        archive.writestr("data.pkl", b"cos\nsystem\n(S'false'\ntR.")
    refuses(saved, "")


def test_there_is_no_pickle_in_the_file(saved):
    with zipfile.ZipFile(saved[1]) as archive:
        names = archive.namelist()
        assert {name.rpartition(".")[2] for name in names} == {"json", "npy"}
        for name in names:
            data = archive.read(name)
            if name.endswith(".npy"):
                assert np.load(io.BytesIO(data), allow_pickle=False).dtype.kind in "fi"
            with pytest.raises((ValueError, IndexError)):
                pickletools.dis(data, out=io.StringIO())
    # What is saved does not grow with the number of pairs.
    assert not any(60 in array.shape for array in read_archive(saved[1])[1].values())


def forge(path, change):
    """Write a file of the right form with other contents."""
    manifest, arrays = read_archive(path)
    change(manifest["model"], arrays)
    write_archive(path, {"class": manifest["class"], "model": manifest["model"]}, arrays, lambda _: None)


def setting(name, value):
    def change(model, arrays):
        (model if name in model else arrays)[name] = value

    return change


def reshaped(name, *shape):
    def change(model, arrays):
        arrays[name] = np.ones(shape)

    return change


def without(name):
    def change(model, arrays):
        del (model if name in model else arrays)[name]

    return change


def scaled(name, factor):
    def change(model, arrays):
        with np.errstate(invalid="ignore"):
            arrays[name] = factor * arrays[name]

    return change


HOSTILE = {
    "C of another size": reshaped("C", 3, 3),
    "C of one dimension": reshaped("C", 16),
    "C is huge": reshaped("C", 300, 300),
    "C is not triangular": reshaped("C", 4, 4),
    "C is negative": scaled("C", -1.0),
    "C is not finite": scaled("C", np.inf),
    "C of text": setting("C", np.full((4, 4), "1.0")),
    "C of integers": setting("C", np.eye(4, dtype=np.int64)),
    "no C": without("C"),
    "metrics of another size": reshaped("metrics", 1, 5, 5),
    "no metrics": reshaped("metrics", 0, 4, 4),
    "too many metrics": reshaped("metrics", 30, 4, 4),
    "flat metrics": reshaped("metrics", 4, 4),
    "changes without lengths": reshaped("lengths", 0),
    "lengths of two dimensions": reshaped("lengths", 1, 1),
    "too few numbers": reshaped("numbers", 3),
    "numbers of two dimensions": reshaped("numbers", 4, 1),
    "a fraction above 1": scaled("numbers", 1e9),
    "a negative fraction": scaled("numbers", -1.0),
    "numbers that are not": setting("numbers", np.full(4, np.nan)),
    "counts of floats": reshaped("counts", 6),
    "too many counts": setting("counts", np.ones(7, dtype=np.int64)),
    "no history": reshaped("history", 0, 6),
    "short history": reshaped("history", 1, 5),
    "no gaps": reshaped("best_gaps", 0),
    "phases of another length": setting("phases", []),
    "phases that are none": setting("phases", 3),
    "a short certificate": reshaped("best_metric_certificate", 2),
    "a certificate of two dimensions": reshaped("best_metric_certificate", 6, 2),
    "a best metric of another size": reshaped("best_metric_metric", 4, 5),
    "a best metric that is not finite": scaled("best_metric_metric", np.nan),
    "another kind": setting("candidate", {"kind": "code", "theta": 1.0}),
    "no kind": setting("candidate", {}),
    "kinds that are none": setting("candidate", [1]),
    "theta above 1": setting("best_multipliers_multipliers", {"kind": "step", "theta": 2.0}),
    "theta is text": setting("best_multipliers_multipliers", {"kind": "step", "theta": "x"}),
    "given multipliers without an array": setting("best_multipliers_multipliers", {"kind": "given", "theta": 1.0}),
    "negative iterations": setting("n_iter", -1),
    "infinite iterations": setting("n_iter", 10**400),
    "other iterations": setting("n_iter", 5),
    "iterations of text": setting("n_iter", "many"),
    "no key": without("key"),
}


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_hostile_files(saved, kind):
    forge(saved[1], HOSTILE[kind])
    refuses(saved, "")


def test_unchanged_files_are_resumed(saved):
    """The forgery itself makes no difference."""
    forge(saved[1], lambda model, arrays: None)
    assert solve(saved[0], "newton", tol=1e-9, checkpoint=saved[1]).status is Status.SOLVED


def test_manifest_is_readable(saved):
    with zipfile.ZipFile(saved[1]) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["class"] == "checkpoint"
    assert manifest["model"]["n_iter"] == 6


@pytest.mark.parametrize("place", ["missing/solve", "file/solve", ".", 3, b"solve"])
def test_unusable_paths_are_refused_before_the_solve(place, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(sources.ArrayPairs, "block", None)  # nothing is computed
    path = tmp_path / place if isinstance(place, str) else place
    with pytest.raises(ValueError, match=r"checkpoint .*must be the (name|path) of a file"):
        solve(PROBLEMS["is"], checkpoint=path)


@pytest.mark.parametrize("solver", ["dykstra", "hybrid", "interior"])
def test_solvers_without_blocks_are_refused(solver, path):
    with pytest.raises(ValueError, match=f"solver '{solver}' needs all pairs at once: .*nor with a checkpoint"):
        solve(PROBLEMS["is"], solver, checkpoint=path)
    assert solve(random_problem(), Newton(), checkpoint=path).status is Status.SOLVED


def test_a_subclass_of_newton_is_used_or_refused(path):
    """Newton's method in blocks would ignore what the subclass does in another way."""
    steps = []

    class Counting(Newton):
        def step(self, problem, state):
            steps.append(1)
            super().step(problem, state)

    problem = random_problem(K=60)
    assert runs_in_blocks(Newton()) and splitting_pays(problem, Newton())
    assert solve(problem, Counting()).status is Status.SOLVED
    assert steps
    for given, settings in ((problem, {"checkpoint": path}), (BlockProblem.split(problem), {})):
        with pytest.raises(ValueError, match="solver 'Counting' needs all pairs at once"):
            solve(given, Counting(), **settings)
