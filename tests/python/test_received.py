"""Parameters that others wrote, and parameters that protect nothing: what needs the caller's word, what is refused, what warns."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import clathrate as cl

SMALL = cl.Params(degree=64, steps=[[30, 30], 40], special=[42, 42], log2_scale=40, insecure=True, name="mine")
#: Between 110 and 128 bits.
BETWEEN = cl.Params(degree=4096, steps=[40, 30], special=[46], log2_scale=30, below_128=True, name="between")
SPARSE = cl.Params(degree=8192, steps=[[30, 30], 40], special=[42, 42], log2_scale=40, secret_weight=64, insecure=True, name="sparse")


def readers(params: cl.Params, folder: pathlib.Path) -> list[Callable[..., cl.Params]]:
    """Every way in for parameters of others."""
    text, container = folder / "params.toml", folder / "params.clt"
    text.write_text(params.to_toml())
    params.save(container)
    return [
        lambda **word: cl.Params.from_toml(params.to_toml(), **word),
        lambda **word: cl.Params.from_file(text, **word),
        lambda **word: cl.Params.load(container, **word),
        lambda **word: cl.load(container, **word),
        lambda **word: cl.from_bytes(container.read_bytes(), **word),
        lambda **word: cl.from_bytes(bytearray(container.read_bytes()), **word),
    ]


PRESETS = [cl.Params.preset("insecure_tiny"), cl.Params.preset("paper_dpad_n13_r2")]
#: A set of the benchmarks, which is no preset: 127 bits.
BENCHMARK = cl.Params.from_file(
    pathlib.Path(__file__).resolve().parents[2] / "crates" / "bench" / "sets" / "bench_n15_one.toml", allow_insecure=True
)


@pytest.mark.parametrize("params", [SMALL, BETWEEN, SPARSE, *PRESETS, BENCHMARK])
def test_parameters_of_others_below_128_bits_need_the_callers_word(params: cl.Params, tmp_path: pathlib.Path) -> None:
    for read in readers(params, tmp_path):
        with pytest.raises(cl.errors.SecurityError, match=r"below 128.*`allow_insecure=True`") as caught:
            read()
        assert "log2 QP = " in str(caught.value)
        assert "dimension" in str(caught.value)
        with pytest.raises(cl.errors.SecurityError):
            read(allow_insecure=False)
        assert read(allow_insecure=True) == params
    # Whoever unpickles runs what the pickle says.
    assert pickle.loads(pickle.dumps(params)) == params


def test_secure_parameters_of_others_need_no_word(tmp_path: pathlib.Path) -> None:
    params = cl.Params.preset("n12")
    for read in readers(params, tmp_path):
        assert read() == params == read(allow_insecure=True)
    # A mark that a set does not need changes nothing.
    marked = cl.Params.from_toml(params.to_toml() + "\ninsecure = true\n")
    assert marked == params
    assert marked.to_toml() == params.to_toml()
    for own in (params, marked):
        key = cl.SecretKey.generate(own)
        with pytest.raises(cl.errors.SecurityError, match="fewer than 64 bodies"):
            key.evaluation_keys(cl.keys.Needs(shared_mask=64))


def test_a_set_without_its_mark_names_both_words() -> None:
    text = SMALL.to_toml().replace("insecure = true", "")
    with pytest.raises(cl.errors.SecurityError, match=r"set insecure = true and pass `allow_insecure=True`"):
        cl.Params.from_toml(text)
    assert cl.Params.from_toml(text + "insecure = true\n", allow_insecure=True) == SMALL


@pytest.mark.parametrize("name", ["n14", "insecure_small", "boot_n15", "N14", " n14"])
def test_the_name_of_a_preset_is_refused_for_other_contents(name: str) -> None:
    text = SMALL.to_toml().replace('"mine"', f'"{name}"')
    for make in (
        lambda: cl.Params.from_toml(text, allow_insecure=True),
        lambda: cl.Params(degree=64, steps=[[30, 30], 40], special=[42, 42], log2_scale=40, insecure=True, name=name),
    ):
        with pytest.raises(cl.errors.ParamsError, match="another name"):
            make()


def test_names_of_presets_are_reserved() -> None:
    preset = cl.Params.preset("boot_n15")
    with pytest.raises(cl.errors.ParamsError, match="another name"):
        cl.Params.from_toml("bootstrap_log2_failure = -2\n" + preset.to_toml())
    with pytest.raises(cl.errors.ParamsError, match="belong to presets"):
        cl.Params.from_toml(SMALL.to_toml().replace("mine", "insecure_mine"), allow_insecure=True)


LARGE = f"""name = "large"
degree = 131072
steps = {[[40]] * 200}
special = {[40] * 56}
log2_scale = 40
insecure = true
"""


def test_a_short_text_cannot_take_gigabytes() -> None:
    code = """
import resource, sys, time
import clathrate as cl
text = sys.stdin.read()
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
try:
    cl.Params.from_toml(text, allow_insecure=True)
except cl.errors.ParamsError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, time.process_time(), error)
"""
    for rank in (1, 64):
        run = subprocess.run([sys.executable, "-c", code], input=f"rank = {rank}\n{LARGE}", capture_output=True, text=True, check=True)
        grown, _seconds, message = run.stdout.split(" ", 2)
        assert int(grown) < 20_000, "KiB"
        assert "MiB of tables, more than the limit of 256 MiB" in message
        assert "cl.Runtime(table_mib=" in message
    with pytest.raises(cl.errors.ParamsError, match="limit of 1 MiB"):
        cl.Params.preset("n14", cl.Runtime(table_mib=1))
    runtime = cl.Runtime(table_mib=2)
    assert cl.Params.preset("insecure_small", runtime).runtime.table_mib == 2.0
    assert pickle.loads(pickle.dumps(runtime)) == runtime != cl.Runtime()
    assert cl.Runtime(table_mib=np.inf).table_mib == np.inf
    for wrong in (0, -1, np.nan):
        with pytest.raises(cl.errors.DataError, match="table_mib"):
            cl.Runtime(table_mib=wrong)


def test_keys_and_encryptions_that_protect_nothing_warn() -> None:
    assert issubclass(cl.errors.InsecureWarning, UserWarning)
    for params, figure in (
        (SMALL, "not covered"),
        (BETWEEN, r"have 1[12]\d bits of security"),
        (cl.Params.preset("insecure_tiny"), "not covered"),
    ):
        with pytest.warns(cl.errors.InsecureWarning, match=rf"{figure}.*below 128.*tests only"):
            key = cl.SecretKey.generate(params)
        for encrypt in (
            lambda key=key: key.encrypt([1.0]),
            lambda key=key: key.public_key().encrypt([1.0]),
            lambda key=key: cl.clients.LightClient(key).encrypt([1.0]),
            lambda key=key: cl.clients.LightClient(key, device=1).encrypt([1.0]),
        ):
            with pytest.warns(cl.errors.InsecureWarning, match=figure):
                encrypt()
        with warnings.catch_warnings():
            warnings.simplefilter("error", cl.errors.InsecureWarning)
            for refused in (lambda key=key: key.encrypt([1.0]), lambda params=params: cl.SecretKey.generate(params)):
                with pytest.raises(cl.errors.InsecureWarning):
                    refused()
    # A stored state knows its samples alone.
    client = cl.clients.LightClient(cl.SecretKey.generate(SMALL))
    with pytest.warns(cl.errors.InsecureWarning):
        cl.clients.LightClient.from_bytes(client.to_bytes()).encrypt([1.0])


def test_secure_parameters_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        key = cl.SecretKey.generate(cl.Params.preset("n12"))
        key.encrypt([1.0], bound=1.0)
        key.public_key().encrypt([1.0], bound=1.0)
        cl.clients.LightClient(key).encrypt([1.0])
        cl.clients.LightClient.from_bytes(cl.clients.LightClient(key).to_bytes()).encrypt([1.0])


def test_the_warning_is_given_once_for_each_place(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import clathrate as cl\n"
        'key = cl.SecretKey.generate(cl.Params.preset("insecure_tiny"))\n'
        "for _ in range(20):\n"
        "    key.encrypt([1.0])\n"
    )
    run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    shown = [line for line in run.stderr.splitlines() if "InsecureWarning" in line]
    assert [line.split(":")[1] for line in shown] == ["2", "4"], run.stderr
    assert all(line.startswith(str(program)) for line in shown)


@pytest.mark.parametrize("name", ["n14\u200b", "n\uff114", "n14\0", "a\nb", "\u001b[31mred", "x" * 201])
def test_names_are_plain_text(name: str) -> None:
    with pytest.raises(cl.errors.ParamsError, match="is no plain text"):
        cl.Params(name=name, degree=1024, steps=[[40], [30]], special=[40], log2_scale=30, insecure=True)
