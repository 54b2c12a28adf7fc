"""What programs in the tests of errors are made of: layouts, numbers, weights, and steps that take encrypted and plain arrays alike."""

import numpy as np

import clathrate as cl

SLOTS, COEFFICIENTS = {"encoding": "slots"}, {"encoding": "coefficients"}
LANES = {"encoding": "slots", "lanes": "most"}
PLACES = np.arange(256)
EVEN = np.random.default_rng(5).uniform(-1, 1, (1000, 4))
WEIGHTS = np.random.default_rng(3).normal(size=(5, 6))
STOCHASTIC = np.random.default_rng(0).uniform(size=(32, 32))
STOCHASTIC /= STOCHASTIC.sum(axis=0)


def rolled(x, steps):
    return np.roll(x, -steps) if isinstance(x, np.ndarray) else x.rotate(steps)


def below(x, bound):
    return x if isinstance(x, np.ndarray) else x.with_bound(bound)


def squares(x):
    return x * x


def approximation(sign):
    return cl.plans.Polynomial.fit(lambda t: sign * np.sin(2 * t), 7)
