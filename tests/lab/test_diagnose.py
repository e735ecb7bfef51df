"""Where is the noise? In the maze on demand it is in one action and one layer, and without noise it is nowhere."""

import csv
import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.policy import make_agent
from curiax.commands.cli import main
from curiax.config import LAPTOP
from curiax.envs import maze, scm
from curiax.lab.diagnose import words
from curiax.lab.diagnose.explore import Budget, SomeAtRandom, spend, streams_at_random
from curiax.lab.diagnose.figures import percent
from curiax.lab.diagnose.findings import Measured, curve, find, share_that_holds, together, trajectory_actions
from curiax.lab.diagnose.names import action_names, layout_of
from curiax.lab.diagnose.page import write
from curiax.lab.diagnose.run import diagnose
from curiax.lab.diagnose.view import gather, make_view
from curiax.types import EnvSpec

MAZE = maze.make("on-demand").spec


def by_hand(spec=MAZE, number=100, noisy=5):
    """Transitions of which a few hold all the noise: action 0, layer noise; and every one a little novelty."""
    action = np.full(number, 1)
    action[:noisy] = 0
    view = make_view(spec, np.zeros((1, *spec.observation_shape), np.uint8))
    each = np.zeros(view.size)
    in_noise = view.layout.group == maze.LAYERS.index("noise")
    predicted_each = np.where(in_noise, 10.0 * noisy / in_noise.sum(), 0.0)
    predicted_each[~in_noise] += number / (~in_noise).sum()
    left = predicted_each * ~in_noise
    predicted = np.where(action == 0, 11.0, 1.0)
    return view, Measured(
        predicted=predicted,
        reconstructed=np.ones(number),
        action=action,
        marked=action == 0,
        at_random=np.zeros(number, bool),
        cell=np.where(action == 0, 30, 31),
        predicted_each=predicted_each,
        reconstructed_each=left,
        change=each,
        change_square=np.full(view.size, 5.0 * number / view.size),
        examples=[(10.0, np.zeros(spec.observation_shape, np.uint8), 0, np.ones(spec.observation_shape, np.uint8))],
    )


def test_findings_of_transitions_made_by_hand():
    """5 of 100 transitions have error 11, of which 10 is noise; the others 1, all of it novelty. The variance is 5."""
    view, measured = by_hand()
    found = find(MAZE, view, measured)
    assert found.total.error == pytest.approx(1.5 / 5)
    assert found.total.noise == pytest.approx(0.5 / 5) and found.total.novelty == pytest.approx(1 / 5)
    stay, up = found.actions
    assert (stay.name, up.name) == ("stay", "up")
    assert stay.noise == pytest.approx(10 / 5) and up.noise == 0
    assert stay.share_of_noise == pytest.approx(1) and up.share_of_noise == 0
    assert found.needed == pytest.approx(0.04) and found.held == pytest.approx(1)
    assert found.top_actions[0] == ("stay", 1.0, 0.05)
    groups = {one.name: one for one in found.groups}
    assert groups["noise"].share_of_noise == pytest.approx(1) and groups["wall"].noise == 0
    assert sum(one.error for one in found.groups) == pytest.approx(found.total.error)
    assert found.cells["noise"].ravel()[30] == pytest.approx(2) and found.cells["noise"].ravel()[31] == 0
    assert np.isnan(found.cells["noise"].ravel()[29])
    assert found.marked == pytest.approx(0.05) and found.noise_in_marked == pytest.approx(1)


def test_sentences_say_what_the_numbers_say():
    view, measured = by_hand()
    said = " ".join(words.headline(find(MAZE, view, measured)))
    assert "4.0 % of the transitions have 80 % of the noise" in said
    assert "100 % of these follow the action “stay”" in said and "100 % of the noise is in “noise”" in said
    quiet = measured._replace(predicted=measured.reconstructed, predicted_each=measured.reconstructed_each)
    assert words.headline(find(MAZE, view, quiet))[0] == "There is hardly any noise."
    ignorant = measured._replace(predicted=10 * measured.predicted)
    assert words.one_line(find(MAZE, view, ignorant)).startswith("Too early to tell")


def test_page_table_and_picture_are_written_and_need_no_network(tmp_path):
    view, measured = by_hand()
    found = find(MAZE, view, measured)
    page = write(MAZE, found, tmp_path, "curiax diagnose maze/on-demand", "Nobody explored.", {"Seed": "0"})
    text = page.read_text()
    assert "Where is the noise in maze/on-demand?" in text and "$" not in text.split("</style>")[1]
    assert "http://" not in text.replace("http://www.w3.org", "").replace("http://creativecommons", "").replace(
        "http://purl", ""
    )
    for section in ("whole", "lorenz", "actions", "groups", "plane", "cells", "examples"):
        assert f'id="{section}"' in text
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert {row["kind"] for row in rows} == {"all", "action", "observation", "cell"}
    assert json.loads((tmp_path / "findings.json").read_text())["noise"] == pytest.approx(0.1)
    assert (tmp_path / "diagnose.png").stat().st_size > 10_000


@pytest.mark.slow
def test_noise_on_demand_is_in_one_action_and_one_layer_and_in_the_still_maze_in_neither(optimised):
    """The agent has not learned anything: beliefs of random networks will do for this maze."""
    found = {}
    for setting, num_steps in (("on-demand", 140_000), ("baseline", 40_000)):
        config = replace(LAPTOP, env=f"maze/{setting}", batch_size=32, unroll=16)
        agent = make_agent(config.network, MAZE, jax.random.key(0))
        found[setting] = diagnose(config, agent, Budget(0, num_steps), Budget(0, 8_192))
    noisy, still = found["on-demand"], found["baseline"]
    by_noise = sorted(noisy.actions, key=lambda one: -one.noise)
    assert by_noise[0].name == "stay" and by_noise[0].noise > 2 * by_noise[1].noise
    assert max(noisy.groups, key=lambda one: one.noise).name == "noise"
    assert noisy.noise_in_marked > 1.5 * noisy.marked
    stay = next(one for one in still.actions if one.name == "stay")
    layer = next(one for one in still.groups if one.name == "noise")
    assert stay.noise < 0.5 * still.total.noise and layer.share_of_noise < 0.02


def test_areas_of_a_picture_are_means_and_its_edge_is_left_out():
    picture = jnp.arange(5 * 4).reshape(1, 5, 4)
    np.testing.assert_allclose(gather((5, 4), 2, picture), [[2.5, 4.5, 10.5, 12.5]])


def test_numbers_share_a_unit_unless_they_leave_it():
    spec = EnvSpec("gym/Made-Up-v0", (2,), 2, 10)
    shared = make_view(spec, np.array([[0.0, 1.0], [0.5, -1.0]], np.float32))
    assert not shared.own_units
    np.testing.assert_allclose(shared(jnp.array([[0.5, 1.0]])), [[0.5, 1.0]])
    own = make_view(spec, np.array([[0.0, 100.0], [2.0, 300.0]], np.float32))
    assert own.own_units
    np.testing.assert_allclose(own(jnp.array([[2.0, 100.0]])), [[1, -1]])
    np.testing.assert_allclose(own(jnp.array([[2000.0, 100.0]])), [[5, -1]])


def test_names_cover_every_number_and_action():
    for spec in (MAZE, scm.make("state").spec, EnvSpec("gym/X", (84, 84, 3), 6, 10), EnvSpec("gym/Y", (4,), 2, 10)):
        layout = layout_of(spec, spec.observation_shape)
        assert len(layout.group) == len(layout.place) == np.prod(spec.observation_shape)
        assert set(layout.group) == set(range(len(layout.groups)))
        assert len(action_names(spec)) == spec.num_actions
    added = MAZE._replace(name="maze/baseline+on-demand", num_actions=6)
    assert action_names(added)[-1] == "action 5"
    assert action_names(MAZE._replace(name="gym/Z", num_actions=2, action_parts=()))[3] == "mostly +a1"


@pytest.mark.slow
def test_craftax_has_a_layout_of_its_map():
    for name, size in (("classic-symbolic", 1345), ("symbolic", 8268)):
        layout = layout_of(EnvSpec(f"craftax/{name}", (size,), 17, 10), (size,))
        assert len(layout.group) == size and layout.groups[-1] == "inventory and state"
        assert (layout.place < 0).sum() == (layout.group == len(layout.groups) - 1).sum() == {1345: 22, 8268: 51}[size]


def test_lorenz_curve_and_its_inverse():
    values = np.array([1.0, 0, 0, 3])
    np.testing.assert_allclose(curve(values)[[0, 50, 100, 200]], [0, 0.75, 1, 1])
    assert share_that_holds(values, 0.7) == 0.25 and share_that_holds(values, 0.8) == 0.5
    np.testing.assert_allclose(curve(np.zeros(3)), np.linspace(0, 1, 201))


def test_real_actions_are_named_by_their_largest_coordinate():
    action = np.array([[[0.1, -0.9], [0.5, 0.2]]])
    np.testing.assert_array_equal(trajectory_actions(action), [[2, 1]])


def test_some_streams_act_at_random_and_the_others_do_not():
    policy = SomeAtRandom(lambda belief: belief + 1, jnp.asarray(streams_at_random(4)))
    np.testing.assert_array_equal(policy(jnp.ones((4, 2))), [[2, 2], [2, 2], [2, 2], [0, 0]])
    assert streams_at_random(2).tolist() == [False, True]


def test_a_budget_of_steps_is_spent_and_not_exceeded_by_more_than_an_item():
    assert list(spend(iter(range(100)), Budget(0, 25), lambda _: 10)) == [0, 1, 2]
    assert list(spend(iter(range(100)), Budget(0.0), lambda _: 10)) == [0]
    assert Budget(10, 100).part(0.4) == Budget(4, 40)


def test_batches_add_up():
    view, measured = by_hand()
    both = together([measured, measured])
    assert len(both.predicted) == 200 and both.predicted_each.sum() == pytest.approx(2 * measured.predicted_each.sum())
    assert find(MAZE, view, both).total.noise == pytest.approx(find(MAZE, view, measured).total.noise)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "which environment?"),
        ("maze/baslin", "Did you mean maze/baseline"),
        ("maze/baseline --minutes 0", "--minutes 0.0: must be above 0"),
        ("maze/baseline --env-steps 0", "--env-steps 0: must be at least 1"),
        ("maze/baseline --wold.latent 3", "wold"),
        ("maze/baseline --world.latent -3", "world.latent"),
        ("--run-dir nowhere", "nowhere: no run here"),
        ("--run-dir nowhere --seed 1", "--seed: a run has its own options"),
    ],
)
def test_wrong_options_are_one_clear_line(line, told, capsys):
    assert main(["diagnose", *line.split()]) == 2
    error = capsys.readouterr().err
    assert told in error and error.startswith("curiax: ") and error.count("\n") == 1


def test_shares_have_as_many_digits_as_they_need():
    assert [percent(x) for x in (0.0, 0.0004, 0.042, 0.5, 1.0)] == ["0.0 %", "< 0.1 %", "4.2 %", "50 %", "100 %"]
