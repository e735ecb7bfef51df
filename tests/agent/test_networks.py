"""The networks: values worked by hand, and the recurrent core against its own single step."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from curiax.agent.gru import GRU
from curiax.agent.networks import (
    MLP,
    OPEN,
    GroupNorm,
    ImageEncoder,
    Linear,
    VectorEncoder,
    embed_action,
    layer_normalise,
    normalise,
)
from curiax.agent.policy import make_encoder
from curiax.config import NetworkConfig
from curiax.types import EnvSpec

NUM_STEPS, BATCH, NUM_IN, SIZE = 5, 3, 2, 4


def normal(rng, shape):
    return jnp.asarray(rng.standard_normal(shape), jnp.float32)


def set_linear(linear: Linear, weight, bias) -> Linear:
    return eqx.tree_at(lambda module: (module.weight, module.bias), linear, (jnp.array(weight), jnp.array(bias)))


def small_mlp(layer_norm: bool = False) -> MLP:
    """Two inputs, two hidden units, one output."""
    mlp = MLP(2, (2,), 1, jax.random.key(0), layer_norm)
    first = set_linear(mlp.layers[0], [[1.0, -1.0], [2.0, 0.0]], [0.0, 0.5])
    last = set_linear(mlp.layers[1], [[2.0], [-3.0]], [1.0])
    return eqx.tree_at(lambda module: module.layers, mlp, (first, last))


def sequence():
    """A GRU, a state, inputs, and episodes that begin at different steps; the third goes on from before."""
    rng = np.random.default_rng(0)
    first = np.zeros((NUM_STEPS, BATCH), bool)
    first[0, 0] = first[2, 0] = first[3, 1] = True
    shapes = jax.eval_shape(lambda: GRU(NUM_IN, SIZE, jax.random.key(0)))
    gru = jax.tree.map(lambda leaf: normal(rng, leaf.shape), shapes)
    return gru, normal(rng, (BATCH, SIZE)), normal(rng, (NUM_STEPS, BATCH, NUM_IN)), jnp.array(first)


@jax.jit
def plain_unroll(gru, state, inputs, first):
    """One step after the other, the state replaced by zeros where an episode begins."""
    states = []
    for x, begins in zip(inputs, first, strict=True):
        state = gru.step(jnp.where(begins[:, None], 0.0, state), x)
        states.append(state)
    return jnp.stack(states)


def test_mlp_golden():
    # [1, 2] → [5, −0.5] → ReLU [5, 0] → 2·5 + 1 = 11;   [−1, −2] → [−5, 1.5] → [0, 1.5] → −3·1.5 + 1 = −3.5
    output = small_mlp()(jnp.array([[1.0, 2.0], [-1.0, -2.0]]))
    np.testing.assert_allclose(output, [[11.0], [-3.5]])


def test_mlp_normalises_before_the_relu():
    # [5, −0.5] → centred ±2.75, variance 2.75² → [1, −1] → ReLU [1, 0] → 2 + 1 = 3
    np.testing.assert_allclose(small_mlp(layer_norm=True)(jnp.array([1.0, 2.0])), [3.0], rtol=1e-5)


def test_layer_norm_golden():
    # [0, 4]: mean 2, variance 4 → [−1, 1]
    np.testing.assert_allclose(layer_normalise(jnp.array([[0.0, 4.0]])), [[-1.0, 1.0]], rtol=1e-5)


def test_layer_norm_of_a_constant_is_zero():
    np.testing.assert_allclose(layer_normalise(jnp.full((2, 3), 7.0)), np.zeros((2, 3)), atol=1e-6)


def test_hidden_weights_have_variance_two_over_inputs_and_the_last_layer_is_scaled():
    mlp = MLP(400, (300,), 200, jax.random.key(0), last=0.01)
    deviations = [np.std(layer.weight) for layer in mlp.layers]
    np.testing.assert_allclose(deviations, [(2 / 400) ** 0.5, 0.01 * 300**-0.5], rtol=0.02)


def test_networks_act_on_the_last_axis_alone():
    mlp, inputs = small_mlp(layer_norm=True), normal(np.random.default_rng(0), (2, 3, 2))
    apply = jax.jit(lambda mlp, x: mlp(x))
    rows = [apply(mlp, row) for row in inputs.reshape(6, 2)]
    np.testing.assert_allclose(apply(mlp, inputs).reshape(6, 1), rows, rtol=1e-5)


def test_encoder_is_its_mlp_of_the_flat_observation():
    encoder = VectorEncoder((2, 3), (4,), 5, jax.random.key(0))
    obs = jnp.arange(24, dtype=jnp.uint8).reshape(4, 2, 3)
    np.testing.assert_array_equal(encoder(obs), encoder.mlp(obs.reshape(4, 6).astype(jnp.float32)))


def test_gru_step_golden():
    # Reset gate σ(log 3) = 0.75, update gate σ(−log 3) = 0.25, candidate tanh(0.75 · 0.5 · 4) = tanh 1.5 = 0.905148;
    # h' = 0.905148 + 0.25 (0.5 − 0.905148) = 0.803861
    gru = GRU(1, 1, jax.random.key(0))
    into = set_linear(gru.into, [[np.log(3.0), -np.log(3.0), 0.0]], [0.0, 0.0, 0.0])
    gru = eqx.tree_at(lambda module: (module.into, module.recurrent), gru, (into, jnp.array([[0.0, 0.0, 4.0]])))
    np.testing.assert_allclose(gru.step(jnp.array([0.5]), jnp.array([1.0])), [0.803861], rtol=1e-5)


def test_unroll_is_the_step_repeated_with_resets():
    gru, *inputs = sequence()
    np.testing.assert_allclose(gru.unroll(*inputs), plain_unroll(gru, *inputs), rtol=1e-5, atol=1e-6)


def test_the_gradient_of_unroll_is_that_of_the_plain_loop():
    gru, state, inputs, first = sequence()
    weight = normal(np.random.default_rng(1), (NUM_STEPS, BATCH, SIZE))

    def gradient(unroll):
        loss = jax.grad(lambda *args: jnp.sum(weight * unroll(*args, first)), argnums=(0, 1, 2))
        return jax.jit(loss)(gru, state, inputs)

    fast, plain = gradient(GRU.unroll), gradient(plain_unroll)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), fast, plain)


def test_the_gradient_of_unroll_agrees_with_finite_differences():
    gru, state, inputs, first = sequence()

    def total(inputs):
        return jnp.sum(jnp.square(gru.unroll(state, inputs, first)))

    direction, size = normal(np.random.default_rng(1), inputs.shape), 1e-2
    ahead, behind = (jax.jit(total)(inputs + step * direction) for step in (size, -size))
    slope = np.vdot(jax.jit(jax.grad(total))(inputs), direction)
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * size), rtol=1e-2)


def test_nothing_is_remembered_across_a_reset():
    gru, state, inputs, first = sequence()
    before = jax.jit(jax.jacrev(lambda state: gru.unroll(state, inputs, first)))(state)  # [T, B, h, B, h]
    reach = np.abs(np.diagonal(before, axis1=1, axis2=3)).max(axis=(1, 2)) > 0  # [T, B]
    expected = np.ones((NUM_STEPS, BATCH), bool)
    expected[:, 0] = False  # begins at step 0
    expected[3:, 1] = False
    np.testing.assert_array_equal(reach, expected)


def test_normalise_golden():
    np.testing.assert_allclose(normalise(jnp.array([[3.0, 4.0], [0.0, -2.0]])), [[0.6, 0.8], [0.0, -1.0]], rtol=1e-6)


def test_the_gradient_of_normalise_is_finite_at_zero():
    gradient = jax.jacobian(normalise)(jnp.zeros(3))
    assert np.isfinite(gradient).all()


def test_group_norm_is_over_each_whole_image():
    x = 3 * normal(np.random.default_rng(0), (4, 5, 6, 2)) + 7
    y = np.asarray(GroupNorm(2)(x))
    np.testing.assert_allclose(y.mean(axis=(1, 2, 3)), np.zeros(4), atol=1e-5)
    np.testing.assert_allclose(y.std(axis=(1, 2, 3)), np.ones(4), rtol=1e-4)
    np.testing.assert_allclose(y[1], GroupNorm(2)(x[1:2])[0], rtol=1e-5)  # images do not see each other


def test_image_encoder_halves_each_side_per_unit_and_reads_bytes_as_shares_of_the_scale():
    encoder = ImageEncoder((20, 17), (2, 3, 4), (), 5, jax.random.key(0), scale=255.0)
    assert encoder.head.layers[0].weight.shape == (3 * 3 * 4, 5)  # 20 → 10 → 5 → 3, 17 → 9 → 5 → 3
    obs = jnp.asarray(np.random.default_rng(0).integers(0, 256, (2, 3, 20, 17)), jnp.uint8)
    floats = ImageEncoder((20, 17), (2, 3, 4), (), 5, jax.random.key(0))
    embedded = encoder(obs)
    assert embedded.shape == (2, 3, 5)
    np.testing.assert_allclose(embedded, floats(obs.astype(jnp.float32) / 255), rtol=1e-4, atol=1e-5)


def test_the_encoder_fits_the_observation():
    def encoder_of(*shape):
        return make_encoder(
            NetworkConfig(channels=(2,)), EnvSpec("", shape, 1, 1, observation_scale=9.0), jax.random.key(0)
        )

    assert all(isinstance(encoder_of(*shape), ImageEncoder) for shape in [(16, 20), (20, 16, 3)])
    assert all(
        isinstance(encoder_of(*shape), VectorEncoder) for shape in [(40,), (15, 40, 3), (5, 5, 20), (16, 16, 2, 2)]
    )
    assert encoder_of(16, 16).scale == encoder_of(3).scale == 9


def test_an_encoder_may_have_layers_behind_its_own():
    def sizes(module):
        return [layer.weight.shape for layer in module.layers]

    config, key = NetworkConfig(encoder_hidden=(4,), channels=(2,), embedding=5), jax.random.key(0)
    vector, image = (make_encoder(config, EnvSpec("", shape, 1, 1), key, (7, 6)) for shape in [(3,), (16, 16)])
    assert sizes(vector.mlp) == [(3, 4), (4, 7), (7, 6), (6, 5)]
    assert sizes(image.head) == [(8 * 8 * 2, 7), (7, 6), (6, 5)]


def test_a_one_hot_vector_is_embedded_as_its_number_is():
    table = normal(np.random.default_rng(0), (4, 3))
    action = jnp.array([[0, 3], [2, 2]])
    np.testing.assert_array_equal(embed_action(table, jax.nn.one_hot(action, 4)), embed_action(table, action))


def test_a_gated_skip_is_small_at_first_and_multiplied_by_its_gate():
    mlp = MLP(5, (4,), 3, jax.random.key(0), skip=(1, 3), gated=True)
    assert mlp.linear is not None and mlp.gate is not None
    plain = eqx.tree_at(lambda m: m.linear.weight, mlp, jnp.zeros((2, 3)))
    x = jax.random.normal(jax.random.key(1), (7, 5))
    carried = x[:, 1:3] @ mlp.linear.weight / (1 + np.exp(-OPEN))  # the gate is the same for all inputs at first
    np.testing.assert_allclose(mlp(x) - plain(x), carried, rtol=1e-3, atol=1e-6)
    assert np.abs(mlp.linear.weight).max() < 0.02
    shut = eqx.tree_at(lambda m: m.gate.bias, mlp, jnp.full(3, -50.0))
    np.testing.assert_allclose(shut(x), plain(x), atol=1e-6)
