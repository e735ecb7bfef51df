"""One HTML page with everything in it: text, styles, program and data. It needs no network."""

import base64
import io
import json
import zlib
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from curiax.errors import UserError
from curiax.report import made, words
from curiax.report.figure import colours
from curiax.report.films.maze import film_payload
from curiax.report.maps import (
    DECADES,
    Maps,
    layout_payload,
    levels_of_reward,
    levels_of_share,
    slice_edges,
    sliced,
    top_reward,
)
from curiax.report.maze import picture
from curiax.report.read import Study
from curiax.report.scores import CURVES, Curve, curve, grid
from curiax.report.subject import MAZE, logged_scores, steps_name, subject_of
from curiax.report.table import scores_table
from curiax.training.evaluate import Film

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("chart.js", "maps.js", "films.js", "page.js")
PARTS = ("page.html", "maze.html", "games.html", "maps.html", "films.html", "page.css", *SCRIPTS)
Films = dict[tuple[str, str], Film]  # by setting and method


def write_page(study: Study, films: Films, notes: list[str], path: Path, rooms: Path | None = None) -> None:
    """`rooms` is the picture of a map of rooms, where there is one."""
    subject = subject_of(study)
    maps, map_notes = all_maps(study) if subject == MAZE else ({}, [] if rooms else ["These games have no map."])
    settings = "".join(f"<dt>{escape(s)}</dt><dd>{escape(words.setting_about(study, s))}</dd>" for s in study.settings)
    asset = {name: (ASSETS / name).read_text(encoding="utf-8") for name in PARTS}
    text = Template(asset["page.html"]).substitute(
        title=escape(f"curiax report: {study.name}"),
        name=escape(study.name),
        css=asset["page.css"],
        js='"use strict";\n' + "\n".join(asset[name] for name in SCRIPTS),
        headline=paragraphs(words.headline(study)),
        progress=progress_banner(study) + banner(made.warnings(study)),
        heading=subject.heading,
        what=Template(asset[f"{subject.name}.html"]).substitute(maze=maze_figure(), settings=settings),
        figure_note=escape(subject.figure_note),
        scores_note=escape(subject.scores_note),
        legend=legend(study),
        table=scores_table(study),
        maps=(asset["maps.html"] if maps else "") + rooms_figure(rooms) + paragraphs(map_notes, "note"),
        films=(asset["films.html"] if films else "") + paragraphs(notes, "note"),
        made=made_section(study),
        payload=packed(payload(study, maps, films)),
    )
    path.write_text(text, encoding="utf-8")


def payload(study: Study, maps: dict[tuple[str, str], Maps], films: Films) -> dict[str, Any]:
    """The data of everything that moves."""
    edges, palette = grid(study), colours(study.methods)
    top = top_reward(list(maps.values()))
    curves = {
        name: nested({pair: curve_payload(study, *pair, name, edges) for pair in pairs(study)}) for name in CURVES
    }
    return {
        "settings": [{"id": name, "about": words.setting_brief(study, name)} for name in study.settings],
        "scores": [{"metric": name, "title": title} for name, title in logged_scores(study).items()],
        "range": subject_of(study).bounds,
        "methods": [{"id": name, "title": words.method_title(name), "colour": palette[name]} for name in study.methods],
        "focus": words.telling_setting(study),
        "steps": np.round((edges[:-1] + edges[1:]) / 2).tolist(),
        "end": edges[-1],
        "unit": steps_name(study),
        "curves": curves,
        "layout": layout_payload(),
        "slices": np.round(slice_edges(study)).tolist(),
        "decades": DECADES,
        "topReward": top,
        "maps": nested({pair: maps_payload(one, top) for pair, one in maps.items()}),
        "films": nested({pair: film_payload(one, encoded) for pair, one in films.items()}),
    }


def pairs(study: Study) -> list[tuple[str, str]]:
    return [(setting, method) for setting in study.settings for method in study.methods if study.group(setting, method)]


def all_maps(study: Study) -> tuple[dict[tuple[str, str], Maps], list[str]]:
    """The maps of each setting and method, and a note on each that has none."""
    edges, found, notes = slice_edges(study), {}, []
    for setting, method in pairs(study):
        try:
            maps, reason = sliced(study.group(setting, method), edges), "its runs kept none"
        except UserError as error:  # made by another version of curiax
            maps, reason = None, str(error)
        if maps is None:
            notes.append(f"No maps of {words.method_title(method)} in {setting}: {reason}.")
        else:
            found[setting, method] = maps
    if not found and all(note.endswith("kept none.") for note in notes):
        notes = ["These runs kept no maps."]
    return found, notes


def maps_payload(maps: Maps, top: float) -> dict[str, str]:
    return {"was": encoded(levels_of_share(maps.share)), "wanted": encoded(levels_of_reward(maps.wanted, top))}


def curve_payload(study: Study, setting: str, method: str, name: str, edges: np.ndarray) -> dict[str, Any] | None:
    runs = study.group(setting, method)
    found: Curve | None = curve(runs, name, edges)
    if found is None:
        return None
    return {
        "seeds": [{"seed": run.seed, "values": rounded(row)} for run, row in zip(runs, found.seeds, strict=True)],
        "mean": rounded(found.mean),
        "low": rounded(found.low),
        "high": rounded(found.high),
    }


def nested(flat: dict[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
    """By setting, then method; without what is None."""
    result: dict[str, dict[str, Any]] = {}
    for (setting, method), value in flat.items():
        if value is not None:
            result.setdefault(setting, {})[method] = value
    return result


def rounded(values: np.ndarray) -> list[float | None]:
    """Four significant digits; NaN is null in JSON."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]


def encoded(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def packed(data: dict[str, Any]) -> str:
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def paragraphs(lines: list[str], kind: str = "") -> str:
    return "".join(f'<p class="{kind}">{escape(line)}</p>' if kind else f"<p>{escape(line)}</p>" for line in lines)


def banner(lines: list[str]) -> str:
    return f'<div class="banner" role="note">{paragraphs(lines)}</div>' if lines else ""


def progress_banner(study: Study) -> str:
    """Nothing if the study is whole; the list of what is missing is folded away."""
    summary, failures, missing = words.progress(study)
    if not summary:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in missing)
    folded = f"<details><summary>What is missing</summary><ul>{items}</ul></details>" if missing else ""
    return f'<div class="banner" role="note">{paragraphs([summary, *failures])}{folded}</div>'


def legend(study: Study) -> str:
    palette = colours(study.methods)
    items = [(palette[name], words.method_title(name), words.method_about(name)) for name in study.methods]
    return "".join(
        f'<span title="{escape(about)}"><span class="swatch" style="background:{colour}"></span>{escape(title)}</span>'
        for colour, title, about in items
    )


def maze_figure() -> str:
    """The picture of the maze as SVG, with words for those who cannot see it."""
    file = io.StringIO()
    picture(file, "svg")
    svg = file.getvalue()
    label = "The maze: rooms in a row from the start, top right, to the lower right; a block stands in each doorway"
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def rooms_figure(path: Path | None) -> str:
    if path is None:
        return ""
    label = "Rooms as they lie in the game, coloured by the share of its time that each agent spent there"
    data = base64.b64encode(path.read_bytes()).decode()
    note = "All of training, all seeds; grey: nobody was there. A room is told by the console's memory."
    return f'{paragraphs([note], "note")}<img class="rooms" alt="{label}" src="data:image/png;base64,{data}">'


def made_section(study: Study) -> str:
    first = study.logged[0].config
    rows = {"Machine": made.machine(), "Versions": ", ".join(f"{k} {v}" for k, v in made.versions().items())}
    if study.started:
        rows["Study started"] = study.started
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows.items())
    config = json.dumps({name: value for name, value in first.items() if name not in made.IDENTITY}, indent=2)
    differ = made.differing_fields(study)
    title = "Configuration of the first run" if differ else "Configuration, the same for all runs"
    return (
        f"<pre>{escape(chr(10).join(made.commands(study)))}</pre>"
        f'<dl class="terms">{facts}</dl><p class="note">Machine and versions are those that wrote this page.</p>'
        f"<details><summary>{title}</summary><pre>{escape(config)}</pre></details>"
    )
