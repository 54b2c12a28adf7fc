"""Docstrings: one text at run time and in the stubs, in the sections of numpydoc, with examples that run."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clathrate as cl
from clathrate import _native

ROOT = Path(__file__).resolve().parents[2]
SECTION = re.compile(r"^([A-Z][a-z]+)\n-{3,}$", re.M)


def every_name() -> list[tuple[str, Any]]:
    """The names of the package and of its parts, with what they are."""
    parts = [thing for thing in vars(cl).values() if inspect.ismodule(thing) and thing.__name__.split(".")[-1] in cl.__all__]
    assert len(parts) == 6
    named = {name: getattr(place, name) for place in (cl, *parts) for name in place.__all__ if name != "__version__"}
    return [(name, thing) for name, thing in named.items() if not inspect.ismodule(thing)]


def public() -> dict[str, Any]:
    """Everything public by name: classes, functions, methods and properties, as attributes are found in their owner, mixins included."""
    found: dict[str, Any] = {}
    for name, thing in every_name():
        found[name] = thing
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            own = [base for base in thing.__mro__ if base.__module__.startswith("clathrate")]
            names = sorted({member for base in own for member in vars(base) if not member.startswith("_")})
            members = {member: inspect.getattr_static(thing, member) for member in names}
            found.update({f"{name}.{member}": getattr(value, "__func__", value) for member, value in members.items()})
    # Fields of a data class are documented in its docstring.
    return {name: thing for name, thing in found.items() if not name.startswith("Trace.")}


PUBLIC = public()


def is_property(thing: Any) -> bool:
    return inspect.isgetsetdescriptor(thing) or inspect.isdatadescriptor(thing)


# Classes that users construct; the others are made by methods.
CONSTRUCTED = {"Input", "Needs", "Params", "Polynomial", "Runtime"}
CALLED = {name: thing for name, thing in PUBLIC.items() if not is_property(thing) and (not inspect.isclass(thing) or name in CONSTRUCTED)}


def sections(text: str) -> dict[str, str]:
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> list[str]:
    """The lines of a section that are not indented: names, with types."""
    return [line for line in section.strip("\n").split("\n") if line and not line.startswith(" ")]


def test_the_extension_has_no_docstrings_of_its_own():
    """They are written in the package, once, and the stub has signatures alone."""
    stub = ast.parse((ROOT / "python/clathrate/_native.pyi").read_text())
    definitions = [node for node in ast.walk(stub) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert len(definitions) > 300
    assert not [node.name for node in definitions if ast.get_docstring(node)]
    for name, thing in vars(_native).items():
        assert name.startswith("__") or not thing.__doc__, name
        members = vars(thing).items() if inspect.isclass(thing) else []
        found = {member: getattr(value, "__func__", value).__doc__ for member, value in members if not member.startswith("__")}
        assert not any(found.values()), name


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_has_a_docstring_that_begins_with_a_sentence(name):
    text = inspect.getdoc(PUBLIC[name])
    assert text
    first = text.split("\n\n")[0]
    assert first.endswith((".", ":")), first
    assert "Errors:" not in text


@pytest.mark.parametrize("name", CALLED)
def test_sections_state_each_parameter_with_its_type_and_each_result(name):
    thing = CALLED[name]
    found = sections(inspect.getdoc(thing))
    parameters = [parameter for parameter in inspect.signature(thing).parameters.values() if parameter.name not in ("self", "cls")]
    written = entries(found.get("Parameters", ""))
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(parameter.kind, "") + parameter.name for parameter in parameters]
    assert [entry.split(" : ")[0] for entry in written] == names
    # Further keywords have the types of the function that takes them.
    typed = [pair for pair in zip(written, parameters, strict=True) if pair[1].kind is not inspect.Parameter.VAR_KEYWORD]
    for entry, parameter in typed:
        assert re.fullmatch(r"\*?\w+ : \S.*", entry), entry
        assert entry.endswith(", optional") == (parameter.default is not parameter.empty), entry
    for error in entries(found.get("Raises", "")):
        assert error == "TypeError" or issubclass(getattr(cl.errors, error), cl.ClathrateError)
    if not inspect.isclass(thing) and name not in ("EvaluationKeys.drop_derived",):
        assert len(entries(found.get("Returns", ""))) == 1, "one type"


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isclass(thing) and not issubclass(thing, Exception)])
def test_classes_have_examples(name):
    assert ">>>" in sections(inspect.getdoc(PUBLIC[name]))["Examples"]


@pytest.mark.parametrize("name", CALLED)
def test_functions_and_methods_have_examples(name):
    assert ">>>" in sections(inspect.getdoc(CALLED[name]))["Examples"]


@pytest.fixture(scope="session")
def start() -> dict[str, Any]:
    """The names that the package's docstring defines for all examples."""
    names: dict[str, Any] = {}
    assert run_examples("clathrate", cl.__doc__.split("A matrix product")[0], names) > 5
    return names


def run_examples(name: str, text: str, names: dict[str, Any]) -> int:
    """Runs the examples of a docstring, whose definitions `names` gets; how many there are."""
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    report: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert results.failed == 0, "".join(report)
    return results.attempted


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder of this test's own to work in, and a cache too: examples save files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if ">>>" in (inspect.getdoc(thing) or "")])
def test_examples_of_docstrings_run(name, start, folder):
    assert run_examples(name, inspect.getdoc(PUBLIC[name]), dict(start)) > 0


def test_examples_of_the_package_run(folder):
    names: dict[str, Any] = {}
    run_examples("clathrate", cl.__doc__, names)
    assert isinstance(names["scores"], cl.Ciphertext)


def test_examples_that_are_wrong_are_found(start):
    with pytest.raises(AssertionError, match="Expected"):
        run_examples("wrong", ">>> params.max_level\n7\n", dict(start))


def test_every_raised_class_is_documented_where_it_is_raised():
    """A sample: calls that fail, and the section that names the error."""
    params = cl.Params.preset("insecure_tiny")
    key = cl.SecretKey.generate(params)
    ct = key.encrypt([1.0, 2.0])
    fails: dict[str, Callable[[], object]] = {
        "SecretKey.encrypt": lambda: key.encrypt([np.nan]),
        "Ciphertext.rotate": lambda: ct.rotate(1),
        "Ciphertext.rescale": lambda: key.encrypt([1.0], level=0, scale=2.0**30).rescale(),
        "Ciphertext.drop_to_level": lambda: ct.drop_to_level(9),
        "Ciphertext.matmul": lambda: ct.matmul(np.ones((2, 2))),
        "SecretKey.decrypt_to_share": lambda: key.decrypt_to_share(ct, 119, honest_evaluator=True),
        "SecretKey.evaluation_keys": lambda: key.evaluation_keys(cl.keys.Needs(ranks=[1])),
        "Params.scale": lambda: params.scale(9),
        "Params.preset": lambda: cl.Params.preset("none"),
        "load": lambda: cl.load("/nonexistent/file"),
        "Polynomial.plan": lambda: cl.plans.Polynomial(np.ones(300)).plan(params),
        "Runtime": lambda: cl.Runtime(threads=0),
    }
    for name, call in fails.items():
        with pytest.raises(cl.ClathrateError) as caught:
            call()
        stated = entries(sections(inspect.getdoc(PUBLIC[name]))["Raises"])
        assert any(isinstance(caught.value, getattr(cl.errors, error)) for error in stated), (name, caught.value)


def test_few_names_are_at_the_top_and_each_class_is_where_it_says() -> None:
    assert len(cl.__all__) <= 30
    places = (cl, cl.clients, cl.errors, cl.functions, cl.keys, cl.plans, cl.types)
    names = [(place, name) for place in places for name in place.__all__ if (place, name) != (cl, "ClathrateError")]
    assert len({name for _, name in names}) == len(names)
    for place, name in names:
        thing = getattr(place, name)
        if inspect.isclass(thing):
            assert f"{thing.__module__}.{thing.__name__}" in (f"{place.__name__}.{name}", "clathrate.errors.ClathrateError")


def test_names_that_moved_say_where_they_are() -> None:
    for place in (cl.clients, cl.errors, cl.functions, cl.keys, cl.plans, cl.types):
        for name in set(place.__all__) - set(cl.__all__):
            with pytest.warns(DeprecationWarning, match=rf"`clathrate\.{name}` is `{place.__name__}\.{name}` now"):
                assert getattr(cl, name) is getattr(place, name)
    with pytest.raises(AttributeError, match="module 'clathrate' has no attribute 'nothing'"):
        cl.nothing  # type: ignore[attr-defined]  # noqa: B018
