"""Hindsight: who is trained by which loss, in which direction, and what is paid."""

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import curiosity as curiosities
from curiax.agent.policy import believe, make_agent
from curiax.config import Config, NetworkConfig, WorldConfig
from curiax.curiosity.base import credit
from curiax.curiosity.measures.critic import Concat, CriticState, Separable, critic_optimizer
from curiax.curiosity.measures.hindsight import sample_steps
from curiax.curiosity.world_model import masked_mean
from curiax.types import Agent, EnvSpec, Experience

T, B = 6, 4
SPEC = EnvSpec("none", observation_shape=(3,), num_actions=2, time_limit=100)
CONFIG = Config(
    network=NetworkConfig(encoder_hidden=(), feature_hidden=(), embedding=4, belief=4),
    world=WorldConfig(horizon=2, hidden=(5,), critic_hidden=(5,), latent=3, noise=2, contrast_share=1.0),
)
STILL = replace(CONFIG, learning_rate=1e-12)  # the critic stays as it is
KEY = jax.random.key(7)

LOSSES = ("reconstruction", "invariance", "side_prediction", "hindsight_only")
BELIEFS = {"encoder", "action embedding", "closed loop", "open loop"}
WORLD_MODEL = BELIEFS | {"reconstructor", "generator"}


class World(NamedTuple):
    """Everything that a gradient could reach, and the critic, which has its own step."""

    agent: Agent
    params: Any
    targets: Any
    critic: Any


def change(**world) -> Config:
    return replace(CONFIG, world=replace(CONFIG.world, **world))


def variant(name) -> Config:
    return replace(CONFIG, curiosity=f"byol+hindsight-{name}")


OUTCOMES = variant("outcomes")
CRITICS = [CONFIG, change(critic="separable")]


def random_like(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), leaf.dtype), shapes)


def make_world(config=CONFIG) -> World:
    """Random weights, those of the target encoder its own."""

    def shapes(key):
        agent = make_agent(config.network, SPEC, key)
        params, critic, targets = curiosities.make(config, SPEC).init(key, agent.encoder)
        return World(agent, params, targets, critic.params if critic else ())

    world = random_like(jax.eval_shape(shapes, KEY))
    fresh = CriticState(world.critic, critic_optimizer(config).init(world.critic)) if world.critic else ()
    return world._replace(critic=fresh)


def make_batch():
    """Observations, first steps, actions, valid steps and a belief; one episode ends after step 2."""
    rng = np.random.default_rng(1)
    last = np.zeros((T + 1, B), bool)
    last[3, 0] = True
    obs, belief = rng.standard_normal((T + 1, B, 3)), rng.standard_normal((B, CONFIG.network.belief))
    action = rng.integers(0, SPEC.num_actions, (T, B)).astype(np.int32)
    return tuple(map(jnp.asarray, (obs, np.roll(last, 1, axis=0), action, ~last[:-1], belief)))


BATCH = make_batch()


def score_world(config: Config, world: World, key, obs=BATCH[0]):
    _, first, action, valid, belief = BATCH
    belief = believe(world.agent, belief, obs, jnp.concatenate([action[:1], action]), first)
    experience = Experience(obs, action, valid, belief, world.agent.action_embedding[action])
    return curiosities.make(config, SPEC).score(world.params, world.critic, world.targets, experience, key)


def weighted_loss(world: World, critic, config: Config, weights, key, obs):
    output = score_world(config, world._replace(critic=critic), key, obs)
    return sum(weights[name] * masked_mean(loss) for name, loss in output.losses.items()), output


score = jax.jit(score_world, static_argnums=0)
differentiate = jax.jit(jax.grad(weighted_loss, has_aux=True), static_argnums=2)


def gradient(name, config=CONFIG, world: World | None = None) -> World:
    """The gradient of one loss alone, by everything."""
    weights = {other: jnp.float32(other == name) for other in LOSSES}
    world = world or make_world(config)
    return differentiate(world._replace(critic=()), world.critic, config, weights, KEY, BATCH[0])[0]


def evaluate(world, config=CONFIG, key=KEY, obs=BATCH[0]):
    weights = {name: jnp.float32(0) for name in LOSSES}
    return differentiate(world._replace(critic=()), world.critic, config, weights, key, obs)[1]


def parts(world: World) -> dict[str, Any]:
    measure = world.params[1]
    return {
        "encoder": world.agent.encoder,
        "action embedding": world.agent.action_embedding,
        "closed loop": world.agent.core,
        "open loop": measure["core"],
        "generator": measure["generator"],
        "reconstructor": measure["reconstructor"],
        "predictor": measure.get("predictor", ()),
        "hindsight only": measure.get("hindsight_only", ()),
        "target encoder": world.targets,
        "heads": (world.agent.policy, world.agent.value),
    }


def trained(gradient: World) -> set[str]:
    """The parts that a gradient reaches in every leaf; it must not reach half of one."""
    named = [(name, part) for name, part in parts(gradient).items() if jax.tree.leaves(part)]
    reached = {name: [bool(np.any(leaf)) for leaf in jax.tree.leaves(part)] for name, part in named}
    torn = {name for name, leaves in reached.items() if any(leaves) and not all(leaves)}
    assert not torn, torn
    return {name for name, leaves in reached.items() if all(leaves)}


def descend(world: World, gradient: World, size=0.05) -> World:
    moved = jax.tree.map(lambda x, g: jnp.asarray(np.asarray(x) - size * np.asarray(g)), world[:3], gradient[:3])
    return World(*moved, world.critic)


def test_reconstruction_trains_the_world_model_and_nothing_else():
    assert trained(gradient("reconstruction")) == WORLD_MODEL


@pytest.mark.parametrize("config", CRITICS, ids=["concat", "separable"])
def test_contrast_trains_the_generator_and_nothing_else(config):
    assert trained(gradient("invariance", config)) == {"generator"}


def test_the_critic_is_the_paper_s_unless_the_separable_one_is_asked_for():
    assert [type(make_world(config).critic.params) for config in CRITICS] == [Concat, Separable]


def test_beliefs_are_trained_through_the_open_loop_and_not_through_the_generator():
    # With a reconstructor that hears z alone, nothing is left of the way to the beliefs.
    world = make_world()
    num_belief = CONFIG.network.belief
    heard = world.params[1]["reconstructor"].layers[0].weight.at[:num_belief].set(0.0)
    deaf = eqx.tree_at(lambda w: w.params[1]["reconstructor"].layers[0].weight, world, heard)
    reached = gradient("reconstruction", world=deaf)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(reached.agent))
    assert all(np.any(leaf) for leaf in jax.tree.leaves(reached.params[1]["generator"]))


def test_the_instruments_train_nothing_but_themselves():
    assert trained(gradient("side_prediction", OUTCOMES)) == {"predictor"}
    assert trained(gradient("hindsight_only", OUTCOMES)) == {"hindsight only"}
    assert trained(gradient("reconstruction", OUTCOMES)) == WORLD_MODEL
    assert trained(gradient("invariance", OUTCOMES)) == {"generator"}


def test_the_instruments_change_nothing_else():
    world = make_world(OUTCOMES)
    output, without = evaluate(world, OUTCOMES), evaluate(world)
    assert output.losses.keys() - without.losses.keys() == {"side_prediction", "hindsight_only"}
    np.testing.assert_allclose(output.error, without.error, rtol=1e-6)
    for name in without.losses:
        np.testing.assert_allclose(output.losses[name].value, without.losses[name].value, rtol=1e-5, atol=1e-6)


def test_the_variance_of_the_targets_is_the_error_of_the_best_constant():
    world = make_world(OUTCOMES)
    assert 0 < evaluate(world, OUTCOMES).metrics["target_variance"] < 2
    same = evaluate(world, OUTCOMES, obs=jnp.ones_like(BATCH[0]))
    np.testing.assert_allclose(same.metrics["target_variance"], 0.0, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_target_receives_no_gradient(name):
    targets = gradient(name, OUTCOMES).targets
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(targets))


@pytest.mark.parametrize("config", CRITICS, ids=["concat", "separable"])
def test_critic_step_raises_and_generator_step_lowers_the_contrastive_value(config):
    config = replace(config, learning_rate=1e-2)
    world = make_world(config)
    still = replace(config, learning_rate=STILL.learning_rate)

    def value(world):
        return evaluate(world, still).metrics["contrastive_value"]

    with_critic = world._replace(critic=evaluate(world, config).critic)
    with_generator = descend(world, gradient("invariance", still))  # contrast trains the generator alone
    assert value(with_generator) < value(world) - 1e-5 and value(world) < value(with_critic) - 1e-5


def test_z_is_contrasted_against_the_critic_after_its_step():
    config = replace(CONFIG, learning_rate=1e-2)
    world = make_world(config)
    output = evaluate(world, config)
    after = evaluate(world._replace(critic=output.critic), STILL)
    np.testing.assert_allclose(
        output.losses["invariance"].value, after.losses["invariance"].value, rtol=1e-4, atol=1e-5
    )


def test_a_reconstruction_step_lowers_the_reconstruction_error():
    world = make_world()
    stepped = descend(world, gradient("reconstruction"))
    before, after = (evaluate(w).metrics["reconstruction_error"] for w in (world, stepped))
    assert after < before - 1e-4


def test_the_generator_uses_its_noise():
    one, other = (evaluate(make_world(), key=jax.random.key(seed)).losses["reconstruction"].value for seed in (0, 1))
    assert np.abs(one - other).min() > 0  # every step has its own


def test_hindsight_without_latent_is_byol_explore():
    config = change(latent=0)
    world = make_world(config)
    measure = world.params[1]
    same = world._replace(params=((), {"core": measure["core"], "predictor": measure["reconstructor"]}), critic=())
    with_hindsight = score(config, world, KEY)
    without = score(replace(config, curiosity="byol-explore"), same, KEY)
    np.testing.assert_allclose(with_hindsight.error, without.error, rtol=1e-6)
    np.testing.assert_array_equal(with_hindsight.losses["reconstruction"].mask, without.losses["prediction"].mask)
    assert without.error.std() > 0.1


def test_the_contrastive_term_is_not_paid_by_default():
    output = evaluate(make_world())
    reconstruction = output.losses["reconstruction"]
    expected = credit(reconstruction.value, reconstruction.mask)
    np.testing.assert_allclose(output.error, expected, rtol=1e-6)


def test_the_contrastive_term_is_paid_to_its_own_step_when_asked():
    config = variant("contrast-paid")
    output = score(config, make_world(), KEY)
    reconstruction, contrast = output.losses["reconstruction"], output.losses["invariance"]
    weighted = config.world.reconstruction_weight * reconstruction.value + contrast.value
    np.testing.assert_allclose(output.error, credit(weighted, reconstruction.mask), rtol=1e-5, atol=1e-6)


def test_every_step_is_contrasted_where_the_contrastive_term_is_paid():
    half = replace(variant("contrast-paid"), world=replace(CONFIG.world, contrast_share=0.5))
    contrast = jax.eval_shape(functools.partial(score_world, half), make_world(), KEY).losses["invariance"]
    assert contrast.value.shape == contrast.mask.shape == (2, T, B)


def test_without_contrast_the_contrastive_term_is_measured_but_has_no_weight():
    world = make_world()
    output, without = evaluate(world), score(variant("no-contrast"), world, KEY)
    assert {name: float(loss.weight) for name, loss in output.losses.items()} == {"reconstruction": 8, "invariance": 1}
    assert {name: float(loss.weight) for name, loss in without.losses.items()} == {"reconstruction": 8, "invariance": 0}
    np.testing.assert_allclose(without.losses["invariance"].value, output.losses["invariance"].value, rtol=1e-4)
    np.testing.assert_allclose(without.error, output.error, rtol=1e-6)


def test_a_share_of_the_steps_is_contrasted_with_the_same_values():
    world = make_world()
    whole = evaluate(world, STILL).losses["invariance"]
    half = replace(STILL, world=replace(STILL.world, contrast_share=0.5))
    part = score(half, world, KEY).losses["invariance"]
    assert part.value.shape == (2, T // 2, B) and part.mask.shape == (2, T // 2, B)
    steps = []
    for n in range(T // 2):
        same = [np.allclose(part.value[:, n], whole.value[:, t], rtol=1e-4, atol=1e-5) for t in range(T)]
        steps.append(same.index(True))
        np.testing.assert_array_equal(part.mask[:, n], whole.mask[:, steps[-1]])
    assert len(set(steps)) == T // 2


def test_the_steps_are_drawn_anew_each_time():
    draws = {tuple(sample_steps(jax.random.key(seed), 8, 0.25).tolist()) for seed in range(8)}
    assert len(draws) > 2
    assert all(len(set(draw)) == 2 and set(draw) <= set(range(8)) for draw in draws)
    assert sample_steps(KEY, 8, 1.0).tolist() == list(range(8))
    assert sample_steps(KEY, 8, 0.0).shape == (1,)


def test_terminal_step_does_not_see_the_next_episode():
    # Observation 3 of the first trajectory is final, 4 is the first of the next episode, step 3 is the reset.
    world = make_world()
    obs = np.array(BATCH[0])
    obs[4, 0] += 3.0
    before, after = evaluate(world, STILL), evaluate(world, STILL, obs=jnp.asarray(obs))
    assert before.error[3, 0] == after.error[3, 0] == 0
    unchanged = np.isclose(before.error, after.error, rtol=1e-5)
    np.testing.assert_array_equal(unchanged[:, 0], [True, True, True, True, False, False])
    assert unchanged[:, 1:].all() and np.all(before.error[:3, 0] > 0)
    for name in ("reconstruction", "invariance"):  # pairs that start before the end, and the other trajectories
        old, new = (np.where(output.losses[name].mask, output.losses[name].value, 0) for output in (before, after))
        np.testing.assert_allclose(new[:, :4], old[:, :4], rtol=1e-4, atol=1e-5)


def lengthen(mlp):
    """The same network, its output seven times as long."""
    last = jax.tree.map(lambda leaf: jnp.asarray(7 * np.asarray(leaf)), mlp.layers[-1])
    return eqx.tree_at(lambda mlp: mlp.layers[-1], mlp, last)


def test_reconstructions_are_l2_normalised():
    world = make_world()
    measure = world.params[1]
    longer = world._replace(params=((), measure | {"reconstructor": lengthen(measure["reconstructor"])}))
    output = evaluate(world)
    np.testing.assert_allclose(evaluate(longer).error, output.error, rtol=1e-4, atol=1e-5)
    error = output.losses["reconstruction"].value
    assert error.min() >= 0 and error.max() <= 4 + 1e-5 and error.std() > 0.1


def test_predictions_and_targets_are_l2_normalised():
    config = replace(CONFIG, curiosity="byol-explore")
    world = make_world(config)
    measure = world.params[1]
    longer = world._replace(params=((), measure | {"predictor": lengthen(measure["predictor"])}))
    longer_target = eqx.tree_at(lambda world: world.targets.mlp, world, lengthen(world.targets.mlp))
    output = score(config, world, KEY)
    for other in (longer, longer_target):
        np.testing.assert_allclose(score(config, other, KEY).error, output.error, rtol=1e-4, atol=1e-5)
    error = output.losses["prediction"].value
    assert error.min() >= 0 and error.max() <= 4 + 1e-5 and error.std() > 0.1
