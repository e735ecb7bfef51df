"""Hindsight: who is trained by which loss, in which direction, and what is paid."""

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
from curiax.curiosity.base import cosine_distance, credit, squared_distance
from curiax.curiosity.critic import Concat
from curiax.curiosity.hindsight import innovate, sample_steps
from curiax.curiosity.predict import OpenLoop
from curiax.learner import masked_mean
from curiax.types import Agent, EnvSpec, Experience

T, B = 6, 4
SPEC = EnvSpec("none", observation_shape=(3,), num_actions=2, time_limit=100)
CONFIG = Config(
    network=NetworkConfig(
        encoder_hidden=(), feature_hidden=(), embedding=4, action_embedding=3, belief=4, head_hidden=(3,)
    ),
    world=WorldConfig(
        horizon=2, hidden=(5,), hindsight="direct", latent=3, noise=2, contrast_share=1.0, side_share=1.0
    ),
)
KEY = jax.random.key(7)
QUICK = {"xla_backend_optimization_level": 0}  # compiling these programs is what costs, not running them

LOSSES = ("reconstruction", "invariance", "side_prediction", "prediction", "hindsight_only")
INNOVATION = replace(CONFIG, world=replace(CONFIG.world, hindsight="innovation"))
VALID = jnp.asarray(np.random.default_rng(2).random((2, T, B)) < 0.8)
BELIEFS = {"encoder", "action embedding", "closed loop", "open loop"}
WORLD_MODEL = BELIEFS | {"reconstructor", "generator"}


class World(NamedTuple):
    """Everything that a gradient could reach."""

    agent: Agent
    params: Any
    critic: Any
    targets: Any


def change(**world) -> Config:
    return replace(CONFIG, world=replace(CONFIG.world, **world))


def random_like(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), leaf.dtype), shapes)


def make_world(config=CONFIG) -> World:
    """Random weights, those of the target encoder its own."""

    def shapes(key):
        agent = make_agent(config.network, SPEC, key)
        return World(agent, *curiosities.make(config, SPEC).init(key, agent.encoder))

    return random_like(jax.eval_shape(shapes, KEY))


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


def weighted_loss(world: World, config: Config, weights, key, obs):
    output = score_world(config, world, key, obs)
    return sum(weights[name] * masked_mean(loss) for name, loss in output.losses.items()), output


score = jax.jit(score_world, static_argnums=0, compiler_options=QUICK)
differentiate = jax.jit(jax.grad(weighted_loss, has_aux=True), static_argnums=1, compiler_options=QUICK)


def gradient(name, config=CONFIG, world: World | None = None) -> World:
    """The gradient of one loss alone, by everything."""
    weights = {other: jnp.float32(other == name) for other in LOSSES}
    return differentiate(world or make_world(config), config, weights, KEY, BATCH[0])[0]


def evaluate(world, config=CONFIG, key=KEY, obs=BATCH[0]):
    return differentiate(world, config, {name: jnp.float32(0) for name in LOSSES}, key, obs)[1]


def parts(world: World) -> dict[str, Any]:
    """Without the critic's one bias that is the same for all hindsight vectors: no contrast depends on it."""
    concat = isinstance(world.critic, Concat)
    constant = (lambda critic: critic.mlp.layers[-1].bias) if concat else (lambda critic: critic.latent.layers[-1].bias)
    measure = world.params[1]
    return {
        "encoder": world.agent.encoder,
        "action embedding": world.agent.action_embedding,
        "closed loop": world.agent.core,
        "open loop": measure["core"],
        "generator": measure["generator"],
        "reconstructor": measure["reconstructor"],
        "predictor": measure["predictor"],
        "hindsight only": measure.get("hindsight_only", ()),
        "critic": eqx.tree_at(constant, world.critic, None),
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
    return jax.tree.map(lambda x, g: jnp.asarray(np.asarray(x) - size * np.asarray(g)), world, gradient)


@pytest.mark.parametrize("form", ["separable", "concat"])
def test_reconstruction_trains_the_world_model_and_nothing_else(form):
    assert trained(gradient("reconstruction", change(critic=form))) == WORLD_MODEL


@pytest.mark.parametrize("form", ["separable", "concat"])
def test_contrast_trains_generator_and_critic_and_nothing_else(form):
    assert trained(gradient("invariance", change(critic=form))) == {"generator", "critic"}


def test_the_side_predictor_trains_nothing_but_itself():
    assert trained(gradient("side_prediction")) == {"predictor"}


@pytest.mark.parametrize("form", ["direct", "innovation"])
def test_what_z_alone_tells_is_measured_and_trains_nothing_else(form):
    config = change(measure_outcomes=True, hindsight=form)
    assert trained(gradient("hindsight_only", config)) == {"hindsight only"}
    world, plain = make_world(config), change(hindsight=form)
    output, without = evaluate(world, config), evaluate(make_world(plain), plain)
    assert output.losses.keys() - without.losses.keys() == {"hindsight_only"}
    assert 0 < output.metrics["target_variance"] < 2
    same = evaluate(world, config, obs=jnp.ones_like(BATCH[0]))
    np.testing.assert_allclose(same.metrics["target_variance"], 0.0, atol=1e-6)


def test_innovations_leave_the_beliefs_to_the_predictor():
    assert trained(gradient("prediction", INNOVATION)) == BELIEFS | {"predictor"}
    assert trained(gradient("reconstruction", INNOVATION)) == {"generator", "reconstructor"}
    assert trained(gradient("invariance", INNOVATION)) == {"generator", "critic"}


def test_an_innovation_and_what_was_expected_make_up_the_target():
    rng = np.random.default_rng(0)
    loop = OpenLoop(*(jnp.asarray(rng.standard_normal((2, T, B, size)), jnp.float32) for size in (4, 3, 4, 4)), VALID)
    predictor = make_world(INNOVATION).params[1]["predictor"]
    for distance in (cosine_distance, squared_distance):
        expected, missed, scale = innovate(predictor, loop, distance)
        np.testing.assert_allclose(expected + scale * missed, distance.project(loop.target), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.mean(np.square(missed)[np.asarray(VALID)]), 1.0, rtol=1e-4)


def test_silent_channels_leave_the_prediction_as_it_is():
    world = make_world(INNOVATION)
    silent = jax.tree.map(jnp.zeros_like, world.params[1]["reconstructor"])
    output = score(INNOVATION, world._replace(params=((), world.params[1] | {"reconstructor": silent})), KEY)
    np.testing.assert_allclose(
        output.losses["reconstruction"].value, output.losses["prediction"].value, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("config", [CONFIG, INNOVATION], ids=["direct", "innovation"])
@pytest.mark.parametrize("name", LOSSES[:4])
def test_target_receives_no_gradient(name, config):
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(gradient(name, config).targets))


@pytest.mark.parametrize("route", ["generator-inputs", "critic-inputs"])
def test_an_open_route_lets_contrast_through_to_the_beliefs(route):
    config = change(open_routes=(route,))
    assert trained(gradient("invariance", config)) == {"generator", "critic"} | BELIEFS
    assert trained(gradient("reconstruction", config)) == WORLD_MODEL
    # A generator that is blind to belief and action closes its own route, and not the critic's.
    num_context = CONFIG.network.belief + CONFIG.network.action_embedding
    world = make_world(config)
    seeing = world.params[1]["generator"].layers[0].weight
    blind = eqx.tree_at(lambda w: w.params[1]["generator"].layers[0].weight, world, seeing.at[:num_context].set(0.0))
    through = BELIEFS if route == "critic-inputs" else set()
    assert trained(gradient("invariance", config, blind)) == {"generator", "critic"} | through


def test_both_routes_of_the_generator_have_the_same_value():
    world = make_world()
    closed, opened = (evaluate(world, change(open_routes=routes)) for routes in ((), ("generator-inputs",)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), closed.losses, opened.losses)


@pytest.mark.parametrize("form", ["separable", "concat"])
def test_critic_step_raises_and_generator_step_lowers_the_contrastive_value(form):
    config = change(critic=form)
    world = make_world(config)
    stepped = descend(world, gradient("invariance", config))
    with_critic = world._replace(critic=stepped.critic)
    with_generator = world._replace(params=stepped.params)  # of these, contrast trains the generator alone
    values = [evaluate(w, config).metrics["contrastive_value"] for w in (with_generator, world, with_critic)]
    assert values[0] < values[1] - 1e-5 and values[1] < values[2] - 1e-5


def test_a_reconstruction_step_lowers_the_reconstruction_error():
    world = make_world()
    stepped = descend(world, gradient("reconstruction"))
    before, after = (evaluate(w).metrics["reconstruction_error"] for w in (world, stepped))
    assert after < before - 1e-4


def test_the_generator_uses_its_noise():
    one, other = (evaluate(make_world(), key=jax.random.key(seed)).losses["reconstruction"].value for seed in (0, 1))
    assert np.abs(one - other).min() > 0  # every step has its own


def test_hindsight_without_latent_is_byol_explore():
    config = change(latent=0, side_share=0.0)
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
    expected = credit(reconstruction.value, reconstruction.mask, rescale=False)
    np.testing.assert_allclose(output.error, expected, rtol=1e-6)


def test_the_contrastive_term_is_paid_to_its_own_step_when_asked():
    config = replace(CONFIG, bonus=replace(CONFIG.bonus, include_invariance=True))
    output = score(config, make_world(), KEY)
    reconstruction, contrast = output.losses["reconstruction"], output.losses["invariance"]
    weighted = config.world.reconstruction_weight * reconstruction.value + contrast.value
    np.testing.assert_allclose(output.error, credit(weighted, reconstruction.mask, rescale=False), rtol=1e-5, atol=1e-6)


def test_a_share_of_the_steps_is_contrasted_with_the_same_values():
    world = make_world()
    whole = evaluate(world).losses["invariance"]
    part = score(change(contrast_share=0.5), world, KEY).losses["invariance"]
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
    before, after = evaluate(world), evaluate(world, obs=jnp.asarray(obs))
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
