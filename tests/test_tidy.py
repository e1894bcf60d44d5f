"""The code base checks itself: sizes, names, docstrings, and nothing of one machine or registry.

Each rule collects every breach as `file:line: what` and expects none. An exception to a rule is an entry in
one of the lists at the top, where a reader can see how few there are.
"""

import ast
import functools
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ullage"
ROOT_NAMES = frozenset((
    ".ci", ".containerignore", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md",
    "GLOSSARY.md", "LICENSE", "Makefile", "README.md", "SCOPE.md", "benchmarks", "deploy", "docs", "examples",
    "pyproject.toml", "requirements.lock", "scripts", "src", "tests", "zensical.toml",
))  # fmt: skip
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

LONGER_FILES: frozenset[str] = frozenset()
LONGER_FUNCTIONS: frozenset[str] = frozenset()
FLOATS_ALLOWED = (
    "src/ullage/engine/balance/",  # scores are compared with those of Ganeti's tools
    "src/ullage/engine/usage/",  # what is estimated: forecasts and risks; amounts in verdicts are integers
)
NAMES_FROM_OUTSIDE = frozenset(
    {
        "pv_pe_alloc_count",  # a field of LVM's own report
        "num_col_",  # fields of the solver's own model
        "num_row_",
    }
)

MODULE_NAMES_FORBIDDEN = frozenset(
    {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
)
ABBREVIATIONS = """
    addr alloc arr avg buf calc cfg cmd cnt conf ctx cur curr dest dst elem err exc fmt fn func hdr idx
    lhs mem mgr msg num obj ofs opts param params pct pos prev ptr qty rec req reqs res resp ret rhs sched
    src str svc tmp util val vals vol
"""
MIRRORED = ("model", "engine", "sources", "stores", "render", "service", "cli")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
UNFINISHED_SUFFIXES = frozenset({"", ".py", ".go", ".md", ".toml", ".yaml", ".html", ".css", ".js"})
ELSEWHERE = re.compile(
    r"pypi\.org|pythonhosted\.org|proxy\.golang\.org|sum\.golang\.org|npmjs\.(org|com)"
    r"|(?<![\w.~-])/(work|root|opt/wheels)/"
)
NOQA = re.compile(r"#\s*noqa\b", re.IGNORECASE)
NOQA_WITH_REASON = re.compile(r"# noqa: [A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)* - \S.{5,}")


def python_files(folder: Path) -> Iterator[tuple[str, str, ast.Module]]:
    """Yield each Python file below a folder as its name from the root, its text and its tree."""
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), *parsed(path)


@functools.cache
def parsed(path: Path) -> tuple[str, ast.Module]:
    text = path.read_text(encoding="utf-8")
    return text, ast.parse(text)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def names_defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names a module gives to things, not the ones it takes over from others."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str()):
                yield node.asname, node.lineno
            case _:
                pass


def words(name: str) -> list[str]:
    """Split snake_case and CamelCase into lower-case words; the language's own __names__ have none."""
    if name.startswith("__") and name.endswith("__"):
        return []
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def project_files() -> list[Path]:
    """Return what git tracks or would track."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git work tree: the project's files cannot be listed")
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in sorted(set(listed.stdout.split("\0"))) if name]
    return [path for path in paths if path.is_file() and path != Path(__file__).resolve()]


def lines_matching(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def listed(remedy: str, found: list[str]) -> str:
    return "\n".join([remedy, *found])


def test_the_root_holds_what_is_named_here_and_no_leftovers():
    found = {path.relative_to(ROOT).parts[0] for path in project_files()}
    assert found <= ROOT_NAMES, "examples write files into their own folder; a new one is named in ROOT_NAMES"


def test_a_source_file_is_short_enough_to_read():
    lengths = {name: len(text.splitlines()) for name, text, _ in python_files(SOURCE)}
    too_long = {name for name, length in lengths.items() if length > FILE_LINES_MAX}
    assert too_long == LONGER_FILES, "split the file, or drop it from LONGER_FILES"


def test_a_function_fits_a_screen():
    too_long = {
        f"{name}:{function.name}"
        for name, _, tree in python_files(SOURCE)
        for function in functions(tree)
        if (function.end_lineno or 0) - function.lineno + 1 > FUNCTION_LINES_MAX
    }
    assert too_long == LONGER_FUNCTIONS, "split the function, or drop it from LONGER_FUNCTIONS"


def test_every_module_says_what_it_is():
    silent = [name for name, _, tree in python_files(SOURCE) if not ast.get_docstring(tree)]
    assert not silent, listed("give the module a docstring", silent)


def test_a_module_is_named_after_what_it_holds():
    found = [
        name
        for folder in (SOURCE, ROOT / "tests", ROOT / "benchmarks")
        for name, _, _ in python_files(folder)
        if MODULE_NAMES_FORBIDDEN & set(Path(name).with_suffix("").parts)
    ]
    assert not found, listed("name the module after what it holds", found)


def test_names_are_whole_words():
    abbreviations = set(ABBREVIATIONS.split())
    found = [
        f"{name}:{line}: {identifier}"
        for name, _, tree in python_files(SOURCE)
        for identifier, line in names_defined(tree)
        if identifier not in NAMES_FROM_OUTSIDE and abbreviations & set(words(identifier))
    ]
    assert not found, listed("write the word out", found)


def test_a_private_name_stays_in_its_module():
    found = [
        f"{name}:{node.lineno}: {alias.name}"
        for name, _, tree in python_files(SOURCE)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert not found, listed("give it a public name", found)


def test_the_model_and_the_engine_write_no_floats():
    found = [
        f"{name}:{node.lineno}"
        for layer in ("model", "engine")
        for name, _, tree in python_files(SOURCE / layer)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and not name.startswith(FLOATS_ALLOWED)
    ]
    assert not found, listed("use an integer in a small unit, or a Fraction", found)


def test_a_silenced_rule_has_its_reason_beside_it():
    found = [
        f"{name}:{number}: {line.strip()}"
        for folder in (SOURCE, ROOT / "tests", ROOT / "benchmarks")
        for name, text, _ in python_files(folder)
        for number, line in enumerate(text.splitlines(), 1)
        if NOQA.search(line) and not NOQA_WITH_REASON.search(line) and name != "tests/test_tidy.py"
    ]
    assert not found, listed("write `# noqa: CODE - why it does not apply here`", found)


def test_a_layers_test_mirrors_the_module_it_tests():
    found = []
    for layer in MIRRORED:
        for path in sorted((ROOT / "tests" / layer).rglob("test_*.py")):
            inside = path.parent.relative_to(ROOT / "tests") / path.stem.removeprefix("test_")
            module = SOURCE / inside
            if not module.with_suffix(".py").is_file() and not (module / "__init__.py").is_file():
                found.append(f"{path.relative_to(ROOT)}: no {module.relative_to(ROOT)}.py")
    assert not found, listed("move the test beside its module, or to tests/properties", found)


def test_nothing_is_left_unfinished():
    paths = [path for path in project_files() if path.suffix in UNFINISHED_SUFFIXES]
    found = lines_matching(UNFINISHED, paths)
    assert not found, listed("finish it, or leave it out", found)


def test_no_file_names_a_package_registry_or_a_path_of_one_machine():
    found = lines_matching(ELSEWHERE, project_files())
    assert not found, listed("a clone elsewhere has neither", found)
