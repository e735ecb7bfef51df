"""The one step that trains a curiosity: what it descends, and what moves with it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from curiax.curiosity.base import Curiosity, stay
from curiax.curiosity.world_model import (
    NO_AGENT,
    gradient_step,
    make_world_model,
    masked_mean,
    masked_means,
    masked_sums,
    weighted_sum,
)
from curiax.types import Agent, CuriosityOutput, Experience, Loss

SGD = optax.sgd(0.1)
KEY = jax.random.key(0)
EVERYWHERE = jnp.array(True)


def numbers(*values):
    return tuple(map(jnp.float32, values))


def lines(weight):
    """x² of one valid step among two, and 3y, with a weight."""

    def losses(params):
        x, y = params
        square = Loss(jnp.stack([jnp.square(x), 100 * x]), jnp.array([True, False]), 2.0)
        return {"square": square, "line": Loss(3 * y, EVERYWHERE, weight)}, "found"

    return losses


def step(weight):
    params = numbers(3, 2)
    return gradient_step(SGD, lines(weight), params, SGD.init(params))


def test_a_step_descends_the_weighted_sum_of_the_mean_losses():
    # By x: 2 · 2x = 12, and 3 − 0.1 · 12 = 1.8.  By y: 0.5 · 3 = 1.5, and 2 − 0.1 · 1.5 = 1.85.
    done = step(weight=0.5)
    np.testing.assert_allclose(done.grads, [12, 1.5], rtol=1e-6)
    np.testing.assert_allclose(done.params, [1.8, 1.85], rtol=1e-6)


def test_a_step_tells_the_means_without_their_weights_and_what_else_was_found():
    done = step(weight=0.5)
    assert done.losses == {"square": 9, "line": 6} and done.aux == "found"


def test_a_loss_of_weight_zero_moves_nothing_and_is_measured():
    done = step(weight=0.0)
    np.testing.assert_allclose(done.params, [1.8, 2], rtol=1e-6)
    assert done.losses["line"] == 6 and done.grads[1] == 0


def test_the_optimiser_goes_on_from_its_state():
    # Momentum ½: the first step of y is 0.1 · 3, the second 0.1 · (½ · 3 + 3).
    optimizer = optax.sgd(0.1, momentum=0.5)
    params = numbers(3, 2)
    one = gradient_step(optimizer, lines(1.0), params, optimizer.init(params))
    two = gradient_step(optimizer, lines(1.0), one.params, one.optimizer)
    np.testing.assert_allclose([one.params[1], two.params[1]], [1.7, 1.25], rtol=1e-6)


def test_weighted_sum_golden():
    # 2 · 9 + 0.5 · 6 + 1 · 4
    nothing = jnp.zeros(())
    losses = {"a": Loss(nothing, EVERYWHERE, 2.0), "b": Loss(nothing, EVERYWHERE, 0.5), "c": Loss(nothing, EVERYWHERE)}
    assert weighted_sum(losses, dict(zip("abc", numbers(9, 6, 4), strict=True))) == 25


def test_masked_means_of_losses_of_several_shapes_golden():
    # (1 + 3)/2, where a masked infinity counts neither above nor below the line;  (1 + 2 + 5)/3;  a number is its mean
    losses = {
        "streams": Loss(jnp.array([1.0, jnp.inf, 3.0]), jnp.array([True, False, True])),
        "steps": Loss(jnp.array([[1.0, 2.0, 4.0], [8.0, jnp.nan, 5.0]]), jnp.array([[1, 1, 0], [0, 0, 1]], bool)),
        "number": Loss(jnp.float32(7), EVERYWHERE, 3.0),
    }
    means = {name: float(mean) for name, mean in masked_means(losses).items()}
    assert means == {"streams": 2, "steps": np.float32(8 / 3), "number": 7}
    assert np.array_equal(masked_sums(list(losses.values())), [(4, 2), (8, 3), (7, 1)])


def test_the_mean_of_nothing_is_zero_and_so_is_its_gradient():
    def mean(x):
        return masked_mean(Loss(x, jnp.zeros(3, bool)))

    value, gradient = jax.value_and_grad(mean)(jnp.array([1.0, jnp.inf, 3.0]))
    assert value == 0 and not np.any(gradient)


# A curiosity of single numbers: its model w and the agent's encoder ω predict o_{t+1} as w + ω.
OBS = jnp.array([[0.0], [1.0], [3.0]])  # o_0, o_1, o_2 of one stream
VALID = jnp.array([[True], [False]])
AGENT = Agent(*numbers(2, 0, 0, 0, 0))


def predictor(follow=stay, trains_beliefs=True) -> Curiosity:
    def init(key, encoder):
        return jnp.float32(3), jnp.float32(0), encoder

    def score(params, critic, targets, experience, key):
        ahead = experience.obs[1:]
        belief = 0.0 if experience.belief is None else experience.belief
        error = jnp.square(params + belief - ahead)
        return CuriosityOutput({"prediction": Loss(error, experience.valid)}, error + targets, {}, critic + 1)

    return Curiosity(init, score, follow, trains_beliefs)


def experience_of(agent) -> Experience:
    belief = None if isinstance(agent.encoder, tuple) else agent.encoder
    return Experience(OBS, jnp.zeros((2, 1), jnp.int32), VALID, belief)


def follow(targets, encoder, next_obs, valid=None):
    """Sums what it is given, so that each shows."""
    assert next_obs.shape == (2, 1)
    return targets + 10 * encoder + 100 * jnp.sum(next_obs)


def test_a_world_model_trains_the_curiosity_and_the_beliefs():
    # w + ω = 5 is 4 too much of the one valid step: both gradients are 2 · 4, and both steps 0.8.
    model = make_world_model(predictor(), SGD)
    start = model.init(KEY, AGENT)
    after, learned = model.step(start, experience_of, KEY)
    assert learned.losses == {"prediction": 16}
    np.testing.assert_allclose([learned.grads.curiosity, learned.grads.agent.encoder], [8, 8], rtol=1e-6)
    np.testing.assert_allclose([after.params.curiosity, after.params.agent.encoder], [2.2, 1.2], rtol=1e-6)
    assert (start.num_updates, after.num_updates) == (0, 1)


def test_targets_follow_the_encoder_after_the_step_and_the_observations_ahead():
    # ω is 1.2 after the step: 2 + 10 · 1.2 + 100 · (1 + 3)
    model = make_world_model(predictor(follow), SGD)
    after, _ = model.step(model.init(KEY, AGENT), experience_of, KEY)
    np.testing.assert_allclose(after.targets, 2 + 12 + 400, rtol=1e-6)


def test_the_errors_are_those_before_the_step():
    model = make_world_model(predictor(follow), SGD)
    start = model.init(KEY, AGENT)
    scored = model.score(start, experience_of, KEY)
    after, learned = model.step(start, experience_of, KEY)
    np.testing.assert_array_equal(scored.error, [[16 + 2], [4 + 2]])
    np.testing.assert_array_equal(learned.output.error, scored.error)
    assert not np.allclose(model.score(after, experience_of, KEY).error, scored.error)


def test_the_critic_is_kept_after_its_own_step():
    model = make_world_model(predictor(), SGD)
    start = model.init(KEY, AGENT)
    after, _ = model.step(start, experience_of, KEY)
    assert (start.critic, after.critic) == (0, 1)


def test_a_method_without_beliefs_holds_no_agent_and_no_method_holds_policy_and_value():
    with_beliefs, without = (
        make_world_model(predictor(trains_beliefs=trains), SGD).init(KEY, AGENT).params for trains in (True, False)
    )
    assert with_beliefs.agent == AGENT._replace(policy=(), value=()) and without.agent == NO_AGENT
    assert with_beliefs.duals == without.duals == {}


def test_a_method_without_beliefs_trains_itself_alone():
    # w = 3 is 2 too much: 3 − 0.1 · 2 · 2
    model = make_world_model(predictor(trains_beliefs=False), SGD)
    after, _ = model.step(model.init(KEY, AGENT), experience_of, KEY)
    np.testing.assert_allclose(after.params.curiosity, 2.6, rtol=1e-6)
    assert after.params.agent == NO_AGENT


def test_masked_mean_golden():
    # (1 + 3)/2; a masked value counts neither above nor below the line
    value, mask = jnp.array([1.0, jnp.inf, 3.0]), jnp.array([True, False, True])
    assert masked_mean(Loss(value, mask)) == 2.0
    assert masked_mean(Loss(value, jnp.zeros(3, bool))) == 0.0
