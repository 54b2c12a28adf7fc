"""For experts: dry runs of functions, and plans of single circuits, which `clathrate.compile` makes by itself."""

from ._bootstrap import BootstrapPlan, bootstrap_batch
from ._mambo import MamboMatrix, MamboPlan, mambo
from ._matrices import MatrixPlan, PreparedMatrix
from ._packing import PackingPlan
from ._polynomial import Polynomial, PolynomialPlan
from ._samples import PreparedSamples, SamplesPlan, bootstrap_samples
from ._trace import trace
from ._transforms import LinearTransform, LinearTransformPlan

__all__ = [
    "BootstrapPlan",
    "LinearTransform",
    "LinearTransformPlan",
    "MamboMatrix",
    "MamboPlan",
    "MatrixPlan",
    "PackingPlan",
    "Polynomial",
    "PolynomialPlan",
    "PreparedMatrix",
    "PreparedSamples",
    "SamplesPlan",
    "bootstrap_batch",
    "bootstrap_samples",
    "mambo",
    "trace",
]
