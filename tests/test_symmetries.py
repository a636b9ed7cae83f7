"""What a choice does not depend on: the exact symmetries of all estimators.

Each property is tried with every kind of target, kernel, source of held-out values and rule. Two
points of a walk whose losses are nearly equal may change places by rounding, so that the premise of
each example is that there are none.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.metrics.pairwise import rbf_kernel

import walks
from psvm.estimators import PSVC, PSVR
from psvm.matrix import RowBlocks
from reference import decided

TASKS = ("two", "pairs", "ovr", "shared", "labels", "numbers", "outputs")
KERNELS = ("linear", "rbf", "dyadic", "precomputed")
GAMMA = 0.5
TOL = 1e-9
"""Of the solutions: what is compared is the choice."""
NEAR = {"rtol": 1e-6, "atol": 1e-6}
"""Values are of the size of one. Near interpolation the systems lose some ten of sixteen digits."""
EXAMPLES = 6
NAMES = np.array(["a", "b", "c"])


class Case:
    """A fit: rows of K or of features, targets, weights, and new rows."""

    def __init__(self, seed, task, kernel, options, X, y, new, weights=None):
        self.seed, self.task, self.kernel, self.options = seed, task, kernel, options
        self.X, self.y, self.new, self.weights = X, y, new, weights

    def __repr__(self):
        return f"make_case({self.seed}, {self.task!r}, {self.kernel!r}, {self.options!r})"

    def fitted(self):
        """The model."""
        schemes = {"pairs": "ovo", "ovr": "ovr", "shared": "shared"}
        options = {"kernel": self.kernel, "gamma": GAMMA, "tol": TOL, **self.options}
        if self.task in ("numbers", "outputs"):
            return PSVR(**options).fit(self.X, self.y, self.weights)
        scheme = schemes.get(self.task, "auto")
        shape = "ovo" if self.task == "pairs" else "ovr"
        model = PSVC(multi_class=scheme, decision_function_shape=shape, **options)
        return model.fit(self.X, self.y, self.weights)

    def with_(self, **changes):
        """The same with other rows, targets or options."""
        return Case(**{**vars(self), **changes})

    def rows(self, order):
        """The same rows in another order, or some of them more than once."""
        X = self.X[np.ix_(order, order)] if self.kernel == "precomputed" else self.X[order]
        new = self.new[:, order] if self.kernel == "precomputed" else self.new
        weights = None if self.weights is None else self.weights[order]
        return self.with_(X=X, y=self.y[order], new=new, weights=weights)


def make_case(seed, task, kernel, options):
    """Rows that are told apart by their features, with noise."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(24, 40)), 10
    if kernel == "dyadic":
        X = rng.normal(size=(n + m, int(rng.integers(4, 30))))
    else:
        X = rng.normal(size=(n + m, 3))
    # as in single precision, so that it makes no difference how the numbers are stored
    X = X.astype(np.float32).astype(np.float64)
    signal = np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] + 0.4 * rng.normal(size=n + m)
    second = np.cos(X[:, 2]) - 0.5 * X[:, 0] + 0.4 * rng.normal(size=n + m)
    if task == "two":
        y = NAMES[(signal > np.median(signal) + 0.2).astype(int)]
    elif task in ("pairs", "ovr", "shared"):
        y = NAMES[np.argsort(np.argsort(signal)) * 3 // (n + m)]
    elif task == "labels":
        y = (np.column_stack([signal, second]) > 0.1).astype(int)
    else:
        y = signal if task == "numbers" else np.column_stack([signal, second])
    new = X[n:]
    if kernel == "precomputed":
        new, X = rbf_kernel(X[n:], X[:n], GAMMA), rbf_kernel(X[:n], X[:n], GAMMA)
    return Case(seed, task, kernel, options, X[:n], y[:n], new)


def decisions(model, X):
    """Values of the machines, one per column."""
    f = model.decision_function(X) if is_classifier(model) else model.predict(X)
    return f.reshape(len(f), -1)


def is_no_tie(decided):
    """The premise of a test with one example."""
    assert decided


def fitted(case, premise=assume):
    """The model of a case. Cases whose choice is nearly a tie are no examples."""
    with warnings.catch_warnings(), walks.recorded() as found:
        warnings.filterwarnings("ignore", "The model has no support objects")
        warnings.filterwarnings("ignore", "The solver stopped")
        model = case.fitted()
    premise(walks.decided(found))
    return model


def assert_same(model, other, f, g, *, unit=1.0, support=None):
    """Two models have made the same choice: epsilon, support, held-out values and functions."""
    np.testing.assert_allclose(other.epsilon_, unit * np.asarray(model.epsilon_), rtol=1e-7)
    if support is not None:
        np.testing.assert_array_equal(np.sort(support), model.support_)
    np.testing.assert_allclose(g, f, **NEAR)
    known = model.loo_decision_[np.isfinite(model.loo_decision_)]
    if not is_classifier(model):
        assert other.loo_error_ == pytest.approx(model.loo_error_ * unit**2, rel=1e-5, abs=1e-9)
    elif np.abs(known).min(initial=1.0) > 1e-5 and decided(model.loo_decision_, 1e-5):
        assert other.loo_error_ == pytest.approx(model.loo_error_)


@st.composite
def cases(draw, task, kernels=KERNELS, finite=True):
    """A case of a task, with any kernel, source, rule and C."""
    kernel = draw(st.sampled_from(kernels))
    source = "auto" if task == "shared" else draw(st.sampled_from(["auto", "cv", "aicc"]))
    options = {"epsilon": source, "rule": draw(st.sampled_from(["best", "sparse"]))}
    if finite and task != "shared" and draw(st.booleans()):
        options["C"] = 0.5
    return make_case(draw(st.integers(0, 10**6)), task, kernel, options)


def trying(test):
    """Settings of all properties."""
    checks = [HealthCheck.too_slow]
    return settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=checks)(test)


every_task = pytest.mark.parametrize("task", TASKS)


@every_task
@trying
@given(data=st.data())
def test_the_order_of_rows_does_not_matter(task, data):
    case = data.draw(cases(task))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(case.y))
    other = case.rows(order)
    model, again = fitted(case), fitted(other)
    support = again.support_ if case.kernel == "dyadic" else order[again.support_]
    f, g = decisions(model, case.new), decisions(again, other.new)
    assert_same(model, again, f, g, support=support)
    np.testing.assert_allclose(again.loo_decision_, model.loo_decision_[order], **NEAR)


@every_task
@trying
@given(data=st.data())
def test_the_order_and_the_signs_of_columns_do_not_matter(task, data):
    case = data.draw(cases(task, KERNELS[:3]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    order = rng.permutation(case.X.shape[1])
    signs = rng.choice([-1.0, 1.0], size=len(order))
    other = case.with_(X=(case.X * signs)[:, order], new=(case.new * signs)[:, order])
    model, again = fitted(case), fitted(other)
    support = order[again.support_] if case.kernel == "dyadic" else again.support_
    f, g = decisions(model, case.new), decisions(again, other.new)
    assert_same(model, again, f, g, support=support)
    np.testing.assert_allclose(again.loo_decision_, model.loo_decision_, **NEAR)
    if case.kernel == "dyadic":
        alpha = np.empty_like(model.alpha_)
        alpha[..., order] = again.alpha_ * signs[order]
        np.testing.assert_allclose(alpha, model.alpha_, **NEAR)


@every_task
@trying
@given(data=st.data())
def test_swapped_names_swap_signs(task, data):
    """Names of classes, 0 and 1 of labels, the sign and the order of numbers."""
    case = data.draw(cases(task))
    if task in ("two", "pairs", "ovr", "shared"):
        classes = np.unique(case.y)
        new_names = classes[
            np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(classes))
        ]
        y = new_names[np.searchsorted(classes, case.y)]
        place = np.searchsorted(classes, new_names)  # of each old class among the new names
        if task == "two":
            sign, columns = (1.0 if place[0] == 0 else -1.0), [0]
        elif task == "pairs":
            pairs = [(0, 1), (0, 2), (1, 2)]
            moved = [(place[i], place[j]) for i, j in pairs]
            columns = [pairs.index(tuple(sorted(pair))) for pair in moved]
            sign = np.array([1.0 if i < j else -1.0 for i, j in moved])
        else:
            sign, columns = 1.0, place
    elif task == "labels":
        y, columns, sign = np.column_stack([1 - case.y[:, 1], case.y[:, 0]]), [1, 0], [1.0, -1.0]
    else:
        columns, sign = ([0], -1.0) if task == "numbers" else ([1, 0], [1.0, -1.0])
        y = -case.y if task == "numbers" else np.column_stack([-case.y[:, 1], case.y[:, 0]])
    model, again = fitted(case), fitted(case.with_(y=y))
    f, g = decisions(model, case.new), decisions(again, case.new)
    epsilon = np.atleast_1d(again.epsilon_)
    again.epsilon_ = epsilon[columns] if len(epsilon) > 1 else again.epsilon_
    assert_same(model, again, f, g[:, columns] * sign, support=again.support_)


@every_task
@trying
@given(data=st.data())
def test_a_row_of_weight_two_is_the_row_twice(task, data):
    """And one of weight 0 is no row."""
    case = data.draw(cases(task))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    times = rng.choice([0, 1, 2], size=len(case.y), p=[0.1, 0.6, 0.3])
    if task in ("pairs", "ovr", "shared", "two"):
        assume(len(np.unique(case.y[times > 0])) == len(np.unique(case.y)))
    model = fitted(case.with_(weights=times.astype(float)))
    again = fitted(repeated := case.rows(np.repeat(np.arange(len(times)), times)))
    f, g = decisions(model, case.new), decisions(again, repeated.new)
    assert_same(model, again, f, g)


@pytest.mark.parametrize("task", ["numbers", "outputs"])
@trying
@given(data=st.data())
def test_the_unit_and_the_zero_of_y_do_not_matter(task, data):
    case = data.draw(cases(task, finite=False))
    unit, zero = (
        10.0 ** data.draw(st.integers(-6, 6)),
        data.draw(st.sampled_from([0.0, -3.0, 100.0])),
    )
    model, again = fitted(case), fitted(case.with_(y=unit * (case.y + zero)))
    f, g = decisions(model, case.new), decisions(again, case.new) / unit - zero
    assert_same(model, again, f, g, unit=unit, support=again.support_)


@every_task
@trying
@given(data=st.data())
def test_storage_does_not_matter(task, data):
    case = data.draw(cases(task))
    forms = [np.float32, np.asfortranarray, lambda X: X[::-1].copy()[::-1]]
    forms += [sp.csr_array, sp.csc_matrix] if case.kernel != "precomputed" else []
    form = data.draw(st.sampled_from(forms))
    if case.kernel == "precomputed":
        case = case.with_(X=np.float64(np.float32(case.X)), new=np.float64(np.float32(case.new)))
    model, again = fitted(case), fitted(case.with_(X=form(case.X)))
    f, g = decisions(model, case.new), decisions(again, form(case.new))
    assert_same(model, again, f, g, support=again.support_)
    np.testing.assert_allclose(again.loo_decision_, model.loo_decision_, **NEAR)


@pytest.mark.parametrize("task", [task for task in TASKS if task != "labels"])
@trying
@given(data=st.data())
def test_blocks_of_rows_give_the_same_model(task, data):
    case = data.draw(cases(task, KERNELS[:3]))
    size = data.draw(st.integers(3, 40))
    X, y = case.X, case.y
    blocks = [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]
    model, again = fitted(case), fitted(case.with_(X=RowBlocks(blocks), y=None))
    f, g = decisions(model, case.new), decisions(again, case.new)
    assert_same(model, again, f, g)


# --- more rows than describe


def many(task, seed):
    """Of 2,100 rows some describe, and only sums over the rows are used."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2150, 3))
    signal = np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] + 0.4 * rng.normal(size=2150)
    y = NAMES[np.searchsorted([-0.5, 0.6], signal)] if task in ("pairs", "ovr") else signal
    y = NAMES[(signal > 0.3).astype(int)] if task == "two" else y
    return Case(seed, task, "rbf", {"tol": 1e-4}, X[:2100], y[:2100], X[2100:])


@pytest.mark.slow
@pytest.mark.parametrize("source", ["auto", "cv"])
@pytest.mark.parametrize("task", ["two", "pairs", "ovr", "numbers"])
def test_symmetries_of_many_rows(task, source):
    """The order of rows, a weight of 2, and the names of two classes or the unit of numbers."""
    case = many(task, 0)
    case.options["epsilon"] = source
    model, rng = fitted(case, is_no_tie), np.random.default_rng(1)
    f, near = decisions(model, case.new), {"rtol": 1e-4, "atol": 1e-4}
    again = fitted(case.rows(rng.permutation(2100)), is_no_tie)
    np.testing.assert_allclose(again.epsilon_, model.epsilon_, rtol=1e-6)
    np.testing.assert_allclose(decisions(again, case.new), f, **near)
    times = rng.choice([1, 2], size=2100)
    weighted = fitted(case.with_(weights=times.astype(float)), is_no_tie)
    again = fitted(case.rows(np.repeat(np.arange(2100), times)), is_no_tie)
    np.testing.assert_allclose(again.epsilon_, weighted.epsilon_, rtol=1e-6)
    g = decisions(weighted, case.new)
    np.testing.assert_allclose(decisions(again, case.new), g, **near)
    if task in ("two", "numbers"):
        turned = NAMES[1 - np.searchsorted(NAMES, case.y)] if task == "two" else -1e3 * case.y
        again, unit = fitted(case.with_(y=turned), is_no_tie), 1.0 if task == "two" else 1e3
        assert again.epsilon_ == pytest.approx(unit * model.epsilon_, rel=1e-6)
        np.testing.assert_allclose(-decisions(again, case.new) / unit, f, **near)
