"""Convolutions and means of neighbouring pixels, as networks have them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as native
from ._approximation import encrypted_or_numbers
from ._reading import numbers
from ._wrapping import wrap
from .errors import DataError, ShapeError

if TYPE_CHECKING:
    from ._typing import Pair


def _pair(value: Any, name: str, least: int) -> tuple[int, int]:
    """A number for both axes, or one for each."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(given) != 2:
        raise DataError(f"{name} is one number, or two for rows and columns: {value!r}")
    rows, columns = (operator.index(own) for own in given)
    if min(rows, columns) < least:
        raise DataError(f"{name} is {least} or more: {value!r}")
    return rows, columns


def conv2d(x: Any, weight: Any, bias: Any = None, *, stride: Pair = 1, padding: Pair | str = 0, dilation: Pair = 1, groups: int = 1) -> Any:
    """The convolution of images with a kernel, as `torch.nn.functional.conv2d` has it: the kernel is not reversed.

    It takes one level. In a program the results of strides lie so that the next convolution takes few rotations; at other strides than 1
    an operation on ciphertexts without a program is refused where numbers move by more than 2048 distances.

    Parameters
    ----------
    x : Ciphertext or array_like
        The images, of shape (.., channels, rows, columns).
    weight : array_like
        The kernel, of shape (channels of the result, channels / groups, rows, columns).
    bias : array_like, optional
        A number for each channel of the result, which is added.
    stride : int or (int, int), optional
        Pixels from one place of the kernel to the next, along rows and columns. The default is 1.
    padding : int, (int, int), "valid" or "same", optional
        Zeros around the images. "valid" is 0; "same" gives results of the size of the images, for a stride of 1.
        The default is 0.
    dilation : int or (int, int), optional
        Pixels from one weight of the kernel to the next. The default is 1.
    groups : int, optional
        Groups of channels, of which each has kernels of its own. The default is 1.

    Returns
    -------
    Ciphertext or ndarray
        The result, of shape (.., channels of the result, rows, columns).

    Raises
    ------
    ShapeError
        Where the images, the kernel and the padding do not fit.
    DataError
        For a stride, a dilation or a padding that is negative, or no number; for padding="same" with a stride or an even span;
        for numbers that move by more than 2048 distances.
    ClathrateError
        As `x @ W`.

    Examples
    --------
    >>> image = np.arange(16.0).reshape(1, 4, 4)
    >>> edges = np.array([[[[1.0, -1.0]]]])
    >>> cl.functions.conv2d(image, edges)[0, 0]
    array([-1., -1., -1.])
    >>> program = cl.compile(lambda x: cl.functions.conv2d(x, edges), cl.Input((1, 4, 4), bound=16), error=1e-3)
    >>> owner = cl.SecretKey.generate(program)
    >>> owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, image))).round(2)[0, 0]
    array([-1., -1., -1.])
    """
    steps, spread = _pair(stride, "stride", 1), _pair(dilation, "dilation", 1)
    kernel = numbers(weight)
    shape = np.shape(kernel) if not isinstance(kernel, native.PlainSymbol) else tuple(kernel.shape)
    if len(shape) != 4:
        raise ShapeError(f"a kernel has shape (channels of the result, channels / groups, rows, columns), and this one {shape}")
    around = _padding(padding, shape[2:], steps, spread)
    result = wrap(native.convolved(encrypted_or_numbers(x), kernel, steps, around, spread, operator.index(groups)))
    return result if bias is None else result + np.reshape(bias, (-1, 1, 1))


def _padding(padding: Any, kernel: Any, stride: tuple[int, int], dilation: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(padding, str):
        return _pair(padding, "padding", 0)
    if padding == "valid":
        return 0, 0
    if padding != "same":
        raise DataError(f'padding is a number, two, "valid" or "same": {padding!r}')
    rows, columns = ((own - 1) * step for own, step in zip(kernel, dilation, strict=True))
    if stride != (1, 1) or rows % 2 or columns % 2:
        raise DataError(
            'padding="same" takes a stride of 1, and as many pixels on both sides: give the padding in numbers for this stride and kernel'
        )
    return rows // 2, columns // 2


def avg_pool2d(x: Any, size: Pair, stride: Pair | None = None) -> Any:
    """The means of neighbouring pixels, as `torch.nn.functional.avg_pool2d` without padding.

    Parameters
    ----------
    x : Ciphertext or array_like
        The images, of shape (.., channels, rows, columns).
    size : int or (int, int)
        Rows and columns of the pixels of a mean.
    stride : int or (int, int), optional
        Pixels from one mean to the next. The default is `size`.

    Returns
    -------
    Ciphertext or ndarray
        The means, of shape (.., channels, rows, columns).

    Raises
    ------
    ShapeError
        Where `size` does not fit into the images.
    DataError
        For a size or a stride below 1.
    ClathrateError
        As `conv2d`.

    Examples
    --------
    >>> cl.functions.avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]])
    """
    rows, columns = _pair(size, "size", 1)
    shape = np.shape(x)
    if len(shape) < 3:
        raise ShapeError(f"images have shape (.., channels, rows, columns), and these {shape}")
    channels = shape[-3]
    kernel = np.full((channels, 1, rows, columns), 1.0 / (rows * columns))
    return conv2d(x, kernel, stride=size if stride is None else stride, groups=channels)
