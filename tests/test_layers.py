"""The architecture, as imports: each module may know the layers below it, and nobody above."""

import ast
import subprocess
import sys
from pathlib import Path

import qckm

PACKAGE = Path(qckm.__file__).parent

LAYERS = [
    {"kernels"},
    {"errors", "values"},
    {"locks", "memory", "text"},
    {"atomic", "foreign", "frame_columns"},
    {"arguments", "elsewhere", "random", "rows", "compiling", "threads", "frequencies", "octaves", "signatures"},
    {"structured", "seeded"},
    {"drawing"},
    {"operator"},
    {"sketch"},
    {"files", "decode", "scale", "nearest", "sources"},
    {"runs", "planning", "models", "selection", "sensor"},
    {"checkpoints", "estimator", "grouping"},
    {"engines"},
    {"report", "plots"},
    {"cli"},
    {"__main__"},
]
# A method may open a door to the layer above when it is called: op.sketch() returns a Sketch, sk.save() writes a file.
# Rows that an engine holds go up to where the engines are.
DOORS = {
    ("operator", "sketch"),
    ("sketch", "files"),
    ("operator", "sensor"),
    ("operator", "engines"),
    ("runs", "engines"),
    ("estimator", "engines"),
}


def rank(room):
    return next(i for i, layer in enumerate(LAYERS) if room in layer)


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree):
    """Yield (room, whether the import runs when its module is imported)."""
    at_import = set()
    for node in tree.body:
        at_import.update(id(child) for child in ast.walk(node) if not isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "qckm":
            parts = node.module.split(".")
            rooms = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            yield from ((room, id(node) in at_import) for room in rooms)
        elif isinstance(node, ast.Import):
            yield from (
                (alias.name.split(".")[1], id(node) in at_import)
                for alias in node.names
                if alias.name.startswith("qckm.")
            )


def test_imports_only_go_down():
    wrong, seen = [], set()
    for path in PACKAGE.rglob("*.py"):
        room = room_of(path)
        if room == "__init__":
            continue
        for imported, at_import in imports(ast.parse(path.read_text())):
            seen.add((room, imported))
            allowed = imported == room or rank(imported) < rank(room) or (not at_import and (room, imported) in DOORS)
            if not allowed:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {imported}")
    assert not wrong
    assert seen >= DOORS, "a door that nobody uses any more"


def test_every_module_has_a_layer():
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert rooms == set.union(*LAYERS)


def test_importing_qckm_needs_no_extra():
    """Only the core dependencies: the extras, and what test machines have besides, stay out."""
    code = """
import importlib.abc, sys
EXTRAS = {"matplotlib", "pandas", "polars", "dask", "pyspark", "ray", "cupy", "torch", "duckdb"}
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
import qckm
SLOW = {"sklearn", "scipy.optimize", "numba", "pyarrow", "click", "rich"}  # these wait until they are used
assert not (EXTRAS | SLOW) & set(sys.modules)
qckm.CompressiveKMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ok", done.stderr
