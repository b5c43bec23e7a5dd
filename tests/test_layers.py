"""The architecture, as imports: each module may know the layers below it, and nobody above."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import qckm

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))

import house

PACKAGE = Path(qckm.__file__).parent

# From the foundation up, in the order in which data flow. A package may know those before it, and none after it.
LAYERS = [
    "errors",
    "common",
    "kernels",
    "operator",
    "export",
    "sources",
    "clustering",
    "sketch",
    "sensor",
    "privacy",
    "planning",
    "models",
    "decoding",
    "drift",
    "estimators",
    "engines",
    "report",
    "plots",
    "collector",
    "cli",
    "__main__",
]


def package_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_packages(tree):
    """Yield the packages that a module imports, wherever in it, and for whatever reason: types are knowledge, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "qckm":
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("qckm."))


def test_imports_only_go_down():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        package = package_of(path)
        if package != "__init__":  # qckm itself puts them together
            for imported in imported_packages(ast.parse(path.read_text())):
                if imported in LAYERS and LAYERS.index(imported) > LAYERS.index(package):
                    wrong.append(f"{path.relative_to(PACKAGE)} imports {imported}")
    assert not wrong


def test_no_modules_import_each_other_in_a_circle():
    """Neither for types, nor within functions: whoever reads one of them would have to read all."""
    assert house.cycles() == []


def test_every_package_has_a_layer_and_says_what_it_is_for():
    packages = {package_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert packages == set(LAYERS)
    for folder in filter(Path.is_dir, PACKAGE.iterdir()):
        if folder.name != "__pycache__":
            assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder.name


def test_every_package_has_a_line_on_the_page_that_introduces_them():
    page = (Path(__file__).parents[1] / "docs" / "how-it-works.md").read_text()
    introduced = set(re.findall(r"`(\w+)(?:/|\.py)`", "".join(re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE))))
    assert set(LAYERS) - {"__main__"} <= introduced


def test_every_package_has_a_folder_of_tests():
    packages = {folder.name for folder in filter(Path.is_dir, PACKAGE.iterdir())} - {"__pycache__"}
    assert packages <= {folder.name for folder in Path(__file__).parent.iterdir()}


def test_importing_qckm_needs_no_extra():
    """Only the core dependencies: the extras, and what test machines have besides, stay out."""
    code = """
import importlib.abc, sys
EXTRAS = {"matplotlib", "pandas", "polars", "dask", "pyspark", "ray", "cupy", "torch", "duckdb", "opendp",
          "starlette", "uvicorn", "paho", "psycopg", "prometheus_client"}
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
import qckm
# These wait until they are used.
SLOW = {"sklearn", "scipy", "pyarrow", "click", "rich", "numpy.random", "threadpoolctl", "qckm.decoding"}
assert not (EXTRAS | SLOW) & set(sys.modules)
qckm.CompressiveKMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ok", done.stderr


def test_dir_shows_the_public_names_and_packages_come_when_they_are_asked_for():
    assert set(qckm.__all__) <= set(dir(qckm))
    assert not {name for name in dir(qckm) if name.startswith("_")} - {"__version__"}
    code = """
import sys, qckm
packages = ("plots", "privacy", "sensor", "engines")
assert not {f"qckm.{package}" for package in packages} & set(sys.modules)
print([getattr(qckm, package).__name__ for package in packages])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['qckm.plots', 'qckm.privacy', 'qckm.sensor', 'qckm.engines']", done.stderr


def test_a_fit_on_the_command_line_waits_for_nothing_it_does_not_need(tmp_path):
    """scikit-learn and SciPy take a second or two to import, which is longer than the fit; the web needs a URL."""
    code = """
import sys
import numpy as np
from qckm.cli import run
rng = np.random.default_rng(0)
np.save("rows.npy", 9 * rng.integers(0, 2, (500, 2)) + rng.normal(size=(500, 2)))
status = run(["fit", "rows.npy", "-k", "4", "-o", "model.json"])
print(status, sorted({"sklearn", "scipy", "pandas", "urllib.request"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr
