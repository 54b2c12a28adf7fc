"""Convolutions of encrypted images beside their definition: alone, and in networks, where results lie in the grids of their images."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clathrate as cl

F = cl.functions
RNG = np.random.default_rng(11)


def by_definition(x, kernel, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    (outputs, inputs, height, width), own = kernel.shape, outputs_of(x, kernel, stride, padding, dilation)
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(padding[0],) * 2, (padding[1],) * 2])
    result = np.zeros((*x.shape[:-3], outputs, *own))
    for o, c, i, j in itertools.product(range(outputs), range(inputs), range(height), range(width)):
        channel = padded[..., o // (outputs // groups) * inputs + c, :, :]
        rows = channel[..., i * dilation[0] : i * dilation[0] + own[0] * stride[0] : stride[0], :]
        pixels = rows[..., j * dilation[1] : j * dilation[1] + own[1] * stride[1] : stride[1]]
        result[..., o, :, :] += kernel[o, c, i, j] * pixels[..., : own[0], : own[1]]
    return result


def outputs_of(x, kernel, stride, padding, dilation):
    return tuple(
        (x.shape[axis - 2] + 2 * padding[axis] - dilation[axis] * (kernel.shape[axis - 2] - 1) - 1) // stride[axis] + 1 for axis in (0, 1)
    )


def run(function, *data, error=1e-3, **options):
    """The results of a program of `function`, checked against its bounds; and the program."""
    program = cl.compile(function, *[cl.Input(array.shape, bound=1.0) for array in data], error=error, **options)
    owner = cl.SecretKey.generate(program)
    result = (
        program.run(owner.keys(program), *owner.encrypt(program, *data))
        if len(data) > 1
        else program.run(owner.keys(program), owner.encrypt(program, data[0]))
    )
    (stated,) = program.results
    assert (result.shape, result.level) == (stated.shape, stated.level)
    found, expected = owner.decrypt(result), function(*data)
    assert np.abs(found - expected).max() <= stated.error_bound <= error
    return program


sizes = st.tuples(st.integers(1, 9), st.integers(1, 9))


@settings(max_examples=60, deadline=None)
@given(sizes, st.tuples(st.integers(1, 3), st.integers(1, 3)), st.data())
def test_plain_images(size, window, data):
    groups, inputs, each = (data.draw(st.integers(1, 3)) for _ in range(3))
    pair = lambda least, most: data.draw(st.tuples(st.integers(least, most), st.integers(least, most)))  # noqa: E731
    stride, padding, dilation = pair(1, 3), pair(0, 2), pair(1, 2)
    leading = data.draw(st.sampled_from([(), (2,), (2, 1)]))
    x, kernel = RNG.normal(size=(*leading, groups * inputs, *size)), RNG.normal(size=(groups * each, inputs, *window))
    if min(outputs_of(x, kernel, stride, padding, dilation)) < 1:
        with pytest.raises(cl.errors.ShapeError, match="add padding"):
            F.conv2d(x, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups)
        return
    found = F.conv2d(x, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups)
    np.testing.assert_allclose(found, by_definition(x, kernel, stride, padding, dilation, groups), atol=1e-12)


K = {size: RNG.normal(size=size) / 8 for size in [(4, 3, 3, 3), (8, 4, 3, 3), (8, 4, 1, 1), (5, 8, 2, 2), (4, 1, 5, 5), (2, 4, 3, 3)]}
BIAS, W = RNG.normal(size=4), RNG.normal(size=(10, 128)) / 10
IMAGE, WIDE = RNG.uniform(-1, 1, (3, 8, 8)), RNG.uniform(-1, 1, (1, 14, 14))


def square(x):
    return x * x


def residual(x):
    h = square(F.conv2d(x, K[4, 3, 3, 3], BIAS, padding=1))
    return (square(F.conv2d(h, K[8, 4, 3, 3], stride=2, padding=1)) + F.conv2d(h, K[8, 4, 1, 1], stride=2)).mean(axis=(1, 2))


def twice(x):
    h = square(F.conv2d(x, K[4, 3, 3, 3], BIAS, stride=2, padding=1))
    return F.conv2d(h, K[8, 4, 3, 3], stride=2, padding=1).sum(axis=(-1, -2), keepdims=True)


@pytest.mark.parametrize(
    ("function", "image"),
    [
        (lambda x: W[:, :64] @ square(F.conv2d(x, K[4, 3, 3, 3], BIAS, padding=1)[..., ::2, 1::2]).reshape(-1), IMAGE),
        (lambda x: W[:, :64] @ square(F.conv2d(x, K[4, 3, 3, 3], BIAS, stride=2, padding=1)).reshape(-1), IMAGE),
        (lambda x: square(F.conv2d(x, K[4, 3, 3, 3], stride=2, padding=1)).reshape(-1) @ W[0, :64], IMAGE),
        (residual, IMAGE),
        (twice, IMAGE),
        (lambda x: F.avg_pool2d(square(F.conv2d(x, K[4, 1, 5, 5])), 2), WIDE),
        (lambda x: F.conv2d(F.avg_pool2d(square(F.conv2d(x, K[4, 1, 5, 5])), 2), K[2, 4, 3, 3]) * RNG_FACTORS + 0.25, WIDE),
        (lambda x: F.conv2d(x, K[4, 3, 3, 3], stride=2) / (2 + RNG_FACTORS_3) - RNG_FACTORS_3, IMAGE),
        (lambda x: 1 - F.conv2d(x, K[4, 3, 3, 3], stride=3, padding=2) * 2 + IMAGE[0, :1, :1], IMAGE),
        (lambda x: F.tanh(F.conv2d(x, K[4, 3, 3, 3], stride=2)).mean(axis=(-1, -2)), IMAGE),
        (lambda x: F.exp(F.conv2d(x, K[4, 3, 3, 3], stride=2), domain=(-3.0, 3.0)).sum(axis=0), IMAGE),
    ],
)
def test_networks(function, image):
    run(function, image)


RNG_FACTORS, RNG_FACTORS_3 = RNG.uniform(0.5, 1, (2, 3, 3)), RNG.uniform(0.5, 1, (4, 3, 3))


def test_results_in_grids_take_no_other_levels():
    """Two convolutions, the square of each, the mean and the weights take a level each; nothing is moved."""
    program = run(lambda x: W[:, :8] @ residual(x), IMAGE)
    assert "gathered" not in program.graph()
    assert program.level - program.results[0].level == 6


@pytest.mark.parametrize("stride", [8, 1000, (1, 10**9)])
def test_strides_beyond_the_image(stride):
    run(lambda x: F.conv2d(x, K[4, 3, 3, 3][..., :1], stride=stride, padding=(0, 0)), IMAGE[:, :3, :8])


def test_a_kernel_of_zeros():
    run(lambda x: F.conv2d(x, np.zeros((2, 3, 2, 2))) + x.sum(), IMAGE)


def test_many_images():
    function = lambda x: F.avg_pool2d(square(F.conv2d(x, K[4, 3, 3, 3], stride=2, padding=1)), 2)  # noqa: E731
    images = RNG.uniform(-1, 1, (3, 3, 8, 8))
    program = cl.compile(function, cl.Input((3, 8, 8), bound=1.0), error=1e-3, batch=3)
    owner = cl.SecretKey.generate(program)
    found = owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, images)))
    assert np.abs(found - function(images)).max() <= program.results[0].error_bound


def test_a_kernel_that_is_given_when_the_program_runs(tmp_path):
    kernel = K[4, 3, 3, 3].copy()
    kernel[1, 2] = 0.0
    program = cl.compile(
        lambda x, k: F.conv2d(x, k, stride=2, padding=1),
        cl.Input((3, 8, 8), bound=1.0),
        cl.Input(kernel.shape, bound=1.0, plain=True),
        error=1e-3,
    )
    program.save(tmp_path / "p.program")
    program = cl.load(tmp_path / "p.program")
    owner = cl.SecretKey.generate(program)
    found = owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, IMAGE), kernel))
    assert np.abs(found - F.conv2d(IMAGE, kernel, stride=2, padding=1)).max() <= program.results[0].error_bound


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: F.conv2d(IMAGE, K[4, 3, 3, 3], stride=0), cl.errors.DataError, "stride is 1 or more"),
        (lambda: F.conv2d(IMAGE, K[4, 3, 3, 3], padding=-1), cl.errors.DataError, "padding is 0 or more"),
        (lambda: F.conv2d(IMAGE, K[4, 3, 3, 3], padding="full"), ValueError, '"valid" or "same"'),
        (lambda: F.conv2d(IMAGE, K[4, 3, 3, 3], padding="same", stride=2), cl.errors.DataError, "takes a stride of 1"),
        (lambda: F.conv2d(IMAGE, K[4, 3, 3, 3][0]), cl.errors.ShapeError, "a kernel has shape"),
        (lambda: F.conv2d(IMAGE, K[8, 4, 3, 3]), cl.errors.ShapeError, "for 1 groups of 3 channels"),
        (lambda: F.conv2d(IMAGE[0], K[4, 3, 3, 3]), cl.errors.ShapeError, "channels, rows, columns"),
        (lambda: cl.functions.avg_pool2d(IMAGE, 9), cl.errors.ShapeError, "add padding"),
        (lambda: F.avg_pool2d(IMAGE[0], 2), cl.errors.ShapeError, "images have shape"),
        (lambda: F.conv2d(IMAGE, K[4, 3, 3, 3], groups=0), cl.errors.DataError, "groups 0"),
    ],
)
def test_what_does_not_fit_is_named(call, error, part):
    with pytest.raises(error, match=part):
        call()


def test_same_padding():
    np.testing.assert_allclose(
        cl.functions.conv2d(IMAGE, K[4, 3, 3, 3], padding="same"), by_definition(IMAGE, K[4, 3, 3, 3], padding=(1, 1))
    )


def test_what_is_not_kept_is_counted_in_the_time_of_each_run():
    rng = np.random.default_rng(5)
    images, kernel = rng.uniform(-1, 1, (2, 8, 8)), rng.uniform(-1, 1, (2, 2, 3, 3))

    def program(mib):
        params = cl.Params.preset("insecure_small", cl.Runtime(plaintext_cache_mib=mib))
        return cl.compile(lambda x: cl.functions.conv2d(x, kernel), cl.Input(images.shape, bound=1.0), params=params)

    kept, passing = program(64), program(0)
    assert kept.encoding_seconds > 0 == passing.encoding_seconds
    assert passing.seconds == pytest.approx(kept.seconds + kept.encoding_seconds)
    assert 0 < passing.plaintext_bytes == kept.plaintext_bytes < 64 * 2**20
    expected = cl.functions.conv2d(images, kernel)
    for own in (kept, passing):
        owner = cl.SecretKey.generate(own)
        keys, x = owner.keys(own), owner.encrypt(own, images)
        for _ in range(2):
            assert np.abs(owner.decrypt(own.run(keys, x)) - expected).max() < 1e-4


def test_a_budget_of_the_predicted_bytes_keeps_all():
    matrix = np.random.default_rng(6).uniform(-1, 1, (64, 64)) / 64

    def program(mib):
        params = cl.Params.preset("insecure_small")
        return cl.compile(lambda x: matrix @ x, cl.Input((64,), bound=1.0), params=params, runtime=cl.Runtime(plaintext_cache_mib=mib))

    all_of_it = program(64)
    assert all_of_it.params.runtime.plaintext_cache_mib == 64
    mib = all_of_it.plaintext_bytes / 2**20
    assert program(mib).encoding_seconds == all_of_it.encoding_seconds > 0
    assert program(0.99 * mib).encoding_seconds == 0


def test_programs_follow_the_threads_that_were_set():
    before = cl.get_threads()
    try:
        threads = []
        for count in (1, 2):
            cl.set_threads(count)
            threads.append(cl.compile(lambda x: x * x, cl.Input((8,), bound=1.0)).params.runtime.threads)
    finally:
        cl.set_threads(before)
    assert threads == [1, 2]
