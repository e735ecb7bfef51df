"""Short runs of every family give the numbers that were recorded. `python tests/test_recorded.py` records them anew."""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

PATH = Path(__file__).parent / "recorded" / "metrics.json"
RUNS = [
    ("maze/on-demand", "byol-hindsight"),
    ("maze/brownian", "byol-explore"),
    ("maze/random", "icm"),
    ("maze/baseline", "rnd"),
    ("maze/on-demand", "dora"),
    ("maze/on-demand", "ama"),
    ("maze/on-demand", "emi"),
    ("atari/montezuma_revenge", "byol-hindsight"),
    ("atari/bank_heist", "icm"),
    ("gym/CartPole-v1", "byol-hindsight"),
    ("gym/Pendulum-v1", "rnd"),
    ("craftax/classic-symbolic", "byol-hindsight"),
    ("craftax/classic-symbolic", "ae+hindsight"),
    ("gymnax/CartPole-v1", "byol-hindsight"),
    ("gymnax/CartPole-v1", "icm"),
]
DROP_IN = ["icm+hindsight", "byol-hindsight", "rnd", "dora"]


def trained(env, method):
    from curiax.config.presets import preset_for
    from curiax.training.train import train

    config = dataclasses.replace(preset_for("laptop", env), env=env, curiosity=method, log_every=2, sync=True)
    config = dataclasses.replace(config, env_steps=4 * config.steps_per_update)
    if env.startswith("maze/"):  # recorded with this value
        config = dataclasses.replace(config, vmpo=dataclasses.replace(config.vmpo, epsilon_temperature=0.01))
    rows = list(train(config))
    return {name: value for name, value in rows[-1].metrics.items() if np.isfinite(value)}


def dropped_in(method):
    import curiax

    generator = np.random.default_rng(0)
    curiosity = curiax.Curiosity(method, curiax.Box((6,)), curiax.Discrete(3))
    found = {}
    for _ in range(3):
        obs = generator.normal(size=(9, 4, 6)).astype(np.float32)
        ended = generator.random((8, 4)) < 0.1
        arrays = (obs[:-1], generator.integers(3, size=(8, 4)), obs[1:], ended, np.zeros_like(ended))
        found["reward"] = float(curiosity.reward(*arrays).sum())
        found |= curiosity.update(*arrays)
    return found


def scm(method):
    from curiax.envs import scm
    from curiax.lab.scm import stream as study
    from curiax.lab.scm.probe import look

    config = dataclasses.replace(study.CONFIG, curiosity=method)
    kind = jax.tree.map(jnp.array, scm.KINDS["state"])
    spec = scm.make("state").spec._replace(name="scm")
    walked = study.stream(config, 4, kind, jnp.array(True), jax.random.key(0))
    state, paid = study.learn(config, spec, study.start(config, spec, jax.random.key(1)), walked)
    found = {f"paid_{i}": float(total) for i, total in enumerate(paid.total[-1])}
    if "hindsight" in method:
        found["z"] = float(jnp.abs(look(config, spec, state, walked).z).mean())
    return found


def patches():
    from curiax.lab.patches import functions
    from curiax.lab.patches import world as study

    generator = np.random.default_rng(0)
    frames = generator.integers(0, 256, (160, 12, 6)).astype(np.uint8)
    ready = study.ready(np.arange(20)[:, None].repeat(8, 1) == 0)
    recording = study.Recording(frames, generator.integers(3, size=160).astype(np.int32), ready, streams=8)
    config = dataclasses.replace(study.CONFIG, batch_size=16)
    views = study.views(recording, ready)
    state = study.start(config, 3, 72, 4)
    rows = jnp.array(generator.choice(ready, (4, 16)))
    state, metrics = study.learn(config, 3, 4, views, state, rows, jax.random.key(0))
    told = functions.tell_all(config, 3, state.params, views, rows, jax.random.key(1))
    return {name: float(value[-1]) for name, value in metrics.items()} | {
        name: float(jnp.abs(value).mean()) for name, value in told._asdict().items()
    }


def instrument():
    from curiax.agent.policy import make_agent
    from curiax.config import LAPTOP
    from curiax.envs import maze
    from curiax.lab.diagnose.instrument import make_instrument
    from curiax.lab.diagnose.view import make_view
    from curiax.training.rollout import actor_init, rollout

    env = maze.make("on-demand")
    agent = make_agent(LAPTOP.network, env.spec, jax.random.key(0))
    actor = actor_init(env, 8, LAPTOP.network.belief, jax.random.key(1))
    _, trajectory = jax.jit(lambda: rollout(env, agent, actor, 16, jax.random.key(2)))()
    view = make_view(env.spec, np.zeros((1, *env.spec.observation_shape), np.uint8))
    tool = make_instrument(env.spec, view, LAPTOP.network.belief)
    state = jax.jit(tool.init)(jax.random.key(3))
    for _ in range(2):
        state = jax.jit(tool.learn_to_predict)(state, agent, trajectory)
    state = tool.begin_hindsight(state)
    for _ in range(2):
        state = jax.jit(tool.learn)(state, agent, trajectory)
    split = jax.jit(tool.split)(state, agent, trajectory)
    return {name: float(getattr(split, name).mean()) for name in ("predicted", "reconstructed")}


CASES = {f"{env} {method}": (trained, (env, method)) for env, method in RUNS}
CASES |= {f"drop-in {method}": (dropped_in, (method,)) for method in DROP_IN}
CASES |= {f"scm {method}": (scm, (method,)) for method in ("byol-hindsight", "rnd")}
CASES |= {"patches": (patches, ()), "instrument": (instrument, ())}


def differences(name):
    """The metrics that are not as recorded: found and expected."""
    function, arguments = CASES[name]
    found, expected = function(*arguments), json.loads(PATH.read_text())[name]
    return {
        key: (found.get(key), value)
        for key, value in expected.items()
        if key not in found or not np.isclose(found[key], value, rtol=0.05, atol=1e-4)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_short_runs_give_the_recorded_numbers(name):
    assert not differences(name)


if __name__ == "__main__":
    recorded = {}
    for name, (function, arguments) in CASES.items():
        recorded[name] = function(*arguments)
        print(name, len(recorded[name]), file=sys.stderr, flush=True)
    PATH.write_text(json.dumps(recorded, indent=1) + "\n")
