"""What can be drawn and filmed of an environment: known by the type of its map, or by what the agent sees."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from curiax import envs
from curiax.config import Config
from curiax.envs import maze
from curiax.envs.atari.rooms import Rooms
from curiax.errors import UserError
from curiax.report.cells import draw_errors
from curiax.report.films import maze as maze_film
from curiax.report.films import pictures
from curiax.report.films.maze_gif import write_gif
from curiax.report.maps import layout_payload
from curiax.report.maze import svg
from curiax.report.read import Study
from curiax.report.rooms import draw_rooms
from curiax.types import LearnerState


class Filming(NamedTuple):
    """How a kind of environment is filmed."""

    shoot: Callable[[Config, LearnerState, int], Any]  # config, state, seed -> a film of one episode
    write: Callable[[Path, str, dict[str, Any]], None]  # path, environment, films by method: side by side as a GIF
    payload: Callable[[Any], dict[str, str]] | None = None  # what the page needs to play a film, if it can


class Kind(NamedTuple):
    """What a report shows of environments with one type of map."""

    picture: Callable[[], Markup] | None = None  # the environment as SVG
    layout: Callable[[Any], dict[str, Any]] | None = None  # the map, for a page that draws it over training
    map_name: str = ""  # file name of a picture of maps
    map_note: str = ""  # what it shows
    draw_map: Callable[[Study, Path], bool] = lambda study, path: False  # writes it; False if there is none
    filming: Filming | None = None


PICTURES = Filming(pictures.shoot, pictures.write_gif)
KINDS: dict[type, Kind] = {
    maze.Layout: Kind(
        picture=svg,
        layout=layout_payload,
        map_name="errors.png",
        map_note="Error per visit before normalisation, last quarter of training, all seeds; grey: hardly any visit.",
        draw_map=draw_errors,
        filming=Filming(maze_film.shoot, write_gif, maze_film.payload),
    ),
    Rooms: Kind(
        map_name="rooms.png",
        map_note="Share of the time in each room, over all of training and all seeds; grey: nobody was there.",
        draw_map=draw_rooms,
    ),
}


def kind_of(study: Study) -> tuple[Kind, Any]:
    """The kind of the first environment of the study that has a map, and the map."""
    maps = [run.profile.map for run in study.logged]
    return next(((KINDS[type(one)], one) for one in maps if type(one) in KINDS), (Kind(), None))


def filming_of(config: Config) -> Filming:
    """How the environment of a run is filmed."""
    kind = KINDS.get(type(envs.profile_of(config.env).map), Kind())
    if kind.filming is not None:
        return kind.filming
    if envs.on_host(config.env) and len(envs.spec_of(config).observation_shape) == 2:
        return PICTURES
    raise UserError(f"{config.env} has no grey pictures to film")
