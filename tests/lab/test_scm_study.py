"""The structural-causal study: the stream is shared, the probes measure what they say, the table adds up."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from curiax import curiosity as curiosities
from curiax.agent.networks import concatenate
from curiax.commands.cli import main
from curiax.curiosity import METHODS as TABLE_1
from curiax.curiosity.experience import from_stream
from curiax.curiosity.measures.predict import open_loop
from curiax.curiosity.representations import REPRESENTATIONS
from curiax.envs import scm
from curiax.errors import UserError
from curiax.lab.scm import probe as scm_probe
from curiax.lab.scm import run as scm_run
from curiax.lab.scm import stream as study
from curiax.lab.scm.figure import draw
from curiax.lab.scm.probe import Seen, leak_nats, noise_in_target, noise_in_z
from curiax.lab.scm.table import (
    LIT,
    METHODS,
    Errors,
    Measured,
    Row,
    complete,
    make_errors,
    make_row,
    num_unlearned,
    reference_of,
    write_table,
)

SPEC = scm.make("state").spec._replace(name="scm")
KIND = jax.tree.map(jnp.array, scm.KINDS["state"])
SMALL = dataclasses.replace(
    study.CONFIG,
    batch_size=4,
    curiosity="pixel+hindsight",
    network=dataclasses.replace(study.CONFIG.network, encoder_hidden=(), feature_hidden=()),
    world=dataclasses.replace(study.CONFIG.world, hidden=(16,), critic_hidden=(16,)),
)
NOISELESS = dataclasses.replace(SMALL, world=dataclasses.replace(SMALL.world, noise=0))


@pytest.fixture(scope="module")
def walked():
    return study.stream(SMALL, 6, KIND, jnp.array(True), jax.random.key(0))


@pytest.fixture(scope="module")
def started():
    return start(SMALL)


def start(config):
    return jax.jit(lambda key: study.start(config, SPEC, key))(jax.random.key(0))


def test_every_transition_is_in_one_class_or_has_both_noise_and_novelty(walked):
    trajectory = jax.tree.map(lambda x: x[0], walked)
    inside = np.asarray(study.classes(trajectory)).sum(axis=0)
    both = trajectory.info["noise"] & trajectory.info["novel"]
    np.testing.assert_array_equal(inside, np.asarray(trajectory.valid & ~both))


def test_what_is_paid_is_summed_by_class(walked):
    trajectory = jax.tree.map(lambda x: x[0], walked)
    paid = study.paid(trajectory, jnp.ones(trajectory.valid.shape))
    np.testing.assert_array_equal(paid.total, paid.count)
    np.testing.assert_array_equal(paid.count, np.asarray(study.classes(trajectory)).sum(axis=(1, 2)))


def test_streams_go_on_from_one_update_to_the_next(walked):
    np.testing.assert_array_equal(walked.obs[:-1, -1], walked.obs[1:, 0])


def test_learning_lowers_the_error(walked, started):
    again = jax.tree.map(lambda x: jnp.concatenate([x] * 10), walked)
    _, paid = study.learn(SMALL, SPEC, started, again)
    assert np.all(paid.total[-6:].sum(axis=0) < 0.5 * paid.total[:6].sum(axis=0))


def test_the_vector_that_is_probed_is_the_one_that_is_paid_with(walked):
    """Its reconstruction gives the measure's own error. The generator has no noise, which each would draw anew."""
    state = start(NOISELESS)
    z = scm_probe.look(NOISELESS, SPEC, state, jax.tree.map(lambda x: x[:1], walked)).z
    trajectory = jax.tree.map(lambda x: x[0], walked)
    error, expected = jax.jit(both_errors)(state, z, trajectory, jax.random.key(1))
    np.testing.assert_allclose(error, expected, rtol=1e-4)


def both_errors(state, z, trajectory, key):
    """By way of the probes' z, and by the measure itself."""
    world = state.world
    params, experience = world.params.curiosity, from_stream(world.params.agent, trajectory, state.belief)
    output = curiosities.make(NOISELESS, SPEC).score(params, world.critic, world.targets, experience, key)
    representation = REPRESENTATIONS["pixel"](NOISELESS, SPEC)
    represented = representation.represent(params[0], world.targets, experience)
    loop = open_loop(params[1]["core"], represented, experience.valid, 1)
    output_by_z = params[1]["reconstructor"](concatenate(loop.after, z.reshape(*loop.after.shape[:-1], -1)))
    error = representation.distance(loop.target, output_by_z)[0]
    return jnp.where(experience.valid, error, 0.0), output.error


def test_probes_see_as_many_vectors_as_there_were_transitions(walked, started):
    seen = scm_probe.look(SMALL, SPEC, started, walked)
    assert seen.z.shape == (6 * SMALL.unroll * SMALL.batch_size, SMALL.world.latent)
    np.testing.assert_array_equal(seen.valid, ~np.asarray(walked.last)[:, :-1].ravel())
    assert np.max(seen.value) <= math.log(SMALL.batch_size)


def made_up(kind):
    """4,096 hindsight vectors that tell the action, or u, or nothing."""
    key_action, key_u, key_z = jax.random.split(jax.random.key(0), 3)
    action = jax.nn.one_hot(jax.random.randint(key_action, (4096,), 0, 4), 4)
    u = jax.random.uniform(key_u, (4096, 4), minval=-1.0)
    z = {"action": action, "u": 10 * u, "nothing": jax.random.normal(key_z, (4096, 4))}[kind]
    return Seen(z, u, jnp.zeros(4096), action, u, jnp.ones(4096, bool), jnp.ones(4096, bool))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "nats", "share"), [("action", math.log(4), 0), ("u", 0, 1), ("nothing", 0, 0)])
def test_probes_find_what_is_there_and_nothing_else(kind, nats, share):
    seen = made_up(kind)
    assert float(leak_nats(seen, jax.random.key(1))) == pytest.approx(nats, abs=0.03)
    assert float(noise_in_z(seen, jax.random.key(2))) == pytest.approx(share, abs=0.15)


def test_the_share_of_a_representation_that_is_noise_is_that_of_its_variance():
    seen = made_up("nothing")._replace(target=jnp.zeros((4096, 2)))
    u = seen.u[:, 0]
    other = jax.random.normal(jax.random.key(3), (4096,))
    seen = seen._replace(target=jnp.stack([u / jnp.std(u), 3 * other / jnp.std(other)], axis=-1))
    assert noise_in_target(seen) == pytest.approx(0.1, abs=0.01)


def test_every_method_of_table_1_is_measured():
    assert set(TABLE_1) - {"random-policy"} <= set(METHODS)
    assert {f"{name}+hindsight" for name in REPRESENTATIONS if name != "byol"} <= set(METHODS)


@pytest.mark.parametrize(
    ("method", "reference"),
    [
        ("byol-hindsight", "byol-explore"),
        ("icm+hindsight", "icm"),
        ("icm", "icm"),
        ("emi", None),
        ("emi+hindsight", "emi+predict"),
        ("ama", "pixel+predict"),
        ("random+hindsight", "random+predict"),
        ("rnd", None),
        ("dora", None),
        ("progress", "pixel+predict"),
        ("disagreement", "random+predict"),
        ("lpm", "pixel+predict"),
    ],
)
def test_a_method_is_set_beside_the_prediction_error_of_its_representation(method, reference):
    assert reference_of(method) == reference


def constant(noise, novelty, leak=0.05, num_lit=300):
    """Errors of 1 in the dark and on ordinary steps; on the lamps `novelty`, halved after 100 updates and more."""
    total = np.ones((LIT + num_lit, 3))
    total[:LIT, 2], total[LIT:, 1] = 0, noise
    total[LIT:, 2] = novelty * np.where(np.arange(num_lit) < 100, 1, 0.4)
    count = np.ones_like(total)
    count[:LIT, 2] = 0
    return Measured(total, count, leak, 0.01, 0.9, 0.1)


def test_ratios_are_to_the_prediction_error_and_end_where_novelty_is_learned():
    reference = constant(noise=2.0, novelty=4.0)
    assert 95 <= num_unlearned(reference) <= 105
    row = make_row("pixel+hindsight", "state", 0, constant(noise=0.1, novelty=3.0), reference)
    assert row[:3] == ("pixel+hindsight", "state", 0)
    assert row[3:] == pytest.approx((0.05, 0.75, 0.05, 0.01, 0.9, 0.1))
    assert make_row("pixel+predict", "state", 0, reference, reference)[3:5] == (1.0, 1.0)


def test_what_is_never_learned_is_measured_to_the_end():
    assert num_unlearned(constant(1.0, 1.0, num_lit=100)) == 100


def test_without_a_representation_the_unit_is_what_was_paid_at_first():
    errors = constant(noise=0.5, novelty=2.0)
    row = make_row("rnd", "state", 0, Measured(errors.total, errors.count), None)
    assert row[3:5] == (pytest.approx(0.5), pytest.approx(2.0))
    assert all(math.isnan(value) for value in row[5:])


def test_rewards_in_units_of_their_own_have_the_unit_of_what_was_paid_at_first_whatever_its_sign():
    reference = constant(noise=2.0, novelty=4.0)
    lpm = constant(noise=0.5, novelty=2.0)
    lpm.total[:20:2] *= -1  # paid, then charged: the mean is zero
    row = make_row("lpm", "state", 0, Measured(lpm.total, lpm.count), reference)
    assert row[3:5] == (pytest.approx(0.5), pytest.approx(2.0))


def test_table_leaves_out_runs_whose_reference_is_missing_and_blanks_what_does_not_exist(tmp_path):
    found = {("state", "icm+hindsight", 0): constant(1, 1), ("state", "rnd", 0): Measured(*constant(1, 1)[:2])}
    runs = complete(found)
    assert [run[0] for run in runs] == ["rnd"]
    write_table(tmp_path / "table.csv", [make_row(*run) for run in runs], Row._fields)
    header, line = (tmp_path / "table.csv").read_text().splitlines()
    assert header == ",".join(Row._fields)
    assert line.startswith("rnd,state,0,1") and line.endswith(",,,,")


def test_picture_is_drawn_of_what_there_is(tmp_path):
    found = {("state", name, 0): constant(1, 2) for name in ("pixel+predict", "pixel+hindsight", "rnd")}
    runs = complete(found)
    errors = [make_errors(*run) for run in runs]
    assert errors[0].noise == 1 and isinstance(errors[0], Errors)
    draw(tmp_path / "scm.png", [make_row(*run) for run in runs], errors)
    assert (tmp_path / "scm.png").stat().st_size > 10_000


def test_only_what_is_asked_for_is_run_with_its_reference():
    names = {(job.setting, job.method) for job in scm_run.jobs(["state/icm+hindsight", "action/rnd"], [0])}
    assert names == {("state", "icm"), ("state", "icm+hindsight"), ("action", "rnd")}
    assert len(scm_run.jobs([], [0, 1, 2])) == (len(METHODS) + 1) * 9  # and EMI's prediction error
    with pytest.raises(UserError, match="Did you mean state/icm"):
        scm_run.jobs(["state/icn"], [0])


def test_a_study_goes_on_where_it_was_stopped_and_keeps_settings_apart(tmp_path, monkeypatch):
    done = []

    def measure(config, job):
        done.append(job)
        return constant(1, 2)

    monkeypatch.setattr(scm_run, "measure", measure)
    run = lambda only, config=study.CONFIG: scm_run.run(config, only, [0], tmp_path, False, Console(quiet=True))  # noqa: E731
    run(["state/rnd"])
    run(["state/rnd", "state/icm"])
    assert [job.method for job in done] == ["rnd", "icm"]
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["method", "icm", "rnd"]
    with pytest.raises(UserError, match="other settings"):
        run(["state/ae"], dataclasses.replace(study.CONFIG, batch_size=8))


def test_command_line_reaches_the_study(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["study", "scm", "--only", "state/rnd", "--seeds", "0", "--dry-run"]) == 0
    assert "state/rnd/0" in capsys.readouterr().out
    assert main(["study", "scm", "--jobs", "2"]) == 2
    assert main(["study", "scm", "--curiosity", "rnd"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_where_errors_are_sums_the_reconstruction_loss_has_half_the_weight():
    weights = {
        method: study.config_of(study.CONFIG, method, 1).world.reconstruction_weight
        for method in ("byol-hindsight", "icm+hindsight-averaged", "random+hindsight", "pixel+hindsight-averaged")
    }
    assert list(weights.values()) == [2.0, 2.0, 4.0, 4.0]
    assert study.config_of(study.CONFIG, "icm", 7).seed == 7
