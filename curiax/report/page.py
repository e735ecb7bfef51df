"""The report as one HTML page: text, styles, scripts and data in one file that needs no network."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from curiax.envs.table import FAMILIES
from curiax.report import made, names, words
from curiax.report.encode import encoded, packed, rounded
from curiax.report.figure import colours
from curiax.report.films.make import Shot
from curiax.report.kinds import kind_of
from curiax.report.maps import DECADES, Maps, all_maps, levels_of_reward, levels_of_share, slice_edges, top_reward
from curiax.report.read import Pair, Study
from curiax.report.scores import curve, curve_names, grid
from curiax.report.table import scores_table
from curiax.report.templates import render

SCRIPTS = ("chart.js", "maps.js", "films.js", "page.js")


def write_page(
    study: Study,
    path: Path,
    worlds: str,
    shots: dict[Pair, Shot],
    film_notes: list[str],
    map_path: Path | None,
    gif: str,
) -> None:
    """`worlds` is the section on all worlds, or "". `map_path` is a picture of the map, if there is one, and `gif` the
    name of a film beside the page, or ""."""
    kind, layout = kind_of(study)
    maps, map_notes = all_maps(study) if kind.layout else ({}, [])
    films = {pair: shot.filming.payload(shot.film) for pair, shot in shots.items() if shot.filming.payload}
    data = curves_payload(study) | {"films": nested(films), "maps": {}}
    if kind.layout is not None:
        data |= maps_payload(study, maps) | {"layout": kind.layout(layout)}
    summary, failures, missing = words.progress(study)
    palette = colours(study.methods)
    page = render(
        "page.html",
        program="curiax report",
        title=f"curiax report: {study.name}",
        name=study.name,
        heading=f"Curiosity in {names.place(study)}",
        headline=words.headline(study),
        progress={"summary": summary, "failures": failures, "missing": missing},
        warnings=[*made.warnings(study), *study.notes],
        picture=kind.picture() if kind.picture else None,
        texts=list(dict.fromkeys(run.profile.text for run in study.logged)),
        settings=[(name, names.setting_about(study, name)) for name in study.settings],
        methods=[
            {"title": names.method_title(name), "about": names.method_about(name), "colour": palette[name]}
            for name in study.methods
        ],
        figure_note=words.figure_note(study),
        worlds=worlds,
        scores_note=words.scores_note(study),
        table=scores_table(study),
        maps=maps,
        map_note=kind.map_note,
        map_image=base64.b64encode(map_path.read_bytes()).decode() if map_path else "",
        map_notes=map_notes if kind.layout or map_path else ["There is no map of this environment."],
        films=films,
        gif=gif,
        film_notes=film_notes,
        made=how_it_was_made(study),
        payload=packed(data),
        scripts=SCRIPTS,
    )
    path.write_text(page, encoding="utf-8")


def curves_payload(study: Study) -> dict[str, Any]:
    """The data of the curves, and the names of everything."""
    edges, palette = grid(study), colours(study.methods)
    return {
        "settings": [{"id": name, "about": names.setting_brief(study, name)} for name in study.settings],
        "scores": [
            {
                "metric": score.metric,
                "title": score.title,
                "range": score.bounds if np.isfinite(score.bounds).all() else None,
            }
            for score in study.scores
        ],
        "methods": [{"id": name, "title": names.method_title(name), "colour": palette[name]} for name in study.methods],
        "focus": words.telling_setting(study),
        "steps": np.round((edges[:-1] + edges[1:]) / 2).tolist(),
        "end": edges[-1],
        "unit": study.step_name,
        "noise": names.noise_title(study),
        "curves": {
            name: nested({pair: curve_payload(study, pair, name, edges) for pair in pairs_with(study, name)})
            for name in curve_names(study)
        },
    }


def pairs_with(study: Study, name: str) -> list[Pair]:
    """The settings and methods that have a metric: a score belongs to the environments that name it."""
    settings = [setting for score in study.scores if score.metric == name for setting in study.settings_with(score)]
    return [pair for pair in study.pairs if not settings or pair[0] in settings]


def curve_payload(study: Study, pair: Pair, name: str, edges: np.ndarray) -> dict[str, Any] | None:
    runs = study.group(*pair)
    found = curve(runs, name, edges)
    if found is None:
        return None
    return {
        "seeds": [{"seed": run.seed, "values": rounded(row)} for run, row in zip(runs, found.seeds, strict=True)],
        "mean": rounded(found.mean),
        "low": rounded(found.low),
        "high": rounded(found.high),
    }


def maps_payload(study: Study, maps: dict[Pair, Maps]) -> dict[str, Any]:
    """The data of the maps that move through training."""
    top = top_reward(list(maps.values()))
    levels = {
        pair: {"was": encoded(levels_of_share(one.share)), "wanted": encoded(levels_of_reward(one.wanted, top))}
        for pair, one in maps.items()
    }
    slices = np.round(slice_edges(study)).tolist()
    return {"slices": slices, "decades": DECADES, "topReward": top, "maps": nested(levels)}


def nested(flat: dict[Pair, Any]) -> dict[str, dict[str, Any]]:
    """By setting, then method; without what is None."""
    result: dict[str, dict[str, Any]] = {}
    for (setting, method), value in flat.items():
        if value is not None:
            result.setdefault(setting, {})[method] = value
    return result


def how_it_was_made(study: Study) -> dict[str, Any]:
    """Commands, machine, versions and configuration."""
    first = next((run for run in study.logged if run.trained), study.logged[0])
    left_out = {*made.IDENTITY, *FAMILIES} - {first.family}  # options of other families say nothing of this run
    config = {name: value for name, value in first.config.items() if name not in left_out}
    differ = made.differing_fields(study.logged)
    return {
        "commands": made.commands(study),
        "facts": made.facts() | ({"Study started": study.started} if study.started else {}),
        "title": "Configuration of the first run" if differ else "Configuration, the same for all runs",
        "config": json.dumps(config, indent=2),
    }
