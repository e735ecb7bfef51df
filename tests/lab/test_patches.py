"""The study of patches: windows stay inside episodes, the functions see what they may, the table adds up."""

import csv
import dataclasses
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from curiax.commands.cli import main
from curiax.config.dotted import names
from curiax.envs.noise.equations import patch_greys
from curiax.errors import UserError
from curiax.lab.patches import functions
from curiax.lab.patches import run as patches_run
from curiax.lab.patches import world as study
from curiax.lab.patches.functions import FUNCTIONS
from curiax.lab.patches.world import Amount, Recording

SMALL = dataclasses.replace(
    study.CONFIG,
    env="atari/freeway",  # three actions
    batch_size=32,
    learning_rate=3e-3,
    network=dataclasses.replace(study.CONFIG.network, encoder_hidden=(), embedding=16),
    world=dataclasses.replace(study.CONFIG.world, hidden=(32,), critic_hidden=(32,), latent=4, noise=4),
)
ROOT = Path(__file__).parents[2]
FEW = Amount(emulators=8, held_out=2, steps=200, updates=600, readout_updates=300)


@pytest.fixture(scope="module")
def made_up():
    """A pixel goes round and round in one row; two patches below, 12×6 pixels in all. No emulator."""
    generator = np.random.default_rng(0)
    frames, actions, firsts = np.zeros((200, 8, 12, 6), np.uint8), [], []
    place = generator.integers(6, size=8)
    for t in range(200):
        action = generator.integers(3, size=8).astype(np.int32)
        frames[t, np.arange(8), 2, place] = 200
        if t > 0:
            coins = generator.integers(2, size=(8, 2)).astype(np.uint8)
            frames[t, :, -study.STRIP :] = np.repeat(patch_greys(5 * actions[-1], coins), 3, axis=1)[:, None]
        place = (place + 1) % 6
        actions.append(action)
        firsts.append(np.full(8, t in (0, 90)))
    return Recording(frames.reshape(-1, 12, 6), np.concatenate(actions), study.ready(np.stack(firsts)), streams=8)


def test_windows_of_five_frames_lie_within_one_episode():
    first = np.zeros((12, 2), bool)
    first[0] = first[6, 0] = True
    found = {(int(i) // 2, int(i) % 2) for i in study.ready(first)}
    expected = {(t, b) for t in range(3, 11) for b in range(2) if not any(first[k, b] for k in range(t - 2, t + 2))}
    assert found == expected and (9, 0) in found and (5, 0) not in found


def test_held_out_streams_are_not_learned_from(made_up):
    known, held_out = study.split(made_up, 2)
    assert set(known % 8) == set(range(6)) and set(held_out % 8) == {6, 7}
    assert len(known) + len(held_out) == len(made_up.ready)


def test_states_and_outcomes_are_frames_of_the_same_stream(made_up):
    seen = study.views(made_up, made_up.ready)
    row = made_up.ready[5]
    stream, t = made_up.frames.reshape(200, 8, 12, 6)[:, row % 8].astype(float), row // 8
    mean, spread = (np.asarray(statistic).reshape(12, 6) for statistic in (seen.mean, seen.spread))
    latest, *changes = study.last_four(seen, jnp.array([row])).reshape(4, 12, 6)
    np.testing.assert_allclose(latest, (stream[t] - mean) / spread, atol=1e-5)
    for back, change in enumerate(changes):
        np.testing.assert_allclose(change, (stream[t - back] - stream[t - back - 1]) / spread, atol=1e-5)
    own, _ = study.start(SMALL, 3, 72, 1).params.curiosity
    represented = study.frames(SMALL, 3, 72).represent(own, (), study.experience_of(seen, jnp.array([row])))
    np.testing.assert_allclose(represented.target.reshape(12, 6), (stream[t + 1] - stream[t]) / spread, atol=1e-5)
    np.testing.assert_allclose(
        functions.grey(seen, study.look(seen, jnp.array([row])))[0], stream[t].ravel(), atol=1e-3
    )


def test_frames_shrink_by_averages_and_the_strip_with_them():
    obs = np.zeros((1, 84, 84), np.uint8)
    obs[:, -12:] = 100
    obs[0, 0, 0] = 200
    small = study.shrink(obs)
    assert small.shape == (1, 42, 42) and small[0, 0, 0] == 50
    assert np.all(small[:, -study.STRIP :] == 100) and small[:, 1 : -study.STRIP].max() == 0


def test_what_is_told_is_what_the_measure_scores(made_up):
    known, _ = study.split(made_up, 2)
    state = study.start(SMALL, 3, 72, 1)
    told, scored = jax.jit(both_errors)(state, study.views(made_up, known), jnp.array(known[:32]), jax.random.key(3))
    np.testing.assert_allclose(told, scored, rtol=1e-4)


def both_errors(state, seen, rows, key):
    """Prediction and reconstruction, by way of the frames that are told, and by the measure itself."""
    output = study.model_of(SMALL, 3, 72, 1).score(state, lambda _: study.experience_of(seen, rows), key)
    told = functions.tell(SMALL, 3, state.params, seen, rows, jax.random.split(key)[0])
    target = study.look(seen, rows + 8)
    errors = [jnp.mean(jnp.square(frames - target)) for frames in (told.prediction, told.reconstruction)]
    return jnp.stack(errors), jnp.stack([output.metrics[f"{name}_error"] for name in FUNCTIONS[1:3]])


@pytest.mark.slow
def test_learning_finds_the_noise_and_leaves_the_rest_to_the_predictor(made_up):
    said = []
    result = patches_run.study(SMALL, FEW, made_up, said.append)
    rows = {row.function: row for row in result.rows}
    assert tuple(rows) == FUNCTIONS and len(said) == 6
    assert rows["prediction"].strip_error > 3 * rows["reconstruction"].strip_error
    assert rows["hindsight-only"].rest_error > 2 * rows["reconstruction"].rest_error
    assert rows["hindsight-only"].strip_error > 1.5 * rows["hindsight-and-action"].strip_error
    assert set(np.asarray(result.before).reshape(-1, 72).max(axis=1)) == {200}


def committed():
    """The table that the docs show."""
    with (ROOT / "results/patches/table.csv").open() as file:
        return {row["function"]: (float(row["strip_error"]), float(row["rest_error"])) for row in csv.DictReader(file)}


def test_the_committed_table_shows_that_only_hindsight_and_action_explain_the_strip():
    table = committed()
    assert tuple(table) == FUNCTIONS
    strip, rest = ({name: errors[part] for name, errors in table.items()} for part in (0, 1))
    assert strip["prediction"] >= 5 * strip["reconstruction"]
    assert rest["hindsight-only"] >= 3 * rest["reconstruction"]
    assert strip["hindsight-and-action"] <= 2 * strip["reconstruction"]


@pytest.mark.parametrize("page", ["docs/atari.md", "results/patches/README.md"])
def test_the_pages_tell_the_numbers_of_the_committed_table(page):
    table, words = committed(), " ".join((ROOT / page).read_text().split())
    strip, rest = (table["prediction"][0] / table["reconstruction"][0], table["hindsight-only"][1])
    assert f"{strip:.0f} times as" in words
    assert f"{rest / table['reconstruction'][1]:.1f} times as" in words
    assert f"{table['hindsight-and-action'][0] / table['reconstruction'][0]:.1f} times" in words


def test_two_guesses_that_nobody_learns_stand_beside_the_table(made_up):
    rows = made_up.ready[:4]
    target = made_up.frames[rows + 8].reshape(4, 72).astype(np.float32)
    result = patches_run.make_result(made_up, rows, np.stack([target] * 5), target, target[0], {})
    assert all(row.strip_error == row.rest_error == 0 for row in result.rows)
    last = np.square(made_up.frames[rows].astype(float) - made_up.frames[rows + 8])
    assert result.measured["last_frame_rest_error"] == pytest.approx(last[:, : -study.STRIP].mean())
    mean = np.square(target[0] - target).reshape(4, 12, 6)
    assert result.measured["mean_frame_strip_error"] == pytest.approx(mean[:, -study.STRIP :].mean())


def test_errors_of_strip_and_rest_are_apart():
    target = np.zeros((3, 8, 4), np.float32)
    guesses = np.zeros((5, 3, 8, 4), np.float32)
    guesses[1, :, -2:] = 4
    guesses[3, :, :-2] = 3
    rows = functions.make_rows(guesses, target, 2)
    assert [row.function for row in rows] == list(FUNCTIONS)
    assert [row[1:] for row in rows] == [(0, 0), (16, 0), (0, 0), (0, 9), (0, 0)]


@pytest.mark.slow
def test_a_real_game_gives_table_picture_and_settings(tmp_path):
    amount = Amount(emulators=4, held_out=1, steps=30, updates=2, readout_updates=2)
    config = dataclasses.replace(SMALL, batch_size=8)
    assert patches_run.run(config, amount, tmp_path / "out", False, Console(quiet=True)) == 0
    header, *lines = (tmp_path / "out" / "table.csv").read_text().splitlines()
    assert header == "function,strip_error,rest_error"
    assert [line.split(",")[0] for line in lines] == list(FUNCTIONS)
    assert all(float(number) > 0 for line in lines for number in line.split(",")[1:])
    assert (tmp_path / "out" / "patches.png").stat().st_size > 10_000
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["amount"] == amount._asdict() and settings["measured"]["last_frame_strip_error"] > 0


def test_the_strip_of_a_recorded_frame_tells_the_action_before_it():
    recording = study.record(SMALL, Amount(emulators=2, steps=20))
    strips = recording.frames.reshape(20, 2, 42, 42)[1:, :, -study.STRIP :, :]
    actions = np.array([0, 2, 5])[recording.action.reshape(20, 2)[:-1]]  # of ALE
    assert np.all(np.isin(strips - 9 * actions[..., None, None], (0, 96)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["maze/random"], "needs an Atari game"),
        (["atari/montezuma_revenj"], "unknown"),
        (["--noise", "none"], "noise and method are fixed"),
        (["--curiosity", "rnd"], "noise and method are fixed"),
        (["--seeds", "0", "1"], "give one seed"),
        (["--jobs", "2"], "one process"),
        (["--env-steps", "1000"], "--env-steps: the study patches does not read it; it reads ENV, --seed, "),
        (["--unroll", "64"], "--unroll: the study patches does not read it"),
        (["--preset", "paper"], "--preset: the study patches does not read it"),
        (["--world.contrast-share", "1"], "--world.contrast-share: the study patches does not read it"),
        (["--world.horizon", "2"], "--world.horizon: the study patches does not read it"),
        (["--bonus.no-prioritise"], "--bonus.prioritise: the study patches does not read it"),
        (["--vmpo.discount", "0.9"], "--world.hidden, --world.critic, --world.critic-hidden, "),
        (["--batch-size", "9000"], "--batch-size 9000: only 7,968 transitions are held out"),
    ],
)
def test_a_mistake_is_one_clear_line(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["study", "patches", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and message in err
    assert list(tmp_path.iterdir()) == []


def test_what_the_study_reads_can_be_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "atari/hero --seed 3 --batch-size 64 --learning-rate 0.002 --sticky 0.1 --atari.full-actions "
    words += "--network.encoder-hidden 64 --network.embedding 32 --world.latent 8 --dry-run"
    assert main(["study", "patches", *words.split()]) == 0


def test_a_field_that_is_said_to_be_read_is_a_field():
    assert set(patches_run.READ) <= set(names(study.CONFIG))


def test_a_batch_larger_than_what_is_held_out_is_refused_before_anything_is_learned(made_up):
    _, held_out = study.split(made_up, FEW.held_out)
    config = dataclasses.replace(SMALL, batch_size=len(held_out) + 1)
    with pytest.raises(UserError, match=f"--batch-size .* only {len(held_out)} transitions"):
        patches_run.study(config, FEW, made_up, print)


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["study", "patches", "--seeds", "3", "--dry-run"]) == 0
    assert "atari/montezuma_revenge: 1,000 steps" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError, match="--seed"):
        patches_run.check(study.CONFIG, (), (-1,), None)
