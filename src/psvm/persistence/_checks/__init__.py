"""What must hold of the fitted attributes of every class before a loaded model is returned.

Compiled code trusts shapes, dtypes and places; NumPy fails with errors that say nothing about a
file. So every array is compared with every other here, in one function or row of a table per class.
"""

from ._estimators import (
    check_calibration,
    check_curve,
    check_fisher,
    check_labels,
    check_least_squares_classifier,
    check_least_squares_regressor,
    check_psvm,
    check_reject_option,
    check_search,
    check_sphered,
    check_steps,
)
from ._kernels import (
    check_feature_map,
    check_feature_table,
    check_fingerprints,
    check_fisher_scores,
    check_kernel,
    check_log_odds,
    check_named_counts,
    check_parts,
    check_prepared_sequences,
)
from ._moments import check_plan, check_sums
from ._preprocessing import PREPROCESSING, check_table_encoder
from ._selection import (
    check_feature_group,
    check_gene_selector,
    check_knockoff_selector,
    check_present_call,
    check_relations,
    check_scaled,
    check_selector,
    check_stability,
    check_stability_parameters,
    check_through_origin,
)
from ._sklearn import MADE_AGAIN, SKLEARN, check_shapes
from ._state import State
