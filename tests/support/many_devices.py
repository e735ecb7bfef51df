"""Trains on 1, 2, 4 and 8 devices of one CPU, and writes losses and parameters after every update.

python many_devices.py OUT.npz NUM_UPDATES
"""

import dataclasses
import functools
import itertools
import os
import sys

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
import optax

from curiax.agent.networks import ImageEncoder
from curiax.errors import UserError
from curiax.training.devices import make_mesh, put, replicated, sharded, with_mesh
from curiax.training.train import initial_state, train
from tests.support.tiny import TINY

CONFIG = dataclasses.replace(
    TINY,
    batch_size=8,
    log_every=1,
    learning_rate=3e-4,  # rounding errors grow with every step, and with its size
    unroll=16,
    world=dataclasses.replace(TINY.world, hidden=(8,), critic_hidden=(8,), latent=16, contrast_share=1.0),
    env_steps=10**6,
)
# Adam divides a gradient by its own size. Some parameters have no effect, such as a critic's bias that the softmax
# cancels: their gradients are rounding errors, and Adam makes full steps of them. A larger ε keeps those steps small.
optax.adam = functools.partial(optax.adam, eps=1e-3)
DEVICES = (1, 2, 4, 8)
# With a value of each stream of reward.
STREAMS = dataclasses.replace(
    CONFIG, reward="mixed", value="separate", vmpo=dataclasses.replace(CONFIG.vmpo, intrinsic_episodic=False)
)
# On fewer devices and for fewer updates.
OTHERS = {"streams": STREAMS} | {name: dataclasses.replace(CONFIG, curiosity=name) for name in ("lpm", "critic")}
OTHER_DEVICES, OTHER_UPDATES = (1, 2), 10


def main(out: str, num_updates: str) -> None:
    initial = initial_state(CONFIG)
    found = {}
    for num_devices in DEVICES:
        mesh = make_mesh(num_devices, CONFIG.batch_size)
        for row, _ in zip(train(CONFIG, initial, mesh), range(int(num_updates)), strict=False):
            name = f"{num_devices}/{row.num_updates}"
            found |= {f"{name}/{metric}": value for metric, value in row.metrics.items() if metric.startswith("loss/")}
            leaves = jax.tree_util.tree_flatten_with_path(row.state.params)[0]
            found |= {f"{name}/params{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}
            critic = jax.tree_util.tree_flatten_with_path(row.state.critic.params)[0]
            found |= {f"{name}/params.critic{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in critic}
            belief = row.state.stream.belief
        found[f"{num_devices}/shards"] = len({str(shard.index[0]) for shard in belief.addressable_shards})
        found |= image_gradients(mesh, num_devices)
    for (kind, config), num_devices in itertools.product(OTHERS.items(), OTHER_DEVICES):
        mesh = make_mesh(num_devices, config.batch_size)
        *_, row = itertools.islice(train(config, initial_state(config), mesh), OTHER_UPDATES)
        name = f"{num_devices}/{kind}"
        found |= {f"{name}/{metric}": value for metric, value in row.metrics.items() if metric.startswith("loss/")}
        parts = row.state.params, row.state.popart, () if kind == "streams" else row.state.critic
        leaves = jax.tree_util.tree_flatten_with_path(parts)[0]
        found |= {f"{name}/params{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}
    found["refused"] = refusal(lambda: make_mesh(3, CONFIG.batch_size))
    np.savez(out, **found)


def image_gradients(mesh, num_devices: int) -> dict[str, np.ndarray]:
    """Gradients of an encoder of images [T, B], and whether images are sent between devices."""
    encoder = ImageEncoder((12, 12), (4,), (), 8, jax.random.key(0), scale=255.0)
    obs = np.random.default_rng(0).integers(0, 256, (3, 8, 12, 12), np.uint8)
    if mesh is not None:
        encoder, obs = jax.tree.map(lambda x: put(np.asarray(x), replicated(mesh)), encoder), put(obs, sharded(mesh, 1))
    gradient = jax.jit(jax.grad(lambda encoder, obs: jnp.sum(jnp.square(encoder(obs)))))
    compiled = with_mesh(mesh, lambda *args: gradient.lower(*args).compile())(encoder, obs)
    leaves = jax.tree_util.tree_flatten_with_path(compiled(encoder, obs))[0]
    found = {f"{num_devices}/images{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}
    return found | {f"{num_devices}/sent": "all-gather" in compiled.as_text()}


def refusal(function) -> str:
    try:
        function()
    except UserError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
