"""Parameters: presets, free specifications, refusals, explanation."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import clathrate as cl

SPEC = {"degree": 64, "steps": [[30, 30], 40, [40]], "special": [42, 42], "log2_scale": 40, "insecure": True}


def test_presets_are_listed_and_loadable():
    names = cl.Params.preset_names()
    assert {"matmul", "insecure_tiny", "insecure_small"} <= set(names)
    for name in (name for name in names if name.startswith("insecure")):
        assert cl.Params.preset(name).insecure
    secure = cl.Params.preset("matmul")
    assert not secure.insecure
    assert secure.security_bits >= 128


def test_unknown_presets_name_those_there_are():
    with pytest.raises(cl.errors.ParamsError, match="insecure_tiny"):
        cl.Params.preset("nonsense")


def test_constructor_text_and_file_make_equal_params(tmp_path):
    params = cl.Params(**SPEC, name="mine")
    assert (params.name, params.degree, params.rank, params.slot_count, params.max_level) == ("mine", 64, 1, 32, 2)
    text = cl.Params.from_toml(params.to_toml(), allow_insecure=True)
    toml, container = tmp_path / "params.toml", tmp_path / "params.clathrate"
    toml.write_text(params.to_toml())
    assert params.save(container) == container.stat().st_size
    readers = [(cl.Params.from_file, toml), (cl.Params.from_file, str(toml)), (cl.Params.load, container), (cl.load, container)]
    for other in (text, *(read(path, allow_insecure=True) for read, path in readers)):
        assert other == params
        assert hash(other) == hash(params)
        assert other.digest == params.digest
        assert other.name == "mine"
    assert params != cl.Params(**{**SPEC, "steps": [[30, 30], 40]})
    assert params != 3


def test_params_pickle_and_copy_as_values():
    params = cl.Params.preset("insecure_tiny", cl.Runtime(threads=2))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(params, protocol=protocol))
        assert again == params
        assert again.runtime.threads == 2
    assert copy.copy(params) is params
    assert copy.deepcopy(params) is params


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"degree": 63}, "power of two"),
        ({"degree": 4}, "power of two from"),
        ({"degree": 1 << 18}, "power of two from"),
        ({"degree": 0}, "degree 0"),
        ({"degree": -64}, "degree -64"),
        ({"degree": 10**40}, "degree"),
        ({"rank": 0}, "rank 0 is out of range"),
        ({"rank": 65}, "rank 65 is out of range"),
        ({"rank": -1}, "rank -1 is out of range"),
        ({"steps": []}, "at least one step"),
        ({"steps": [[]]}, "at least one prime"),
        ({"steps": [[61]]}, "61 bits"),
        ({"steps": [-5]}, "-5 bits"),
        ({"steps": [3, 40]}, "3 bits"),
        ({"special": [10**12]}, "bits"),
        ({"log2_scale": float("nan")}, "log2_scale"),
        ({"log2_scale": 300}, "log2_scale"),
        ({"log2_scale": -1}, "log2_scale"),
        ({"secret_weight": 65}, "secret_weight 65"),
        ({"secret_weight": -1}, "secret_weight -1"),
        ({"digit_bits": -1.0}, "digit_bits"),
    ],
)
def test_what_no_params_can_be_is_refused_with_the_remedy(change, message):
    with pytest.raises(cl.errors.ParamsError, match=message):
        cl.Params(**{**SPEC, **change})


SEGMENTED = {
    "degree": 256,
    "steps": [[29.5, 29.5], 35.4, 45.8, 45.8, [22.9, 22.9]],
    "special": [45.8, 45.8],
    "insecure": True,
    "segments": [
        {"name": "linear", "log2_scale": 35.4, "levels": (0, 1)},
        {"name": "ordinary", "log2_scale": 45.8, "levels": (2, 4)},
    ],
}


def test_sizes_are_fractions_and_segments_have_their_scales():
    params = cl.Params(**SEGMENTED, name="segmented")
    assert params.segment(1) == params.segments[0] == SEGMENTED["segments"][0]
    assert params.segment()["name"] == "ordinary"
    assert params.scale() == 2.0**45.8
    assert params.scale(1) == 2.0**35.4
    assert abs(params.log2_q(0) - 59) < 0.01
    assert abs(params.log2_q(2) - params.log2_q(1) - 45.8) < 0.01
    assert params.warnings == []
    assert cl.Params.from_toml(params.to_toml(), allow_insecure=True) == params == pickle.loads(pickle.dumps(params))
    assert '"ordinary"; a product leaves it with scale 2^45.80' in str(params.explain())
    assert [segment["name"] for segment in params.explain().to_dict()["segments"]] == ["linear", "ordinary"]
    whole = cl.Params(**SPEC)
    assert [segment["levels"] for segment in whole.segments] == [(0, 2)]
    with pytest.raises(cl.errors.LevelError):
        params.segment(5)


@pytest.mark.parametrize(
    ("segment", "error", "message"),
    [
        ({"name": "ordinary", "log2_scale": 45.8, "levels": (1, 4)}, cl.errors.ParamsError, "both have level 1"),
        ({"name": "ordinary", "log2_scale": 45.8, "levels": (3, 4)}, cl.errors.ParamsError, "levels 2 to 2 are in no segment"),
        ({"name": "ordinary", "log2_scale": 45.8, "levels": (2, 7)}, cl.errors.ParamsError, "levels 0 to 4"),
        ({"name": "ordinary", "log2_scale": 45.8, "levels": (-2, 4)}, cl.errors.ParamsError, "-2"),
        ({"name": "ordinary", "log2_scale": 140, "levels": (2, 4)}, cl.errors.ParamsError, "4 to 120"),
        ({"name": "ordinary", "log2_scale": 45.8}, TypeError, "levels"),
        ({"name": "ordinary", "log2_scale": 45.8, "levels": (2, 4), "color": 1}, TypeError, "levels"),
        (("ordinary", 45.8, (2, 4)), TypeError, "levels"),
    ],
)
def test_segments_that_are_none_are_refused(segment, error, message):
    with pytest.raises(error, match=message):
        cl.Params(**{**SEGMENTED, "segments": [SEGMENTED["segments"][0], segment]})


def test_steps_that_do_not_match_the_scale_warn_with_the_level():
    with pytest.warns(UserWarning, match=r"collapse at level 1.*step 4 has 50\.0 bits"):
        params = cl.Params(degree=64, steps=[[30, 30], 50, 50, 50, 50], log2_scale=40, insecure=True)
    assert len(params.warnings) == 1
    assert params.warnings[0] in str(params.explain())
    with pytest.raises(cl.errors.ParamsError, match="below the rounding noise"):
        cl.Params(degree=64, steps=[[30, 30], 60, 60], log2_scale=30, insecure=True)
    # A preset is as it is meant to be.
    assert len(cl.Params.preset("matmul").warnings) == 1


def test_insecure_params_are_refused_unless_marked():
    with pytest.raises(cl.errors.SecurityError, match=r"below 128.*insecure = true"):
        cl.Params(**{**SPEC, "insecure": False})
    assert issubclass(cl.errors.SecurityError, cl.errors.ParamsError)


def test_tests_do_not_read_the_users_machine_profile():
    assert cl.doctor()["profile"]["state"] == "off"


@pytest.mark.parametrize("threads", [0, -1, 10**6, 10**40])
def test_threads_out_of_range_are_refused(threads):
    with pytest.raises(cl.errors.DataError, match="threads"):
        cl.Runtime(threads=threads)


@pytest.mark.parametrize("text", ["", "degree = 64", "not toml at all [", 'degree = "a"', "surprise = 1"])
def test_text_that_is_no_specification_is_refused(text):
    with pytest.raises(cl.errors.ParamsError, match="no specification"):
        cl.Params.from_toml(text)


def test_files_that_cannot_be_read_are_os_errors(tmp_path):
    for read in (cl.Params.from_file, cl.Params.load):
        with pytest.raises(cl.errors.MissingFileError, match="absent") as caught:
            read(tmp_path / "absent")
        assert isinstance(caught.value, FileNotFoundError)
        assert caught.value.errno == 2
        with pytest.raises(OSError, match="cannot"):
            read(tmp_path)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (1 << 21))
    with pytest.raises(cl.errors.FileAccessError, match="1 MiB"):
        cl.Params.from_file(large)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(cl.errors.FileAccessError):
        cl.Params.from_file(binary)


def test_explanation_prints_and_gives_figures():
    params = cl.Params.preset("matmul")
    explanation = params.explain()
    figures = explanation.to_dict()
    assert "security" in str(explanation)
    assert str(explanation) == repr(explanation)
    assert figures["degree"] == params.degree
    assert figures["security_bits"] == params.security_bits
    assert abs(figures["log2_qp"] - params.log2_qp) < 1e-9
    json.dumps(figures)
    assert "below 128" in str(cl.Params.preset("insecure_tiny").explain())


def test_scales_and_moduli_by_level():
    params = cl.Params.preset("insecure_tiny")
    assert params.scale() == params.scale(params.max_level) == 2.0**40
    assert params.log2_q() > params.log2_q(0) > 0
    for level in (-1, params.max_level + 1):
        with pytest.raises(cl.errors.LevelError):
            params.scale(level)
        with pytest.raises(cl.errors.LevelError):
            params.log2_q(level)


def test_repr_marks_insecure_sets():
    assert "INSECURE" in repr(cl.Params.preset("insecure_tiny"))
    assert "INSECURE" not in repr(cl.Params.preset("matmul"))


def test_every_kernel_and_thread_count_gives_the_same_decryption(rng):
    data, weights = rng.normal(size=(5, 40)), rng.normal(size=(2, 5))
    base = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(base)
    blob = key.encrypt(data).to_bytes()
    results = []
    for isa in (name for name, runs in cl.doctor()["kernels"].items() if runs):
        for threads in (1, 2):
            params = cl.Params.preset("insecure_small", cl.Runtime(threads=threads, isa=isa))
            results.append((weights @ cl.from_bytes(blob, params)).rescale().to_bytes())
    assert all(result == results[0] for result in results)


def test_doctor_tells_what_runs_here():
    report = cl.doctor()
    assert report["kernels"]["scalar"] is True
    assert report["kernels"][report["fastest"]] is True
    assert report["version"] == cl.__version__
    assert report["cpus"] >= 1
    assert "kernels" in report["engine"]
