"""Classes of results, for annotations: functions and methods return them, and nobody constructs them."""

from ._choose import ParamsChoice
from ._ciphertext.sharing import Comparison
from ._layout import Layout
from ._params.reports import Explanation, SwitchingReport
from ._polynomial import PolynomialExplanation
from ._program import Check, DecryptedValue, OwnerPart, Task
from ._trace import StageCost, Trace
from ._transposed import TransposedCiphertext

__all__ = [
    "Check",
    "Comparison",
    "DecryptedValue",
    "Explanation",
    "Layout",
    "OwnerPart",
    "ParamsChoice",
    "PolynomialExplanation",
    "StageCost",
    "SwitchingReport",
    "Task",
    "Trace",
    "TransposedCiphertext",
]
