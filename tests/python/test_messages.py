"""Messages name the Python call that helps, and the library that an operand comes from."""

from __future__ import annotations

import ast
import operator
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import clathrate as cl

X = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def ct(small) -> cl.Ciphertext:
    return small.key.encrypt(X, encoding="slots")


def test_missing_keys_name_the_calls_that_make_and_attach_them(small, ct):
    for operation in (lambda: ct * ct, lambda: ct.rotate(1), lambda: ct.conj()):
        with pytest.raises(cl.errors.MissingKeyError) as caught:
            operation()
        message = str(caught.value)
        assert "`keys = secret_key.keys_for(function, x.shape)`" in message
        assert "`ct = ct.with_keys(keys)`" in message
        assert "evaluator" not in message
    bare = ct.with_keys(small.key.evaluation_keys(cl.keys.Needs(rotations=[2])))
    for operation, call in (
        (lambda: bare * bare, r"cl\.keys\.Needs\(relinearise=True\)"),
        (lambda: bare.conj(), r"cl\.keys\.Needs\(conjugate=True\)"),
        (
            lambda: bare.rotate(1),
            r"have 2: make keys with `secret_key\.keys_for\(function, x\.shape\)`.* or `cl\.keys\.Needs\(rotations=\[1\]\)`",
        ),
    ):
        with pytest.raises(cl.errors.MissingKeyError, match=call):
            operation()


def test_missing_keys_of_other_ranks_name_their_needs():
    params = cl.Params.preset("insecure_dpad")
    key = cl.SecretKey.generate(params)
    ct = key.encrypt([1.0, 2.0], level=0).with_keys(key.evaluation_keys(cl.keys.Needs(relinearise=True)))
    with pytest.raises(cl.errors.MissingKeyError, match=r"cl\.keys\.Needs\(ranks=\[2\]\)"):
        ct.to_rank(2)
    with pytest.raises(cl.errors.MissingKeyError, match=r"degree 1024 and rank 1 .* `cl\.keys\.Needs\(\.\.\., to_rlwe=True\)`"):
        ct.to_rlwe()


def test_keys_of_lower_levels_name_both_remedies(small, ct):
    low = ct.with_keys(small.key.evaluation_keys(cl.keys.Needs(rotations=[1], level=2)))
    with pytest.raises(cl.errors.LevelError, match=r"`ct\.drop_to_level\(2\)`, or make keys with `cl\.keys\.Needs\(\.\.\., level=5\)`"):
        low.rotate(1)


@pytest.mark.parametrize("scale", [-1, 0, -1e300, float("nan"), float("inf"), float("-inf")])
def test_scales_that_are_no_positive_number_are_refused_as_they_were_given(small, scale):
    calls = [
        lambda: small.key.encrypt([1.0], scale=scale),
        lambda: small.key.public_key().encrypt([1.0], scale=scale),
        lambda: cl.plans.trace(lambda x: x, (3,), params=small.params, scale=scale),
        lambda: cl.plans.Polynomial([0.0, 1.0, 1.0]).plan(small.params, scale=scale),
    ]
    for call in calls:
        with pytest.raises(cl.errors.ScaleError) as caught:
            call()
        assert str(caught.value).startswith(f"`scale` is {float(scale)!r}: use a positive number, ")
    with pytest.raises(cl.errors.ScaleError, match=r"`weight_scale` is .*: use a positive number, 1\.0 for a matrix of integers"):
        small.key.encrypt(X).matmul(np.ones((2, 2)), weight_scale=scale)


def test_other_encodings_name_the_one_that_is_needed(small, ct):
    dense = small.encrypt(X, encoding="coefficients")
    for call, operation in (
        (lambda: dense.rotate(1), "a rotation"),
        (lambda: dense.conj(), "conjugation"),
        (lambda: dense * dense, "a product of ciphertexts"),
        (lambda: dense * X, "an element-wise product"),
        (lambda: dense + 1j, "complex data"),
    ):
        with pytest.raises(cl.errors.ShapeError) as caught:
            call()
        expected = 'needs the encoding "slots", and "coefficients" was given: encrypt the array with `encoding="slots"`'
        assert str(caught.value) == f"{operation} {expected}"
    with pytest.raises(
        cl.errors.ShapeError, match=r'needs the encoding "coefficients", and "slots" was given: .* `encoding="coefficients"`'
    ):
        dense + ct
    # What no value of `encoding` gives is told in words.
    with pytest.raises(cl.errors.ShapeError, match="slots in natural order, and these are in bit-reversed order") as caught:
        small.encrypt([1.0, 2.0], order="bit-reversed").rotate(1)
    assert "encoding=" not in str(caught.value)


def test_secret_keys_in_the_way_name_the_call_that_replaces_them(small, tmp_path):
    small.key.save(tmp_path / "key")
    with pytest.raises(cl.errors.FileAccessError, match=r"`secret_key\.save\(path, overwrite=True\)`"):
        small.key.save(tmp_path / "key")


# --- operands of other libraries


def test_pandas_operands_work_element_by_element_and_are_named_in_matrix_products(small):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X)
    ct = small.key.encrypt(X, encoding="slots")
    for operation in (operator.add, operator.sub):
        assert small.error(operation(ct, frame), operation(X, X)) < 1e-6
        assert small.error(operation(frame, ct), operation(X, X)) < 1e-6
    assert small.error((frame * ct).rescale(), X * X) < 1e-6
    assert small.error(pandas.Series([1.0, 2.0, 3.0]) + ct, X + np.array([1.0, 2.0, 3.0])) < 1e-6
    square = pandas.DataFrame(np.eye(2))
    with pytest.raises(TypeError, match=r"a pandas object meets a ciphertext: .* `x\.to_numpy\(dtype=float\) @ ct`"):
        square @ ct
    assert small.error((square.to_numpy(dtype=float) @ ct).rescale(), X) < 1e-6
    assert small.error(ct.matmul(square).rescale(), X) < 1e-6
    with pytest.raises(TypeError, match=r"a pandas object cannot be used as it is \(its entries of dtype object are no numbers\)"):
        ct + pandas.DataFrame([["a", "b", "c"]])


def test_sparse_operands_of_scipy_are_named(small):
    sparse = pytest.importorskip("scipy.sparse")
    ct = small.key.encrypt(X, encoding="slots")
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        wide, square = kind(X), kind(np.eye(2))
        for operation in (
            lambda w=wide: ct + w,
            lambda w=wide: w + ct,
            lambda w=wide: ct - w,
            lambda w=wide: ct * w,
            lambda s=square: ct.matmul(s),
        ):
            with pytest.raises(TypeError, match=r"a SciPy sparse array cannot be used as it is .*`x\.toarray\(\)`"):
                operation()
        with pytest.raises(TypeError, match=r"a SciPy sparse array meets a ciphertext: .* `x\.toarray\(\) @ ct`"):
            square @ ct
        with pytest.raises(TypeError, match="a SciPy sparse array cannot be used"):
            small.key.encrypt(wide)
        assert small.error((square.toarray() @ ct).rescale(), X) < 1e-6


def stand_in(name: str, source: str) -> types.ModuleType:
    """A module of another library, as far as operators meet it."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(source, module.__dict__)
    finally:
        del sys.modules[name]
    return module


def test_libraries_are_known_by_the_module_that_reads_the_ciphertext(ct):
    dot = "import numpy as np\nclass Frame:\n    def __matmul__(self, other):\n        return np.ones((2, 2)) @ np.asarray(other)\n"
    for name, message in (
        ("pandas.core.frame", "a pandas object meets"),
        ("scipy.sparse._base", "a SciPy sparse array meets"),
        ("torch._tensor", r"a torch tensor meets .*`x\.detach\(\)\.cpu\(\)\.numpy\(\) @ ct`"),
        ("pandasque", r"a ciphertext is no array of numbers: .*`secret_key\.decrypt\(ct\)`"),
    ):
        with pytest.raises(TypeError, match=message):
            stand_in(name, dot).Frame() @ ct
    with pytest.raises(TypeError, match=r"a ciphertext is no array of numbers: .*`secret_key\.decrypt\(ct\)`"):
        np.asarray(ct)


def test_tensors_that_numpy_cannot_read_are_named_with_the_reason(ct):
    refusing = "class Tensor:\n    def __array__(self, dtype=None, copy=None):\n        raise RuntimeError('it requires grad')\n"
    tensor = stand_in("torch", refusing).Tensor()
    for operation in (lambda: ct + tensor, lambda: tensor * ct, lambda: tensor @ ct, lambda: ct.matmul(tensor)):
        with pytest.raises(
            TypeError, match=r"a torch tensor cannot be used as it is \(it requires grad\): .*`x\.detach\(\)\.cpu\(\)\.numpy\(\)`"
        ) as caught:
            operation()
        assert isinstance(caught.value.__cause__, RuntimeError)
    reading = "import numpy as np\nclass Tensor:\n    def __array__(self, dtype=None, copy=None):\n        return np.ones((2, 3))\n"
    assert (ct + stand_in("torch", reading).Tensor()).shape == (2, 3)


# --- names

# What programs in Rust alone reach.
OF_RUST = {"half_bootstrap", "slots_to_coefficients", "into_complex", "encode_for", "cache_bytes", "table_bytes"}


def names_of_the_package(folder: Path) -> set[str]:
    """The words that a user of the package reads: names of classes, functions and arguments, and docstrings."""
    words: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                words |= {node.name, *re.findall(r"\w+", ast.get_docstring(node) or "")}
            elif isinstance(node, ast.arg):
                words.add(node.arg)
    return words


def test_names_in_messages_of_the_core_are_pythons():
    """Texts of the core that name a function, an option or a type are read in Python, too."""
    root = Path(__file__).resolve().parents[2]
    known = OF_RUST | names_of_the_package(root / "python/clathrate")
    # Types of Rust whose Python names are others.
    types = {
        "KeyNeeds",
        "Reach",
        "Evaluator",
        "EncryptOptions",
        "ConversionPlan",
        "SecretName",
        "BootstrapOptions",
        "MatrixOptions",
        "CkksError",
    }
    wrong = []
    for source in sorted(path for crate in ("ckks", "lattice", "arith") for path in (root / "crates" / crate / "src").rglob("*.rs")):
        text = re.sub(r"//[^\n]*", "", source.read_text(encoding="utf-8")).split("#[cfg(test)]")[0]
        text = re.sub(r"#\[(serde|cfg|doc|allow|expect|must_use)[^\n]*", "", text)
        for quoted in re.findall(r'"((?:[^"\\]|\\.)*)"', text, re.S):
            words = re.sub(r"\{[^}]*\}", "", quoted)
            # Sentences, and no names of files or formats.
            if words.count(" ") < 3:
                continue
            names = set(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b", words)) - known
            names |= {word for word in re.findall(r"\b[A-Za-z]+(?:::[A-Za-z]+)?\b", words) if word in types or "::" in word}
            wrong += [(source.name, name, words) for name in names]
    assert not wrong


def test_divisions_by_ciphertexts_name_what_does_it():
    ct = cl.SecretKey.generate(cl.Params.preset("insecure_tiny")).encrypt([1.0, 2.0])
    for wrong in (lambda: 1 / ct, lambda: ct / ct):
        with pytest.raises(TypeError, match=r"cl\.functions\.inverse"):
            wrong()
    with pytest.raises(ValueError, match=r"cl\.functions\.sqrt"):
        ct**0.5


def test_views_say_how_they_are_multiplied():
    ct = cl.SecretKey.generate(cl.Params.preset("insecure_small")).encrypt(np.ones((2, 3)), encoding="coefficients")
    for factor in (ct, ct.T, np.ones((3, 2)), [1.0, 2.0]):
        with pytest.raises(TypeError, match="multiplied and divided by a single number, and multiplied by a matrix with `@`"):
            ct.T * factor
    assert (ct.T * 2).shape == (3, 2)
