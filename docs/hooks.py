"""What the documentation site has beside the pages of docs/: made from the code and from results/ when it is built.

methods_table.md   from the table of methods
reference.md       from the command line, the fields of the config and the docstrings of `curiax.Curiosity`
results/*          a page for every directory of results: its README, its figures, its small tables
"""

import ast
import csv
import dataclasses
import functools
import inspect
import itertools
import re
import textwrap
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
FIGURES = (".png", ".gif")
SMALL_TABLE = 60  # rows of a CSV that is shown; longer ones are linked


def on_config(config: Any) -> Any:
    """Entries of the navigation whose page is not there are left out; results that it does not name are added."""
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} | set(generated())
    config.nav = existing(config.nav, pages)
    named = str(config.nav)
    (results,) = [entry["Results"] for entry in config.nav if "Results" in entry]
    for readme in sorted(RESULTS.glob("*/README.md")):
        page = f"results/{readme.parent.name}/index.md"
        if page not in named:
            results.append({title(readme): page})
    return config


def existing(nav: list, pages: set[str]) -> list:
    found = []
    for entry in nav:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            found.append({title: existing(target, pages)})
        elif target in pages:
            found.append(entry)
    return found


def on_files(files: Files, config: Any) -> Files:
    for uri, text in generated().items():
        files.append(File.generated(config, uri, content=text))
    for path in sorted(RESULTS.rglob("*")):
        if path.is_file() and path.name != "README.md":
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links out of docs/: those to results lead to their pages here, those to code become its name."""
    if page.file.src_uri.count("/"):
        return markdown
    markdown = re.sub(r"\[([^\]]*)\]\(\.\./(?!results/)[^)]*\)", r"\1", markdown)
    markdown = re.sub(r"\]\(\.\./results/([^)]*)README\.md\)", r"](results/\1index.md)", markdown)
    return markdown.replace("](../results/", "](results/")


@functools.cache
def generated() -> dict[str, str]:
    pages = {"methods_table.md": methods_table(), "reference.md": reference(), "results/index.md": results_index()}
    for readme in sorted(RESULTS.glob("*/README.md")):
        pages[f"results/{readme.parent.name}/index.md"] = results_page(readme.parent)
    return pages


def methods_table() -> str:
    from curiax.curiosity import MEASURES, METHODS, REPRESENTATIONS
    from curiax.curiosity.table import HINDSIGHT

    rows = {name: row for name, row in METHODS.items() if row.inputs} | {
        "…+hindsight": HINDSIGHT._replace(composition="…+hindsight")
    }
    works = [("`--curiosity`", "made of", "inputs", "target", "measure of learning", "representation")]
    claims = [("method", "random noise", "state- or action-dependent noise", "dynamics-aware")]
    for name, row in rows.items():
        measure = row.measure.replace("\n", " ")
        star = "" if row.in_paper else " *"
        works.append((f"`{name}`{star}", f"`{row.composition}`", row.inputs, row.target, measure, row.space))
        marks = (row.random_noise, row.dependent_noise, row.dynamics)
        claims.append((row.name + star, *("✓" if mark else "✗" for mark in marks)))
    variants = [measure for measure in MEASURES if measure.startswith("hindsight-")]
    measures = [measure for measure in MEASURES if measure not in variants]
    pairs = [("representation", *measures)]
    pairs += [(f"`{each}`", *(f"`{each}+{measure}`" for measure in measures)) for each in REPRESENTATIONS]
    return f"""# The table of methods

A prediction-error method is a **representation** (what are x_t and x_{{t+1}}?) and a **measure** (how is a transition
scored?): the paper's Table 1, and five methods beside it (*). This page is made from the table that the code runs on;
`curiax list methods` prints it.

## How each works

{table(works)}

{bullets((f"`{name}`", row.about) for name, row in METHODS.items())}

## What the paper says of each

Claims of the paper's Table 1, not measurements; methods with a star are not in that table, and the claims are their
authors'. [Noise and novelty apart](scm.md) measures them.

{table(claims)}

## Any representation takes any measure

{table(pairs)}

The studies of the paper's appendix B change one thing in hindsight, by measures of their own:
{", ".join(f"`{variant}`" for variant in variants)}.

`emi`, `rnd` and `dora` score by a model of their own. RND and DORA have deterministic targets, so there is nothing to
explain in hindsight, and `+hindsight` is refused. Equations, functions, deviations: [methods](methods.md). A new one:
[add a method](extending.md).
"""


def reference() -> str:
    import curiax
    from curiax.commands.cli import USAGE
    from curiax.config import LAPTOP, PAPER
    from curiax.config.dotted import flag, get

    usage = textwrap.dedent(USAGE).strip()
    parts = [
        "# Reference\n\nMade from the code: the command line, every option, and the class for loops of your own.\n",
        f"## The command line\n\n```text\n{usage}\n```\n",
        "## Options\n\nOf `curiax train` and `curiax study`; in Python, the fields of `curiax.config.Config`.\n",
    ]
    groups: dict[str, list] = {}
    for name, field, about in options(LAPTOP):
        groups.setdefault(name.rpartition(".")[0], []).append((name, field, about, get(PAPER, name)))
    for group, rows in groups.items():
        cells = [("option", "laptop", "paper", "")]
        for name, mine, about, paper in rows:
            cells.append((f"`{flag(name)}`", f"`{mine}`", f"`{paper}`", about))
        parts.append(f"### {group or 'The run'}\n\n{table(cells)}\n")
    parts.append("## `curiax.Curiosity`\n\n" + described(curiax.Curiosity))
    return "\n".join(parts)


def options(config: Any, prefix: str = "") -> list[tuple[str, Any, str]]:
    """Dotted name, value and description of every field."""
    about, found = descriptions(type(config)), []
    for field in dataclasses.fields(config):
        mine = getattr(config, field.name)
        if dataclasses.is_dataclass(mine):
            found += options(mine, f"{prefix}{field.name}.")
        else:
            found.append((prefix + field.name, mine, about.get(field.name, "")))
    return found


def descriptions(kind: type) -> dict[str, str]:
    """The strings that stand below the fields of a dataclass."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body
    found = {}
    for field, below in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[field.target.id] = " ".join(str(below.value.value).split())
    return found


def described(kind: type) -> str:
    """A class: its signature and those of its public methods, with what they say of themselves."""
    own = [(kind.__name__, kind)] + [(f".{name}", each) for name, each in vars(kind).items() if name[0] != "_"]
    parts = []
    for name, each in own:
        function = getattr(each, "__func__", each)
        if callable(function):
            signature = str(inspect.signature(function)).replace("(self, ", "(").replace("(self)", "()")
            parts.append(f"```text\n{name}{signature}\n```\n\n{inspect.getdoc(each) or ''}\n")
    return "\n".join(parts)


def results_index() -> str:
    pages = sorted(RESULTS.glob("*/README.md"))
    rows = [(f"[{page.parent.name}]({page.parent.name}/index.md)", title(page)) for page in pages]
    files = [f"[{path.name}]({path.name})" for path in sorted(RESULTS.glob("*")) if path.is_file()]
    return f"""# Results

Everything here was made by committed code, with the command that made it beside it. The pages are the directories of
`results/`, with their figures and tables.

{table([("directory", "what"), *rows])}

Single files: {", ".join(files)}.
"""


def title(page: Path) -> str:
    return page.read_text().splitlines()[0].lstrip("# ")


def results_page(directory: Path) -> str:
    """The README, then what it speaks of."""
    parts = [re.sub(r"\[([^\]]*)\]\(\.\./\.\./[^)]*\)", r"\1", (directory / "README.md").read_text())]
    shown = parts[0]
    for figure in sorted(path for path in directory.iterdir() if path.suffix in FIGURES):
        if f"({figure.name})" not in shown:
            parts.append(f"## {figure.name}\n\n![{figure.stem} of {title(directory / 'README.md')}]({figure.name})")
    for path in sorted(directory.glob("*.csv")):
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        if len(rows) <= SMALL_TABLE + 1:
            parts.append(f"## {path.name}\n\n{table([[short(cell) for cell in row] for row in rows])}")
    names = [path.name for path in sorted(directory.iterdir()) if path.is_file() and path.name != "README.md"]
    parts += [f"## Files\n\n{', '.join(f'[{name}]({name})' for name in names)}"] if names else []
    return "\n\n".join(parts) + "\n"


def short(cell: str) -> str:
    """Four digits of a number are enough to read."""
    try:
        return cell if re.fullmatch(r"-?\d*", cell) else f"{float(cell):.4g}"
    except ValueError:
        return cell


def table(rows: list) -> str:
    head, *body = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body])


def bullets(pairs: Any) -> str:
    return "\n".join(f"- {first}: {second}" for first, second in pairs)
