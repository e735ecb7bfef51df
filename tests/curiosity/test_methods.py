"""The methods of the table train, from the first observation to the last metric; all combinations can."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.policy import ACTION_EMBEDDING, make_encoder
from curiax.curiosity import MEASURES, REPRESENTATIONS, make
from curiax.curiosity.experience import following
from curiax.training.run.checkpoints import from_arrays, to_arrays
from curiax.training.train import bad_loss, initial_state, train
from curiax.types import EnvSpec, Experience
from tests.support.tiny import TINY, leaves

SMALLEST = dataclasses.replace(TINY, env_steps=16)  # two updates
LOSSES = {
    "ae": {"autoencoding", "prediction"},
    "emi": {"dynamics", "error_penalty", "information", "prior"},
    "dora": {"evalue"},
    "ama": {"likelihood"},
    "random+hindsight": {"reconstruction", "invariance"},
    "lpm": {"prediction", "log_error"},
    "critic": {"prediction", "error_after"},
    "lbs": {"surprise", "likelihood"},
    "disagreement": {"prediction"},
    "progress": {"prediction"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_a_method_trains_all_of_itself(name):
    config = dataclasses.replace(SMALLEST, curiosity=name)
    start = initial_state(config)
    (row,) = train(config, start)
    assert row.num_updates == 2 and bad_loss(row.metrics) is None
    losses = {metric.removeprefix("loss/") for metric in row.metrics if metric.startswith("loss/")}
    assert losses == LOSSES[name] | {"policy", "value", "entropy"}
    assert math.isfinite(row.metrics["intrinsic_reward"]) and row.metrics["gradient/curiosity"] > 0
    moved = jax.tree.map(lambda a, b: bool(np.any(a != b)), start.params.curiosity, row.state.params.curiosity)
    assert all(jax.tree.leaves(moved)), moved
    jax.tree.map(np.testing.assert_array_equal, start.targets, row.state.targets)  # none of these has slow copies


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lpm", "critic", "progress"])
def test_what_a_measure_remembers_is_stored_and_the_run_goes_on_to_the_same_bits(name):
    config = dataclasses.replace(TINY, env_steps=32, log_every=2, curiosity=name)  # four updates
    half, end = train(config)
    stored = to_arrays(half.state, "state")
    restored = from_arrays(stored, initial_state(config), "state")
    (resumed,) = train(config, restored)
    assert leaves(resumed.state) == leaves(end.state)
    assert any(np.any(array) for name, array in stored.items() if name.startswith("state.critic"))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_every_combination_scores_every_transition_of_images(representation, measure):
    spec = EnvSpec("images", observation_shape=(4, 4, 1), num_actions=3, time_limit=10, observation_scale=255.0)
    config = dataclasses.replace(SMALLEST, curiosity=f"{representation}+{measure}")
    sizes, steps, streams = config.network, 4, 2
    experience = Experience(
        obs=jnp.zeros((steps + 1, streams, 4, 4, 1), jnp.uint8),
        action=jnp.zeros((steps, streams), jnp.int32),
        valid=jnp.ones((steps, streams), bool),
        belief=jnp.zeros((steps + 1, streams, sizes.belief)),
        action_embedding=jnp.zeros((steps, streams, ACTION_EMBEDDING)),
    )

    def score(key):
        curiosity = make(config, spec)
        state = curiosity.init(key, make_encoder(sizes, spec, key))
        followed = curiosity.follow(state[2], make_encoder(sizes, spec, key), following(experience))
        return curiosity.score(*state, experience, key), followed

    output, _ = jax.eval_shape(score, jax.random.key(0))
    assert output.error.shape == (steps, streams) and output.error.dtype == jnp.float32
    assert all(loss.value.shape == loss.mask.shape for loss in output.losses.values()) and output.losses
