"""Selection of genes in an AnnData object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from .._validation import check_flag, check_has, check_text, shown
from ._genes import GeneSelector
from ._knockoff_selector import KnockoffSelector
from ._selector import PSVMSelector
from ._stability import StabilitySelector

if TYPE_CHECKING:
    from anndata import AnnData


def select(
    adata: AnnData,
    groupby: str,
    *,
    selector: PSVMSelector | GeneSelector | StabilitySelector | KnockoffSelector | None = None,
    layer: str | None = None,
    key_added: str = "psvm",
    copy: bool = False,
    **params: Any,
) -> AnnData | None:
    """Select genes of an AnnData object that tell groups of cells or samples apart.

    Writes, with `key_added` in front, the columns ``_selected``, ``_ranking`` (1 for the selected
    genes) and ``_importance`` or ``_frequency`` into ``adata.var``, and a dictionary with the
    parameters and the names of the selected genes, best first, into ``adata.uns``.

    Parameters
    ----------
    adata : anndata.AnnData
        Observations x genes.
    groupby : str
        The column of ``adata.obs`` with the groups, or with numbers to be predicted.
    selector : PSVMSelector, GeneSelector, StabilitySelector or KnockoffSelector, default=None
        The selector; it is not changed. None is ``PSVMSelector(**params)``.
    layer : str, default=None
        The layer to use instead of ``adata.X``.
    key_added : str, default="psvm"
        Where the results are written.
    copy : bool, default=False
        Whether to return a copy with the results instead of writing into `adata`.
    **params
        Parameters of the selector.

    Returns
    -------
    AnnData or None
        The copy if `copy` is set.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from anndata import AnnData
    >>> from psvm.selection import select
    >>> X = np.random.default_rng(0).normal(size=(60, 100))
    >>> obs = pd.DataFrame({"state": np.where(X[:, 4] + X[:, 9] > 0, "a", "b")})
    >>> adata = AnnData(X, obs=obs.set_index(obs.index.astype(str)))
    >>> select(adata, groupby="state", n_features=2)
    >>> [str(gene) for gene in sorted(adata.uns["psvm"]["selected"])]
    ['4', '9']
    """
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError('select needs anndata: pip install "psvm[anndata]".') from error
    if not isinstance(adata, AnnData):
        raise TypeError(f"adata must be an AnnData object, got {type(adata).__name__}.")
    check_flag("copy", copy)
    for name, value in {"groupby": groupby, "key_added": key_added}.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a string, got {shown(value)}.")
    check_text("layer", layer)
    if selector is not None:
        check_has("selector", selector, "fit", "get_support", what="a selector")
    if groupby not in adata.obs:
        raise ValueError(
            f"groupby={groupby!r} is not a column of adata.obs, which has {list(adata.obs)}."
        )
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"layer={layer!r} does not exist; there are {list(adata.layers)}.")
    y = adata.obs[groupby]
    if y.isna().any():
        raise ValueError(
            f"adata.obs[{groupby!r}] has no value for {int(y.isna().sum())} observations, the "
            f"first is {y.index[y.isna()][0]!r}. Leave these observations out."
        )
    adata = adata.copy() if copy else adata
    selector = (PSVMSelector() if selector is None else clone(selector)).set_params(**params)
    selector.fit(adata.X if layer is None else adata.layers[layer], y.to_numpy())
    _write(adata, selector, groupby, layer, key_added)
    return adata if copy else None


def _write(adata, selector, groupby, layer, key):
    names = {"importance_": "importance", "frequency_": "frequency", "frequencies_": "frequency"}
    attribute = next(name for name in names if hasattr(selector, name))
    adata.var[f"{key}_selected"] = selector.get_support()
    adata.var[f"{key}_ranking"] = selector.ranking_
    adata.var[f"{key}_{names[attribute]}"] = getattr(selector, attribute)
    adata.uns[key] = {
        "params": {
            "groupby": groupby,
            "layer": "X" if layer is None else layer,
            "selector": repr(selector),
        },
        "selected": adata.var_names[selector.order_[: selector.n_features_]].to_numpy(),
    }
