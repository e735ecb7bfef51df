"""What lpm, critic, lbs, disagreement and progress have in common: routes of gradients, masks, state, signs."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import BonusConfig
from curiax.curiosity import MEASURES, METHODS, make
from curiax.curiosity.base import Represented
from curiax.curiosity.measures.recent import SIZE, draw, mean_loss
from curiax.curiosity.reward import pay, rules_for
from curiax.curiosity.world_model import masked_means
from curiax.types import EnvSpec
from tests.support.small_measure import CONFIG, KEY, SIZES, VALID, B, T, make_represented, routes, score, start

BELIEFS = {"state", "action"}
MODEL = {"core", "predictor"} | BELIEFS
TRAINED = {
    "lpm": {"prediction": MODEL, "log_error": {"error_model"}},
    "critic": {"prediction": MODEL, "error_after": {"critic"}},
    "lbs": {
        "surprise": {"core", "prior", "posterior", "target"} | BELIEFS,
        "likelihood": {"core", "posterior", "head", "target"} | BELIEFS,
    },
    "disagreement": {"prediction": {"core", "predictors", "target"} | BELIEFS},
    "progress": {"prediction": MODEL},
}
SIGNED = {"lpm", "critic", "progress"}
SPEC = EnvSpec("none", observation_shape=(2,), num_actions=3, time_limit=100)
RIVALS = list(TRAINED)


@pytest.mark.parametrize("name", RIVALS)
def test_each_loss_trains_what_it_should_and_the_reward_nothing(name):
    trained = {output: parts - {"target"} for output, parts in routes(name).items()}  # representations stop that one
    assert trained == {output: parts - {"target"} for output, parts in TRAINED[name].items()} | {"reward": set()}


@pytest.mark.parametrize("name", RIVALS)
def test_what_follows_a_reset_is_neither_paid_nor_learned_nor_remembered(name):
    params, state = start(name)
    clean = make_represented()
    dirty = clean._replace(target=clean.target.at[1, 0].set(1e4))  # the outcome of the reset

    def twice(represented):
        first = score(name, params, state, represented)
        second = score(name, params, first.critic, represented)
        return [(output.error, masked_means(output.losses)) for output in (first, second)], second.critic

    one, other = (jax.jit(twice)(represented) for represented in (clean, dirty))
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("name", RIVALS)
def test_the_state_has_one_shape_for_batches_of_any_size(name):
    def shapes(num_steps, batch_size):
        params, state = start(name)
        parts = (jnp.zeros((num_steps, batch_size, n)) for n in SIZES)
        after = score(name, params, state, Represented(*parts, {}, {}), jnp.ones((num_steps, batch_size), bool)).critic
        return jax.tree.map(jnp.zeros_like, state), after

    for size in ((2, 1), (T, B), (40, 30)):
        before, after = jax.eval_shape(lambda size=size: shapes(*size))
        assert jax.tree.all(jax.tree.map(lambda x, y: (x.shape, x.dtype) == (y.shape, y.dtype), before, after))


@pytest.mark.parametrize("name", RIVALS)
def test_each_is_a_method_by_its_own_name_and_says_whether_its_errors_are_signed(name):
    method = METHODS[name]
    assert method.composition.endswith(f"+{name}") and not method.in_paper
    assert make(replace(CONFIG, curiosity=name), SPEC).signed == (name in SIGNED)


def test_signed_errors_keep_their_sign_and_lose_no_mean():
    error, config = jnp.array([[-1.0, 3.0]]), BonusConfig()
    signed, plain = (pay(rules_for(config, signed), jnp.array(1.0), jnp.array(2.0), error) for signed in (True, False))
    np.testing.assert_allclose(signed, [[-0.5, 1.5]])
    np.testing.assert_allclose(plain, [[0.0, 1.0]])
    assert rules_for(replace(config, prioritise=False), False).prioritise is False
    assert {name for name in MEASURES if MEASURES[name](CONFIG).signed} == SIGNED


def test_valid_transitions_are_drawn_first_and_in_random_order():
    mask = jnp.arange(10) % 3 == 0  # 0, 3, 6, 9
    place, found = draw(KEY, mask)
    assert place.shape == found.shape == (SIZE,) and found.sum() == 4
    assert set(np.asarray(place[:4]).tolist()) == {0, 3, 6, 9}
    orders = {tuple(np.asarray(draw(key, mask)[0][:4]).tolist()) for key in jax.random.split(KEY, 20)}
    assert len(orders) > 5


def test_of_too_many_transitions_as_many_as_fit_are_drawn_each_once():
    place, found = draw(KEY, jnp.ones(3 * SIZE, bool))
    assert found.all() and len(np.unique(place)) == SIZE


def test_a_loss_over_what_is_remembered_is_a_masked_mean():
    loss = mean_loss(jnp.array([1.0, 3.0, jnp.nan]), jnp.array([True, True, False]))
    assert loss.value == 2 and loss.mask
    nothing = mean_loss(jnp.array([1.0]), jnp.array([False]))
    assert nothing.value == 0 and not nothing.mask


def test_the_masks_of_these_tests_have_a_reset():
    assert not VALID[1, 0] and VALID.sum() == T * B - 1
