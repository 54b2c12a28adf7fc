"""`clathrate.progress`: calls in its block report, operators too."""

import sys
import threading

import numpy as np
import pytest

import clathrate as cl

ROWS = 4


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    key = cl.SecretKey.generate(params)
    keys = key.keys_for(lambda x: cl.plans.Polynomial.fit(np.tanh, 15)(x) * x.conj() + x.rotate(1), (ROWS, 256), encoding="slots")
    x = key.encrypt(np.full((ROWS, 256), 0.5), encoding="slots").with_keys(keys)
    return key, x


OPERATIONS = {
    "product": lambda x: x * x,
    "power": lambda x: x**2,
    "polynomial": cl.plans.Polynomial.fit(np.tanh, 15),
    "rotation": lambda x: x.rotate(1),
    "conjugate": lambda x: x.conj(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operators_count_ciphertexts(deep, name):
    _, x = deep
    seen = []
    with cl.progress(lambda done, total: seen.append((done, total))):
        OPERATIONS[name](x)
        OPERATIONS[name](x[:1])
    assert seen == [(done, ROWS) for done in range(ROWS + 1)]
    OPERATIONS[name](x)
    assert len(seen) == ROWS + 1


def test_calls_with_an_argument_count_what_the_argument_counts(small, rng):
    data, weights = rng.normal(size=(10, 8)), np.ones((2, 10))
    seen, own, reported = [], [], []
    ct = small.key.encrypt(data)
    with cl.progress(lambda done, total: seen.append((done, total))):
        small.key.encrypt(data)
        small.key.encrypt(data, progress=lambda done, total: own.append((done, total)))
        small.key.encrypt(data, progress=False)
    assert seen == own == [(done, 10) for done in range(11)]
    ct.matmul(weights, progress=lambda done, total: reported.append((done, total)))
    seen.clear()
    with cl.progress(lambda done, total: seen.append((done, total))):
        weights @ ct
    assert seen == reported
    assert seen


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("at", [0, 2, ROWS])
def test_the_function_stops_operators(deep, name, at):
    _, x = deep
    with cl.progress(lambda done, total: done < at), pytest.raises(cl.errors.CancelledError, match="stopped"):
        OPERATIONS[name](x)

    def fail(done, total):
        if done == at:
            raise ZeroDivisionError("from the function")

    with cl.progress(fail), pytest.raises(ZeroDivisionError, match="from the function"):
        OPERATIONS[name](x)
    OPERATIONS[name](x)


def test_blocks_nest_and_end_with_errors(deep):
    _, x = deep
    outer, inner = [], []
    with cl.progress(lambda *steps: outer.append(steps)):
        with cl.progress(lambda *steps: inner.append(steps)):
            x * x
        with cl.progress(False):
            x * x
        assert (len(outer), len(inner)) == (0, ROWS + 1)
        x * x
    assert (len(outer), len(inner)) == (ROWS + 1, ROWS + 1)
    with pytest.raises(KeyError), cl.progress(lambda *steps: outer.append(steps)):
        raise KeyError
    x * x
    assert len(outer) == ROWS + 1


def test_the_function_may_compute_and_is_not_told_of_it(deep):
    _, x = deep
    sums = []
    with cl.progress(lambda done, total: sums.append(x.rotate(1).shape)):
        x * x
    assert sums == [(ROWS, 256)] * (ROWS + 1)


def test_other_threads_report_to_their_own_blocks(deep):
    _, x = deep
    seen = []
    with cl.progress(lambda *steps: seen.append(steps)):
        other = threading.Thread(target=lambda: x * x)
        other.start()
        other.join()
    assert seen == []


def test_bars_are_drawn_for_what_takes_long(deep, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    key, x = deep
    monkeypatch.setattr("clathrate._progress._DELAY", 0.0)
    with cl.progress():
        square = x * x
        key.decrypt(square)
    drawn = capsys.readouterr().err
    assert "computing: " in drawn
    assert "decrypt: " in drawn
    assert f"0/{ROWS}" in drawn
    monkeypatch.undo()
    with cl.progress():
        x[:2] * x[:2]
    assert capsys.readouterr().err.strip() == ""


def test_without_tqdm_a_warning_and_no_bars(deep, monkeypatch):
    _, x = deep
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.warns(RuntimeWarning, match=r"cl\.progress.*clathrate\[progress\]") as caught, cl.progress():
        x * x
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("wrong", [None, 1, "yes", []])
def test_of_another_type_is_a_type_error(wrong):
    with pytest.raises(TypeError, match=r"not (NoneType|int|str|list)"), cl.progress(wrong):
        pass


def test_files_count_mebibytes_and_stop_where_the_callback_says_so(tmp_path):
    key = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    # Some hundred megabytes, so that several reports come between two looks at the clock.
    large = key.public_key().encrypt(np.ones((2000, 1)), encoding="slots")
    path, new = tmp_path / "large.clt", tmp_path / "new.clt"
    large.save(path)
    data = large.to_bytes()
    calls = {
        "save": lambda: large.save(new),
        "load": lambda: cl.load(path, large.params),
        "to_bytes": large.to_bytes,
        "from_bytes": lambda: cl.from_bytes(data, large.params),
    }
    for name, call in calls.items():
        seen = []
        with cl.progress(lambda done, total, seen=seen: seen.append((done, total))):
            call()
        totals = {total for _, total in seen}
        assert len(totals) <= 1, name
        assert all(0 <= done <= total for done, total in seen), name
        assert seen == sorted(seen), name
        # A machine that is faster than one look at the clock has nothing to report, and nothing to stop.
        if seen:
            new.unlink(missing_ok=True)
            with cl.progress(lambda done, total: False), pytest.raises(cl.errors.CancelledError):
                call()
            assert not new.exists(), name
    assert len(cl.load(path, large.params).shape) == 2
