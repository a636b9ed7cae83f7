"""What a notebook shows of a fitted model, beside scikit-learn's diagram."""

from html import escape

import numpy as np
from sklearn.base import is_regressor

from ._candidates import candidates

STYLE = """
.psvm-found { font: 13px/1.5 system-ui, sans-serif; margin: 0.4em 0; border-collapse: collapse;
  color: #1a1a1a; background: #f4f7fa; border: 1px solid #c9d4df; }
.psvm-found caption { text-align: left; font-weight: 600; padding: 0.2em 0; color: inherit; }
.psvm-found th, .psvm-found td { text-align: left; padding: 0.15em 0.8em; font-weight: normal;
  border: 0; }
.psvm-found td { font-variant-numeric: tabular-nums; }
.psvm-found .psvm-chosen td { font-weight: 600; }
@media (prefers-color-scheme: dark) {
  .psvm-found { color: #e6e6e6; background: #1d2733; border-color: #3a4a5c; } }
html[data-theme="light"] .psvm-found, body[data-jp-theme-light="true"] .psvm-found {
  color: #1a1a1a; background: #f4f7fa; border-color: #c9d4df; }
html[data-theme="dark"] .psvm-found, body[data-jp-theme-light="false"] .psvm-found,
.vscode-dark .psvm-found { color: #e6e6e6; background: #1d2733; border-color: #3a4a5c; }
"""


def number(values):
    """One number in few digits, or the range of several."""
    values = np.unique(np.asarray(values, dtype=float))
    ends = values[[0, -1]] if len(values) > 1 else values
    return " to ".join(f"{value:.3g}" for value in ends)


def error(model):
    """The leave-one-out error in the words of the other figures, if there is one."""
    value = getattr(model, "loo_error_", None)
    if value is None or not np.isfinite(value):
        return None
    if is_regressor(model):
        return "leave-one-out RMSE", f"{np.sqrt(value):.4g}"
    return "leave-one-out error", f"{100 * value:.1f} %"


def certificate(model):
    """Status, gap and violation of the solutions."""
    solutions = getattr(model, "solutions_", None) or getattr(model, "solution_", None)
    if solutions is None:
        return None
    solutions = solutions if isinstance(solutions, (list, tuple)) else [solutions]
    statuses = sorted({solution.status.value for solution in solutions})
    text = ", ".join(statuses)
    if hasattr(model, "dual_gap_"):
        text += f"; duality gap {model.dual_gap_:.2g}"
    if hasattr(model, "kkt_violation_"):
        text += f", KKT violation {model.kkt_violation_:.2g}"
    return "certificate", text


def found(model):
    """Pairs of names and figures of what a fit has found."""
    rows = [error(model)]
    total = f" of {np.shape(model.alpha_)[-1]:,}" if hasattr(model, "alpha_") else ""
    if hasattr(model, "n_features_"):
        total = total or f" of {model.n_features_in_:,}"
        rows.append(("selected", f"{model.n_features_:,}{total}"))
    elif hasattr(model, "support_"):
        rows.append(("support objects", f"{len(model.support_):,}{total}"))
    if hasattr(model, "epsilon_"):
        rows.append(("epsilon", number(model.epsilon_)))
    for name in ("gamma_", "C_", "lam_"):
        if not isinstance(getattr(model, name, "none"), str):
            rows.append((name.rstrip("_"), number(getattr(model, name))))
    if hasattr(model, "parameters_"):
        rows.append(("bound", str(model.parameters_)))
    if hasattr(model, "e_values_"):
        rows.append(("false discovery rate", f"at most {model.fdr:.3g}"))
    rows.append(certificate(model))
    return [row for row in rows if row is not None]


def table(model):
    """The tables as HTML, empty before the fit."""
    rows = found(model)
    if not rows:
        return ""
    cells = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(text)}</td></tr>"
        for name, text in rows
    )
    caption = f"<caption>{escape(type(model).__name__)}: what the fit found</caption>"
    first = f"<table class='psvm-found'>{caption}{cells}</table>"
    return f"<style>{STYLE}</style>{first}{tried(model)}"


def tried(model, most=10):
    """The candidates of a fit as a table of HTML, the best first; empty if there were none."""
    compared = candidates(model)
    if compared is None:
        return ""
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in compared.headers)
    lines = []
    for place in compared.order[:most]:
        cells = [f"{v:.3g}" if isinstance(v, float) else v for v in compared.rows[place]]
        mark = " class='psvm-chosen'" if place == compared.chosen else ""
        lines.append(
            f"<tr{mark}>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        )
    left = len(compared.rows) - len(lines)
    more = f", {left} more" if left > 0 else ""
    caption = f"<caption>candidates by the {escape(compared.measure)}{more}</caption>"
    return f"<table class='psvm-found'>{caption}<tr>{head}</tr>{''.join(lines)}</table>"


class SummaryMixin:
    """Adds what was found to the diagram that notebooks show."""

    def _repr_html_inner(self):
        return super()._repr_html_inner() + table(self)

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += table(self)
        return bundle
