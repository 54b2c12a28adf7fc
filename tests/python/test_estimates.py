"""The program that runs the security estimators again, on a stand-in that has the names of lattice-estimator at commit 27a581bb."""

from __future__ import annotations

import csv
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent.parent
PROGRAM = ROOT / "scripts" / "estimate_security.py"

# As there: ND, LWE and RC are modules or classes of the package, distributions are classes in ND, and the weight's halves have keywords.
# Costs are those of the table: a row keeps its bits at its modulus and loses them one bit above.
STAND_IN = {
    "__init__.py": """
from .reduction import RC
from . import lwe as LWE
from . import nd as ND
""",
    "reduction.py": """
class RC:
    MATZOV = "MATZOV"
""",
    "nd.py": """
class NoiseDistribution:
    pass

class Uniform(NoiseDistribution):
    def __init__(self, a, b, n=None):
        assert (a, b) == (-1, 1)
        self.weight = ""

class SparseTernary(NoiseDistribution):
    def __init__(self, p, m=None, n=None):
        self.weight = str(p + m)

class DiscreteGaussian(NoiseDistribution):
    def __init__(self, stddev, mean=0, n=None):
        assert stddev == 3.2
""",
    "lwe.py": """
import csv, math

ROWS = [row for row in csv.DictReader(line for line in open(TABLE) if not line.startswith("#"))]

class Parameters:
    def __init__(self, n, q, Xs, Xe):
        self.n, self.log2_q, self.weight = n, math.log2(q), Xs.weight

def cost(parameters, red_cost_model):
    assert red_cost_model == "MATZOV"
    rows = [row for row in ROWS if (row["weight"], int(row["dimension"])) == (parameters.weight, parameters.n)]
    kept = [float(row["bits"]) for row in rows if parameters.log2_q <= float(row["log2_qp"])]
    return {"rop": 2.0 ** (max(kept, default=100) + 0.25)}

def primal_usvp(parameters, **model):
    return {"rop": 4 * cost(parameters, **model)["rop"]}

primal_bdd, dual_hybrid = primal_usvp, cost
""",
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=False)


def stand_in(folder: pathlib.Path, table: pathlib.Path) -> pathlib.Path:
    package = folder / "estimator"
    package.mkdir()
    for name, text in STAND_IN.items():
        (package / name).write_text(text.replace("TABLE", repr(str(table))))
    return folder


def test_rows_are_estimated_by_the_names_that_the_estimator_has(tmp_path):
    table = ROOT / "crates/lattice/data/security.csv"
    result = run("--estimator", str(stand_in(tmp_path, table)))
    assert result.returncode == 0, result.stdout + result.stderr
    with table.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    wanted = [row for row in rows if row["source"] in ("estimator", "secret_size")]
    assert result.stdout.count("ok    ") == len(wanted)
    assert f"{len(rows) - len(wanted)} rows are left out" in result.stdout


def test_rows_that_differ_are_told_and_end_the_program(tmp_path):
    table, other = ROOT / "crates/lattice/data/security.csv", tmp_path / "other.csv"
    text = table.read_text()
    assert "uniform_ternary,,4096,106,128" in text
    other.write_text(text.replace("uniform_ternary,,4096,106,128", "uniform_ternary,,4096,105,128"))
    result = run("--small", "--estimator", str(stand_in(tmp_path, other)))
    assert result.returncode == 1
    assert [line.split()[1:5] for line in result.stdout.splitlines() if line.startswith("DIFFERS")] == [
        ["4096", "uniform", "ternary", "106"]
    ]


def test_a_missing_estimator_is_one_sentence(tmp_path):
    result = run("--small", "--estimator", str(tmp_path))
    assert result.returncode == 1
    assert "the lattice estimator cannot be imported" in result.stderr
    assert "Traceback" not in result.stderr
