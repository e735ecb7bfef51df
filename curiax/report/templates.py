"""HTML from the templates in assets/. Everything that is inserted is escaped, unless it is marked as HTML."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

ASSETS = Path(__file__).parent / "assets"


def render(template: str, assets: Path = ASSETS, /, **context: Any) -> Markup:
    """A template of a directory, filled in. It may use the templates of the report too."""
    environment = Environment(
        loader=FileSystemLoader([assets, ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return Markup(environment.get_template(template).render(source=source, **context))


def inline_svg(text: str, label: str) -> Markup:
    """An SVG document for use within HTML, with a description for screen readers."""
    return Markup(text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1))


def source(name: str) -> Markup:
    """A style sheet or script, as it is."""
    return Markup((ASSETS / name).read_text(encoding="utf-8"))
