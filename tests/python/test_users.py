"""What users do with real data, as programs: models on a medical table, statistics, layers of a transformer, threads and processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import clathrate as cl

datasets = pytest.importorskip("sklearn.datasets")

# As n14 and longer chains, at a degree that protects nothing.
SMALL = cl.Params(degree=1024, steps=[[30, 30], *[40] * 7], special=[44, 44], log2_scale=40, insecure=True, name="small")
LONG = cl.Params(degree=1024, steps=[[30, 30], *[40] * 34], special=[44] * 6, log2_scale=40, insecure=True, name="long")


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training records and diagnoses, then others; 30 standardised measurements each."""
    table, diagnoses = datasets.load_breast_cancer(return_X_y=True)
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    order = np.random.default_rng(5).permutation(len(table))
    train, test = order[:455], order[455:]
    return table[train], diagnoses[train].astype(float), table[test], diagnoses[test].astype(float)


def descent(records, diagnoses, weights, steps: int, sigmoid, mean):
    """Gradient descent for a logistic regression; records are columns."""
    for _ in range(steps):
        scores = (records * weights).sum(axis=0)
        gradient = mean(records * (sigmoid(scores) - diagnoses))
        weights = weights - 0.5 * gradient
    return weights


def test_a_model_predicts_on_encrypted_records_as_on_clear_ones(cancer) -> None:
    from sklearn.linear_model import LogisticRegression

    records, diagnoses, others, truth = cancer
    model = LogisticRegression().fit(records, diagnoses)
    params = cl.Params.preset("insecure_matmul")
    key = cl.SecretKey.generate(params)
    # A record is a column: the weights are the plain matrix on the left, and no key is needed.
    encrypted = key.encrypt(others.T)
    scores = key.decrypt(model.coef_ @ encrypted + model.intercept_[:, None])[0]
    np.testing.assert_allclose(scores, model.decision_function(others), atol=1e-4)
    accuracy = np.mean((scores > 0) == truth)
    assert accuracy == model.score(others, truth)
    assert accuracy > 0.95


def test_a_model_is_trained_on_encrypted_records(cancer) -> None:
    records, diagnoses, others, truth = cancer
    key = cl.SecretKey.generate(LONG)
    steps, start = 3, np.zeros((30, 1))

    def encrypted_descent(x, y):
        def mean(gradients):
            return gradients.mean(axis=1, keepdims=True)

        first = x.mean(axis=1, keepdims=True) * 0
        return descent(x, y, first, steps, lambda s: cl.functions.sigmoid(s, domain=(-16, 16), error=0.02), mean)

    found = cl.plans.trace(encrypted_descent, (30, 455), (455,), params=LONG, encoding="slots")
    keys = key.evaluation_keys(found.needs)
    x = key.encrypt(records.T, encoding="slots").with_keys(keys)
    y = key.encrypt(diagnoses, encoding="slots").with_keys(keys)
    weights = key.decrypt(encrypted_descent(x, y))
    clear = descent(
        records.T,
        diagnoses,
        start,
        steps,
        lambda s: cl.functions.sigmoid(s, domain=(-16, 16), error=0.02),
        lambda g: g.mean(axis=1, keepdims=True),
    )
    np.testing.assert_allclose(weights, clear, atol=1e-3)

    # As NumPy has them: a record is a row, and rows share polynomials.
    def descent_by_rows(x, y, weights):
        for _ in range(steps):
            wrong = cl.functions.sigmoid(x @ weights, domain=(-16, 16), error=0.02) - y
            weights = weights - 0.5 * (x * wrong.reshape(-1, 1)).mean(axis=0)
        return weights

    # The diagnoses are encrypted, too, each in all slots of a row: where the scores are.
    places, each = {"encoding": "slots", "lanes": "most"}, {"capacity": 16, "copies": 32}
    keys = key.keys_for(lambda x, y: descent_by_rows(x, y, x.mean(axis=0) * 0), (455, 30), cl.Input((455,), **each), **places)
    x = key.encrypt(records, **places).with_keys(keys)
    y = key.encrypt(diagnoses, **places, **each)
    assert (x.layout.lanes, x.layout.bundles) == (16, 29)
    by_rows = key.decrypt(descent_by_rows(x, y, x.mean(axis=0) * 0))
    np.testing.assert_allclose(by_rows[:, None], clear, atol=1e-3)
    right = np.mean(((others @ weights)[:, 0] > 0) == truth)
    assert right == np.mean(((others @ clear)[:, 0] > 0) == truth)
    assert right > 0.93


def test_statistics_of_a_table(cancer) -> None:
    table = cancer[0]

    def statistics(x):
        means = x.mean(axis=0)
        return means, x.var(axis=0, ddof=1), (x[0] * x[1]).mean() - x[0].mean() * x[1].mean()

    # Columns of the table are rows here, so that a measurement is a vector in slots.
    by_measurement = table.T

    def of_measurements(x):
        means = x.mean(axis=1)
        return means, x.var(axis=1, ddof=1), (x[0] * x[1]).mean() - x[0].mean() * x[1].mean()

    key = cl.SecretKey.generate(SMALL)
    keys = key.keys_for(of_measurements, by_measurement.shape, encoding="slots")
    means, variances, covariance = of_measurements(key.encrypt(by_measurement, encoding="slots").with_keys(keys))
    np.testing.assert_allclose(key.decrypt(means), table.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(key.decrypt(variances), table.var(axis=0, ddof=1), atol=1e-4)
    assert abs(key.decrypt(covariance) - np.cov(table[:, 0], table[:, 1], bias=True)[0, 1]) < 1e-4
    # The other way round, rows are records, and nothing but the covariance needs a rotation.
    keys = key.keys_for(lambda x: (x.mean(axis=0), x.var(axis=0, ddof=1)), table.shape, encoding="slots")
    assert keys.rotations == []
    x = key.encrypt(table, encoding="slots").with_keys(keys)
    np.testing.assert_allclose(key.decrypt(x.mean(axis=0)), table.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(key.decrypt(x.var(axis=0, ddof=1)), table.var(axis=0, ddof=1), atol=1e-4)
    assert statistics(table)[0].shape == (30,)


@pytest.mark.parametrize("tokens", [1, 7, 300, pytest.param(5000, marks=pytest.mark.full)])
def test_layers_of_a_transformer_for_any_number_of_tokens(tokens: int) -> None:
    """Weights of the size of MiniLM's, 384 x 384, on activations of as many tokens."""
    rng = np.random.default_rng(tokens)
    weights, bias = rng.normal(scale=0.05, size=(384, 384)), rng.normal(size=(384, 1))
    activations = rng.normal(size=(384, tokens))
    key = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    outputs = key.decrypt(weights @ key.encrypt(activations) + bias)
    np.testing.assert_allclose(outputs, weights @ activations + bias, atol=1e-4)


def test_threads_compute_on_shared_arrays(cancer) -> None:
    key = cl.SecretKey.generate(SMALL)
    rows = cancer[0][:8]
    keys = key.keys_for(lambda x: (x * x).sum(), (30,))
    arrays = [key.encrypt(row).with_keys(keys) for row in rows]
    with ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(lambda x: key.decrypt((x * x).sum()), arrays * 4))
    np.testing.assert_allclose(sums, np.tile((rows * rows).sum(axis=1), 4), atol=1e-4)


WORKER = """
import pickle, sys
import numpy as np
import clathrate as cl
data, keys = pickle.load(sys.stdin.buffer)
x = data.with_keys(keys)
sys.stdout.buffer.write(pickle.dumps((x - x.mean()) ** 2))
"""


def test_another_process_computes_on_pickles(cancer, tmp_path: Path) -> None:
    key = cl.SecretKey.generate(SMALL)
    row = cancer[0][0]
    keys = key.keys_for(lambda x: (x - x.mean()) ** 2, row.shape)
    sent = pickle.dumps((key.encrypt(row), keys))
    done = subprocess.run([sys.executable, "-c", WORKER], input=sent, capture_output=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    np.testing.assert_allclose(key.decrypt(pickle.loads(done.stdout)), (row - row.mean()) ** 2, atol=1e-4)
