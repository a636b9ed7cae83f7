"""The sections of a report, each from what was computed for it."""

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay, RocCurveDisplay

from .._candidates import candidates
from ..estimators import (
    by_rows,
    described_matrix,
    is_measured,
    numeric_target,
    solutions,
    support_names,
    weights,
)
from ..evaluation import percent
from ..matrix import matrix_spectrum
from ..solvers import GroupSolution, epsilon_path
from ._blocks import Code, Details, Figure, Notes, Row, Section, TableBlock, Text, Warnings
from ._data import class_counts, column_names, describe
from ._displays import (
    EpsilonPathDisplay,
    SearchDisplay,
    SpectrumDisplay,
    SupportDisplay,
    varying,
    with_all_rows,
)
from ._style import BLUE, draw, label, shorten

LARGEST_MATRIX = 2000
"""Rows up to which a matrix among all objects is made for its spectrum and path."""
MANY_CLASSES = 20
SHOWN = 25
"""Longest table of settings and of support objects."""
FREQUENT = 10
"""Features whose frequencies are shown at least."""


def data_section(X, y, classifier, warnings, notes):
    """What the data is and what stands out."""
    blocks = [Notes(list(notes))] if notes else []
    if warnings:
        blocks.append(Warnings(warnings))
    rows = [list(pair) for pair in describe(X, y, classifier)]
    tables = [TableBlock("The data", ["what", "value"], rows)]
    if classifier:
        tables.append(TableBlock("Classes", ["class", "rows", "share in %"], class_counts(y)))
    return Section("Data", [*blocks, Row(tables)])


def error_section(result, classifier):
    """The cross-validated error and the plots of its predictions."""
    guess = f"Always guessing {'the largest class' if classifier else 'the mean'}"
    better = result.error < result.baseline
    text = (
        f"{result.measure[:1].upper()}{result.measure[1:]} {result.shown}: a 95 % interval in "
        f"brackets, over {len(result.fold_errors)} folds; each row was predicted by a model that "
        f"did not see it. {guess} has {result.format(result.baseline)}"
        f"{'.' if better else ', which is no worse: the model has learnt nothing that helps.'}"
    )
    unit = " in %" if classifier else ""
    folds = [
        [i + 1, int((result.folds == i).sum()), result.reported(float(e))]
        for i, e in enumerate(result.fold_errors)
    ]
    blocks = [Text(text)]
    if result.constant:
        blocks.append(Warnings(["The model of every fold predicts the same for all rows."]))
    if result.warnings:
        blocks.append(Warnings(result.warnings))
    figures = TableBlock("Figures", ["figure", "value"], _figures(result))
    table = TableBlock("Folds", ["fold", "rows", f"{result.measure}{unit}"], folds)
    blocks.append(Row([figures, table]))
    blocks.append(Row(_class_figures(result) if classifier else [_prediction_figure(result)]))
    return Section("Cross-validated error", blocks)


def _figures(result):
    """Names and values of what the predictions of all folds say."""
    rows = [
        [f"{result.measure}, cross-validated", result.shown],
        [f"{result.measure} of the baseline", result.format(result.baseline)],
    ]
    if result.r2 is not None:
        rows.append(["R2", f"{result.r2:.3g}"])
    if result.sensitivity is not None:
        names = sorted(result.classes.tolist(), key=lambda label: label == result.positive)
        other, positive = map(shorten, names)
        rows.append([f"sensitivity: {positive} found", percent(result.sensitivity)])
        rows.append([f"specificity: {other} found", percent(result.specificity)])
    for name, value in result.ranking.items():
        in_percent = name == "balanced_accuracy"
        shown = percent(value / 100) if in_percent else f"{value:.3g}"
        rows.append([name.replace("_", " "), shown])
    return rows


def _class_figures(result):
    labels = np.unique(result.y)
    blocks = []
    if len(labels) <= MANY_CLASSES:
        blocks.append(_confusion_figure(result, labels))
    if len(labels) == 2 and result.scores is not None and result.scores.ndim == 1:
        blocks.append(_roc_figure(result))
    return blocks


def _confusion_figure(result, labels):
    def paint(ax):
        display = ConfusionMatrixDisplay.from_predictions(
            result.y, result.predictions, ax=ax, cmap="Blues", colorbar=False,
            display_labels=[label(name, 16) for name in labels],
            xticks_rotation=45 if len(labels) > 4 else "horizontal",
        )  # fmt: skip
        display.ax_.set(xlabel="predicted", ylabel="true")

    right = int((result.y == result.predictions).sum())
    side = min(3.2 + 0.35 * len(labels), 8)
    return Figure(
        draw(paint, (side + 0.8, side)),
        f"Confusion matrix: {right} of {len(result.y)} rows on the diagonal.",
        "Confusion matrix of the predictions of all folds.",
    )


def _roc_figure(result):
    area = []

    def paint(ax):
        display = RocCurveDisplay.from_predictions(
            result.truth, result.positive_scores, ax=ax, plot_chance_level=True, name="P-SVM"
        )
        area.append(display.roc_auc)
        name = label(result.positive, 16)
        ax.set(xlabel=f"others taken for {name}", ylabel=f"share of {name} found")

    svg = draw(paint, (4.6, 4.2))
    return Figure(
        svg,
        f"ROC curve with an area of {area[0]:.3f}.",
        f"ROC curve of the decision values of all folds; area {area[0]:.3f}. Values of different "
        "folds come from different models, which can make the area too small.",
    )


def _prediction_figure(result):
    def paint(ax):
        PredictionErrorDisplay.from_predictions(
            result.y, result.predictions, kind="actual_vs_predicted", ax=ax, subsample=1000,
            random_state=0, scatter_kwargs={"alpha": 0.5, "s": 14, "color": BLUE},
        )  # fmt: skip
        ax.set(xlabel="predicted", ylabel="true")

    r = np.corrcoef(result.y, result.predictions)[0, 1] if np.ptp(result.predictions) > 0 else 0.0
    return Figure(
        draw(paint, (4.8, 4.4)),
        f"True against predicted values; their correlation is {r:.3f}.",
        f"True against predicted values of all folds (at most 1000 of them); correlation {r:.3f}. "
        "Dashed: predictions without error.",
    )


def parameter_section(parts):
    """The hyper-parameters and where they come from."""
    machine = parts.machine
    blocks = []
    if parts.steps:
        names = ", then ".join(type(step).__name__ for _, step in parts.steps)
        blocks.append(Text(f"Before the P-SVM sees the columns: {names}."))
    compared = candidates(parts.search or machine)
    if compared is not None:
        blocks += _candidate_blocks(compared, parts.search)
    elif hasattr(parts.search, "cv_results_"):  # a file does not keep them
        blocks += _search_blocks(parts.search)
    blocks.append(Text(f"epsilon {_epsilons(machine)} {_origin(machine)}."))
    table = TableBlock("Parameters of the P-SVM", ["parameter", "value"], _parameters(machine))
    others = Text("All others have their default values.")
    return Section("Hyper-parameters", [*blocks, Details("All parameters", [table, others])])


def _epsilons(machine):
    """The epsilon in use, or its range where machines have their own."""
    values = np.unique(machine.epsilon_)
    return " to ".join(f"{value:.4g}" for value in dict.fromkeys((values[0], values[-1])))


def _parameters(machine):
    """The parameters that were changed or computed, and those that always matter."""
    given, standard = machine.get_params(deep=False), type(machine)().get_params(deep=False)
    shown = {
        name: _text(value)
        for name, value in given.items()
        if name in ("C", "epsilon", "kernel") or repr(value) != repr(standard[name])
    }
    kernel = getattr(machine, "_kernel", None)
    used = {"epsilon": getattr(machine, "epsilon_", None), "gamma": getattr(kernel, "gamma", None)}
    for name, value in used.items():
        if isinstance(value, np.ndarray) and len(np.unique(value)) == 1:
            value = float(value[0])  # machines that share their support
        if isinstance(value, float) and given[name] != value:
            shown[f"{name}, as used"] = f"{value:.6g}"
    return sorted(shown.items())


def _origin(machine):
    """Where epsilon comes from."""
    if not isinstance(machine.epsilon, str):
        return "was given"
    how = {
        "auto": "the leave-one-out values",
        "cv": "the losses of five folds",
        "aicc": "the corrected Akaike criterion",
    }[machine.epsilon]
    return f"was chosen by {how} along its path (rule {machine.rule!r})"


def _candidate_blocks(compared, search):
    """What was compared by held-out rows, what was chosen and why."""
    rows = [
        [_text(v) if isinstance(v, str) else v for v in compared.rows[i]] for i in compared.order
    ]
    text = f"{compared.count} compared by the {compared.measure}. {compared.verdict}"
    error = (
        "The standard error is that of the loss or score."
        if search is not None
        else "The standard error is that of the difference to the smallest loss."
    )
    shown = TableBlock("Candidates, best first", compared.headers, rows[:SHOWN])
    folded = Details(f"The best {len(rows[:SHOWN])} candidates", [Text(error), shown])
    if search is None or search.n_splits_ or not any(len(losses) for _, losses in search.walks_):
        return [Text(text), folded]
    figure = Figure(
        draw(search.plot_path, (6.4, 4.0)),
        f"Losses along epsilon of {len(rows)} candidates.",
        "Loss of held-out rows along epsilon, a line for each candidate. Bold: the chosen one; the "
        "star marks its smallest loss.",
    )
    return [Text(text), figure, folded]


def _search_blocks(search):
    """The settings of a search of scikit-learn."""
    results = search.cv_results_
    names = [f"param_{name}" for name in varying(results)]
    mean = np.asarray(results["mean_test_score"])
    order = np.lexsort((-mean, ~with_all_rows(results)))[:SHOWN]
    std = results.get("std_test_score", np.full(len(mean), np.nan))
    rows = [
        [float(mean[i]), float(std[i]), *(_plain(results[name][i]) for name in names)]
        for i in order
    ]
    headers = ["mean score", "deviation", *(n.removeprefix("param_") for n in names)]
    values = [f"{n.removeprefix('param_')} {_short(results[n][search.best_index_])}" for n in names]
    score = f"(mean score {mean[search.best_index_]:.4g})"
    blocks = [Text(f"{len(mean)} settings were tried. Chosen: {', '.join(values)} {score}.")]
    table = TableBlock("Settings, best first", headers, rows)
    folded = Details(f"The best {len(order)} settings", [table])
    try:
        display = SearchDisplay(results)
    except ValueError:  # nothing varies
        return [*blocks, folded]
    svg = draw(display.plot, (6.4, 4.0))
    shown = " and ".join(display.params)
    best = float(np.nanmax(mean[with_all_rows(results)]))
    figure = Figure(
        svg,
        f"Search over {shown}: the best mean score is {best:.4g}.",
        f"Mean score of the folds over {shown}; where other parameters vary, the best of them.",
    )
    return [*blocks, figure, folded]


def _short(value):
    return f"{value:.3g}" if isinstance(value, float | np.floating) else _text(value)


def matrix_section(parts, X):
    """The spectrum of a pairwise matrix; None where there is none or it is too large."""
    machine = parts.machine
    if machine.kernel == "dyadic" or not by_rows(machine.landmarks):
        return None
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n > LARGEST_MATRIX:
        return Section("Matrix of relations", [Text(
            f"With more than {LARGEST_MATRIX} objects the eigenvalues are not computed."
        )])  # fmt: skip
    K, _ = described_matrix(parts, X)
    spectrum = matrix_spectrum(K)
    verdict = (
        "It could come from a positive definite kernel."
        if spectrum.positive_semidefinite
        else "It is not a positive definite kernel; the P-SVM uses it as it is."
    )
    figure = Figure(
        draw(lambda ax: SpectrumDisplay(spectrum).plot(ax), (6.4, 3.4)),
        f"Scree plot of the matrix among the objects: {spectrum}.",
        "Absolute eigenvalues, the largest first.",
    )
    return Section("Matrix of relations", [Text(f"{spectrum}. {verdict}"), figure])


def path_section(parts, X, y):
    """The path along epsilon."""
    title, machine = "Path along epsilon", parts.machine
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    try:
        target = numeric_target(machine, y)
        if not is_measured(machine) and n > LARGEST_MATRIX:
            raise ValueError(f"With more than {LARGEST_MATRIX} objects the path is not drawn.")
        K, names = described_matrix(parts, X)
    except ValueError as reason:
        return Section(title, [Text(str(reason))])
    path = epsilon_path(K, target, machine.C)
    display = EpsilonPathDisplay(path, names=names, epsilon=machine.epsilon_)
    chosen = int(np.searchsorted(-path.knots, -machine.epsilon_))
    numbers = np.diff(path.knot_alphas.indptr)
    count = int(numbers[min(chosen, len(numbers) - 1)]) if len(numbers) else 0
    text = (
        f"From epsilon = {path.epsilon_max:.4g}, where nothing is selected, {len(path.order)} "
        f"variables enter as epsilon is lowered. At the chosen {machine.epsilon_:.4g} about "
        f"{count} are not zero."
    )
    figure = Figure(
        draw(lambda ax: display.plot(ax), (7.4, 4.0)),
        f"Variables against epsilon. {text}",
        "Each line is a variable; the first to enter have colours. Dotted: how many are not zero. "
        "Dashed: the chosen epsilon.",
    )
    return Section(title, [Text(text), figure])


def support_section(parts):
    """Number and list of the support objects."""
    machine = parts.machine
    names = support_names(parts)
    every = weights(machine)
    alpha = every[machine.support_]
    text = f"{machine.n_support_} of {len(every)} descriptive objects have a weight."
    if np.ndim(machine.alpha_) == 2:
        text += f" The largest weight of {len(machine.alpha_)} machines is shown."
    blocks = [Text(text)]
    if len(alpha):
        display = SupportDisplay(alpha, names)
        blocks.append(Figure(
            draw(lambda ax: display.plot(ax), (6.4, 0.9 + 0.26 * min(len(alpha), 15))),
            f"Weights of the support objects; the largest is {_largest(names, alpha)}.",
            "Weights alpha of the support objects; blue ones are positive, orange ones negative.",
        ))  # fmt: skip
    order = np.argsort(-np.abs(alpha), kind="stable")[:SHOWN]
    rows = [[names[j], float(alpha[j])] for j in order]
    left = f" (the first {len(order)})" if len(order) < len(alpha) else ""
    blocks.append(TableBlock(f"Support objects{left}", ["object", "alpha"], rows))
    return Section("Support objects", blocks)


def _largest(names, alpha):
    j = int(np.argmax(np.abs(alpha)))
    return f"{names[j]} with {alpha[j]:.4g}"


def feature_section(ranking, stable, X, names):
    """Top features with stability, error bound and stand-ins."""
    names = column_names(X, names)
    listed = zip(
        ranking.indices, ranking.importance, ranking.stability, ranking.stand_ins, strict=True
    )
    rows = [
        [place + 1, names[j], float(size), float(share), _listed(stand_in, names)]
        for place, (j, size, share, stand_in) in enumerate(listed)
    ]
    text = Text(
        "Features in the order in which a linear P-SVM selects them as epsilon is lowered, each "
        "for what it adds to those before. Stability is the share of random halves of the rows in "
        "which the feature is selected again. Stand-ins are the unselected features most "
        "correlated with it. The choice was made on all rows: an error measured with these "
        "features on the same rows would be too small."
    )
    headers = ["place", "feature", "importance", "stability", "stand-ins (correlation)"]
    blocks = [text, TableBlock("Selected features", headers, rows)]
    if stable is not None:
        blocks += _stable_blocks(stable, names)
    return Section("Top features", blocks)


def _stable_blocks(stable, names):
    """Features by how often halves select them, and the bound."""
    found, order = stable.parameters_, stable.order_
    shown = order[: max(min(stable.n_features_, SHOWN), FREQUENT)]
    shown = shown[stable.frequencies_[shown] > 0]
    chosen = set(order[: stable.n_features_].tolist())
    rows = [
        [names[j], float(stable.frequencies_[j]), "yes" if int(j) in chosen else "no"]
        for j in shown
    ]
    text = Text(
        f"Stability selection takes {stable.n_features_} features: those among the first {found.q} "
        f"on the path of at least {100 * found.threshold:.0f} % of {found.n_subsamples} random "
        f"halves of the rows. Of these at most {found.pfer:.2g} are expected to be false "
        "(bound of Shah & Samworth 2013, unimodal distribution)."
    )
    table = TableBlock("Frequencies in halves of the rows", ["feature", "frequency", "taken"], rows)
    return [text, table]


def _listed(stand_in, names):
    if stand_in is None:
        return "none"
    pairs = zip(stand_in.indices, stand_in.correlations, strict=True)
    return ", ".join(f"{names[j]} ({r:+.2f})" for j, r in pairs)


def certificate_section(parts):
    """Status, gap and KKT violation of the solutions."""
    found = solutions(parts.machine)
    headers = ["machine", "status", "epsilon", "objective", "duality gap", "KKT violation",
               "relative to epsilon", "iterations"]  # fmt: skip
    rows = [
        [_machines(s, i), s.status.value, s.epsilon, s.objective, s.gap, s.kkt_violation,
         s.kkt_violation / s.epsilon if s.epsilon else np.nan, s.n_iter]
        for i, s in enumerate(found)
    ]  # fmt: skip
    text = (
        "The objective of the final fit is at most the duality gap above its minimum. Gap and "
        "violation of the optimality (KKT) conditions were recomputed from the solution; the "
        f"violation may be {parts.machine.tol:g} times epsilon."
    )
    if not found:
        text = (
            f"The duality gap of the fit was {parts.machine.dual_gap_:.3g}, the largest KKT "
            f"violation {parts.machine.kkt_violation_:.3g}."
        )
    blocks = [Text(text)] + ([TableBlock("Certificate", headers, rows)] if rows else [])
    return Section("Certificate", blocks)


def _machines(solution, number):
    """The number of a machine; how many there are if one solution is that of all."""
    return f"all {solution.A.shape[1]}" if isinstance(solution, GroupSolution) else number + 1


def repeat_section(command, versions, digest, model):
    """How to get the same again."""
    rows = [[name, version] for name, version in versions.items()]
    blocks = [Code(command)] if command else []
    blocks += [
        Text(f"Digest (SHA-256) of the rows and the target: {digest}."),
        Details("The estimator", [Code(repr(model))]),
        Details("Versions", [TableBlock("Versions", ["what", "version"], rows)]),
    ]
    return Section("To repeat this", blocks)


def _text(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    return shorten(repr(value) if not isinstance(value, str) else value, 120)


def _plain(value):
    return value if isinstance(value, int | float | np.number) else _text(value)
