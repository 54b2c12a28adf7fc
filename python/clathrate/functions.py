"""Functions of encrypted arrays, which take plain arrays too: those with a stated error, those that join arrays, and norms.

NumPy's own names work on encrypted arrays where there is a counterpart: `np.exp(ct)`, `np.concatenate([x, y])`.
"""

from ._arrays import concatenate, hstack, stack, vstack, where
from ._convolution import avg_pool2d, conv2d
from ._norms import norm, std
from ._signs import absolute, maximum, minimum, relu, sign
from ._smooth import exp, gelu, inverse, inverse_sqrt, log, sigmoid, silu, sqrt, tanh
from ._softmax import softmax

__all__ = [
    "absolute",
    "avg_pool2d",
    "concatenate",
    "conv2d",
    "exp",
    "gelu",
    "hstack",
    "inverse",
    "inverse_sqrt",
    "log",
    "maximum",
    "minimum",
    "norm",
    "relu",
    "sigmoid",
    "sign",
    "silu",
    "softmax",
    "sqrt",
    "stack",
    "std",
    "tanh",
    "vstack",
    "where",
]
