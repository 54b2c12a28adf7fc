"""What the README and the examples show is run, on small parameters where they allow it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clathrate as cl

ROOT = Path(__file__).resolve().parents[2]


def snippets(page: str = "README.md") -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)


def test_readme_snippets_run_and_the_matrix_product_is_right(capsys):
    found = snippets()
    assert len(found) >= 2
    names: dict[str, object] = {}
    for snippet in found:
        exec(snippet, names)
    assert float(capsys.readouterr().out.split()[0]) < 1e-4


def test_polynomials_page_runs_and_its_sigmoid_is_right(capsys):
    sigmoid, segments = snippets("docs/polynomials.md")
    names: dict[str, object] = {}
    exec(sigmoid, names)
    printed = capsys.readouterr().out.split()
    assert printed[:4] == ["polynomial", "of", "degree", "23"]
    assert float(printed[-1]) < 7e-5
    exec(segments, names)
    assert [(part["name"], part["log2_scale"]) for part in names["params"].segments] == [
        ("linear", 35.4),
        ("ordinary", 45.8),
        ("modular reduction", 52.4),
    ]


def test_ranks_page_runs_and_its_product_is_right(capsys):
    (snippet,) = snippets("docs/ranks.md")
    exec(snippet, {})
    rank, error = capsys.readouterr().out.split()
    assert rank == "2"
    assert float(error) < 1e-6


def test_bootstrapping_page_runs_and_its_numbers_are_right(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bootstrap, automatic, transform, file = snippets("docs/bootstrapping.md")
    names: dict[str, object] = {}
    exec(bootstrap, names)
    low, fresh, error = capsys.readouterr().out.splitlines()[-1].split()
    assert int(low) < int(fresh)
    assert float(error) < 2**-14
    exec(automatic, names)
    below, error = capsys.readouterr().out.split()
    assert 3 <= int(below) < 6
    assert float(error) < 1e-3
    exec(transform, names)
    assert float(capsys.readouterr().out.split()[-1]) < 1e-4
    exec(file, names)
    assert float(capsys.readouterr().out.split()[-1]) < 1e-4


def test_table_of_presets_that_bootstrap_is_what_plans_say():
    text = (ROOT / "docs/bootstrapping.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if re.match(r"\| `\w+` \| 2\^", line)]
    said = {row[0].strip("`"): row[1:5] for row in rows}
    assert set(said) == {
        name for name in cl.Params.preset_names() if not name.startswith("insecure") and cl.Params.preset(name).application_levels
    }
    for name, row in said.items():
        params = cl.Params.preset(name)
        try:
            plan = cl.plans.BootstrapPlan(params)
            low = plan.input_level
        except cl.errors.DataError:  # its level 0 is too short for anything but half bootstraps
            plan, low = cl.plans.SamplesPlan(params, params.slot_count), 0
        bits = params.log2_q(plan.output_level) - params.log2_q(low)
        degree, slots = int(np.log2(params.degree)), int(np.log2(params.slot_count))
        expected = [f"2^{degree}", f"2^{slots}", f"{plan.output_level - low}, {bits:.0f}", f"2^{plan.log2_failure:.1f}"]
        assert row == expected, name


def test_samples_page_runs_and_its_numbers_are_right(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said = []
    for snippet in snippets("docs/samples.md"):
        exec(snippet, names)
        said.append(capsys.readouterr().out.split("\n")[-2].split(" ", 1))
    (level, squares), (used, errors), devices, outside = said
    assert int(level) == names["plan"].output_level
    assert used == "True"
    assert max(float(squares), float(errors)) < 1e-4
    assert " ".join(devices) == "[0.25 0.5  0.75]"
    assert " ".join(outside) == "[ 0.5   -0.25   0.125]"


def test_mambo_page_runs_and_its_numbers_are_right(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    product, chain, fused, batch = snippets("docs/mambo.md")
    names: dict[str, object] = {}
    exec(product, names)
    level, error = capsys.readouterr().out.splitlines()[-1].split()
    assert int(level) == names["plan"].output_level
    assert float(error) < 1e-4
    exec(chain, names)
    assert float(capsys.readouterr().out) < 1e-4
    exec(fused, names)
    saved, numbers = capsys.readouterr().out.splitlines()
    assert "saved: the product and bootstraps" in saved
    level, error = numbers.split()
    assert int(level) == 5
    assert float(error) < 1e-4
    exec(batch, names)
    printed = capsys.readouterr().out
    assert int(printed.split()[0]) > 1
    assert "bodies under a mask" in printed


def test_digits_demo_agrees_with_the_clear_model(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(ROOT / "examples/digits/run.py"), "--output", str(tmp_path), "--preset", "insecure_matmul"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "not explained by the error: 0" in done.stdout
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    assert not list((tmp_path / "exchange").glob("secret*")), "the server's side never sees the secret key"


@pytest.mark.skipif(sys.platform == "win32", reason="files get their names as on Unix")
def test_sensors_example_brings_every_reading_though_the_server_is_killed(tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(ROOT / "examples/sensors/run.py"), "--output", str(tmp_path), "--preset", "insecure_boot"]
    command += ["--sensors", "6", "--readings", "12", "--batch", "32"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "72 readings of 6 sensors" in done.stdout
    assert (tmp_path / "sensors.png").stat().st_size > 10_000
    public = {path.name for path in (tmp_path / "sensors").iterdir()}
    assert public == {"authentication.clt", "keys.clt", "messages", "inbox.log", "results", "sensors"}, "no secret key is written"


def test_ranks_example_times_every_way_and_names_the_fastest():
    command = [sys.executable, str(ROOT / "examples/ranks/run.py"), "--repeat", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "the fastest way is" in done.stdout
    assert re.search(r"sum +\d", done.stdout)


def test_linear_layers_example_computes_a_small_transformer():
    command = [sys.executable, str(ROOT / "examples/private_linear_layers/run.py"), "--synthetic", "--prepare"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = [float(bits) for bits in re.findall(r"([\d.]+) correct bits", done.stdout)]
    assert len(found) == 4
    assert min(found) > 18, done.stdout
    assert done.stdout.count("ms prepared") == 6


def test_mlp_example_computes_a_small_block():
    command = [sys.executable, str(ROOT / "examples/private_mlp/run.py"), "--synthetic", "--tokens", "16"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    activation = float(re.search(r"largest error (\S+) of numbers up to \d+\.\d\n", done.stdout).group(1))
    largest, size = map(float, re.search(r"\nlargest error (\S+) of numbers up to (\S+);", done.stdout).groups())
    # The polynomial of the activation is what is wrong; the second layer adds its errors up.
    assert 0 < activation < 0.05, done.stdout
    assert largest < 4 * activation, done.stdout
    assert size > 0.5


def test_ranks_example_refuses_sets_of_rank_1():
    command = [sys.executable, str(ROOT / "examples/ranks/run.py"), "--preset", "insecure_small"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "rank 2 or more" in done.stderr


def test_everyday_page_runs_and_its_numbers_are_right(capsys):
    statistics, bounds, errors, table, labels, chooser, stacks, products, functions, long_calls = snippets("docs/everyday.md")
    names: dict[str, object] = {}
    exec(statistics, names)
    assert float(capsys.readouterr().out) < 1e-4
    exec(bounds, names)
    assert capsys.readouterr().out == "9.0 8.0\n"
    exec(errors, names)
    typical, largest = map(float, capsys.readouterr().out.split())
    assert 0 < typical < largest < 1e-5
    exec(table, names)
    layout, error = capsys.readouterr().out.splitlines()
    assert "16 rows in a polynomial" in layout
    assert float(error) < 1e-3
    exec(labels, names)
    assert float(capsys.readouterr().out) < 1e-3
    exec(chooser, names)
    assert "compiled: degree" in capsys.readouterr().out
    exec(stacks, names)
    shape, error = capsys.readouterr().out.rsplit(" ", 1)
    assert shape == "(4, 4, 4)"
    assert float(error) < 1e-5
    exec(products, names)
    assert float(capsys.readouterr().out) < 1e-5
    exec(functions, names)
    sigmoid, cosine, sign = capsys.readouterr().out.splitlines()
    assert float(sigmoid) < 1e-3
    assert cosine.startswith("Polynomial(degree ")
    assert float(sign) < 1e-3
    exec(long_calls, names)
    key, x, y = names["key"], names["x"], names["y"]
    assert abs(key.decrypt(y) - (key.decrypt(x) * 0.5 + 1)).max() < 1e-4


@pytest.mark.parametrize("page", ["docs/index.md", "docs/tutorial.md", "docs/cookbook.md", "docs/presets.md", "docs/programs.md"])
def test_pages_for_newcomers_run_and_their_errors_are_small(page, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = []
    for snippet in snippets(page):
        exec(snippet, names)
        printed += capsys.readouterr().out.splitlines()
    assert printed
    if page == "docs/programs.md":
        assert [line for line in printed if line in ("True", "False")] == ["True"] * 4
    if page == "docs/tutorial.md":
        # The variance, computed on one side and on two machines, beside NumPy's.
        variance = names["temperatures"].var()
        assert abs(float(printed[0].split()[0]) - variance) < 2e-3
        said = re.findall(r"```text\n(.*?)```", (ROOT / page).read_text(), re.S)
        assert [line for line in "".join(said).splitlines() if "..." not in line] == [line for line in printed if line in "".join(said)]
        assert abs(float(printed[-1]) - variance) < 2e-3
    if page == "docs/cookbook.md":
        errors = [float(number) for line in printed for number in line.split() if re.fullmatch(r"[0-9.]+e-[0-9]+|0\.[0-9]+", number)]
        assert len(errors) >= 8
        assert max(errors) < 0.05


@pytest.mark.parametrize("name", ["tutorial", "everyday", "cookbook"])
def test_notebooks_are_the_pages_and_run(name, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    notebook = json.loads((ROOT / "examples" / f"{name}.ipynb").read_text())
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code == [snippet.strip("\n") for snippet in snippets(f"docs/{name}.md")]
    names: dict[str, object] = {}
    for cell in code:
        exec(cell, names)
    assert capsys.readouterr().out
    assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")


def test_processes_page_runs(tmp_path):
    printed = []
    for snippet in snippets("docs/processes.md"):
        (tmp_path / "page.py").write_text(snippet)
        done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.strip())
    difference, is_close = printed
    assert float(difference) < 1e-6
    assert is_close == "True"


def test_commands_of_the_tutorial_run_as_they_stand(tmp_path):
    commands = re.findall(r"^    clathrate (.*)$", (ROOT / "docs/tutorial.md").read_text(), re.M)
    assert [command.split()[0] for command in commands] == ["keygen", "encrypt", "run", "decrypt"]
    temperatures = np.array([21.5, 19.0, 23.25, 22.0])
    np.save(tmp_path / "temperatures.npy", temperatures)
    cl.compile(lambda x: ((x - x.mean()) ** 2).mean(), cl.Input((4,), bound=50.0), error=1e-3).split(tmp_path)
    for command in commands:
        done = subprocess.run([sys.executable, "-m", "clathrate", *command.split()], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
    assert abs(float(np.load(tmp_path / "result.npy")) - temperatures.var()) < 1e-3
