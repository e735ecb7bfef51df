"""PPO in one file, in PyTorch, with curiosity of curiax beside it: the lines that need it are marked.

pip install '.[gym]'   (in a checkout of curiax)
python examples/ppo_torch.py --env MountainCar-v0 --method icm+hindsight --coefficient 0.2
"""

import argparse

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

import curiax


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--env", default="MountainCar-v0", help="a Gymnasium environment with vectors and Discrete actions"
    )
    parser.add_argument("--method", default="icm+hindsight", help="see `curiax list methods`")
    parser.add_argument("--coefficient", type=float, default=0.2, help="of the curiosity's bonus")
    parser.add_argument("--num-envs", type=int, default=16)
    parser.add_argument("--num-steps", type=int, default=128, help="of each environment, to a rollout")
    parser.add_argument("--num-rollouts", type=int, default=250)
    parser.add_argument("--num-epochs", type=int, default=4)
    parser.add_argument("--num-minibatches", type=int, default=4)
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--lambda_", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


class Policy(nn.Module):
    def __init__(self, num_inputs: int, num_actions: int):
        super().__init__()
        self.actor = network(num_inputs, num_actions, 0.01)
        self.critic = network(num_inputs, 1, 1.0)

    def forward(self, obs: torch.Tensor) -> tuple[torch.distributions.Categorical, torch.Tensor]:
        return torch.distributions.Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


def network(num_inputs: int, num_outputs: int, gain: float) -> nn.Module:
    layers = [nn.Linear(num_inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, num_outputs)]
    for layer, size in ((layers[0], 2**0.5), (layers[2], 2**0.5), (layers[4], gain)):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def collect(envs, policy: Policy, obs: np.ndarray, num_steps: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """One rollout, [T, B]; an ended episode's next_obs is its final observation, and obs goes on with the next one."""
    steps = []
    for _ in range(num_steps):
        with torch.no_grad():
            distribution, _ = policy(torch.from_numpy(obs))
            action = distribution.sample()
        new_obs, reward, terminated, truncated, info = envs.step(action.numpy())
        next_obs = new_obs.copy()
        for i in np.flatnonzero(terminated | truncated):
            next_obs[i] = info["final_obs"][i]
        log_prob = distribution.log_prob(action).numpy()
        steps.append((obs, action.numpy(), next_obs, terminated, truncated, reward.astype(np.float32), log_prob))
        obs = new_obs
    names = ("obs", "action", "next_obs", "terminated", "truncated", "reward", "log_prob")
    return {name: np.stack(x) for name, x in zip(names, zip(*steps, strict=True), strict=True)}, obs


def advantages(policy: Policy, rollout: dict[str, np.ndarray], discount: float, lambda_: float) -> tuple:
    """GAE. A truncated episode still has a value where it was cut; a terminated one has none."""
    with torch.no_grad():
        value = policy(torch.from_numpy(rollout["obs"]))[1].numpy()
        next_value = policy(torch.from_numpy(rollout["next_obs"]))[1].numpy()
    delta = rollout["reward"] + discount * next_value * ~rollout["terminated"] - value
    goes_on = ~(rollout["terminated"] | rollout["truncated"])
    advantage, following = np.zeros_like(delta), 0.0
    for t in reversed(range(len(delta))):
        advantage[t] = following = delta[t] + discount * lambda_ * goes_on[t] * following
    return advantage, advantage + value


def improve(policy: Policy, optimizer, rollout: dict[str, np.ndarray], advantage, target, options) -> None:
    """Some epochs of PPO's clipped loss."""
    arrays = (rollout["obs"], rollout["action"], rollout["log_prob"], advantage, target)
    obs, action, old, advantage, target = (torch.from_numpy(x.reshape(-1, *x.shape[2:])) for x in arrays)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(options.num_epochs):
        for part in torch.randperm(len(obs)).chunk(options.num_minibatches):
            distribution, value = policy(obs[part])
            ratio = (distribution.log_prob(action[part]) - old[part]).exp()
            clipped = ratio.clamp(1 - options.clip, 1 + options.clip)
            gain = torch.minimum(ratio * advantage[part], clipped * advantage[part]).mean()
            loss = 0.5 * (value - target[part]).pow(2).mean() - gain - options.entropy * distribution.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()


def main(arguments: list[str] | None = None) -> list[dict[str, float]]:
    options = parse(arguments)
    torch.manual_seed(options.seed)
    envs = gymnasium.make_vec(
        options.env,
        options.num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    )
    policy = Policy(envs.single_observation_space.shape[0], int(envs.single_action_space.n))
    optimizer = torch.optim.Adam(policy.parameters(), lr=options.learning_rate)
    curiosity = curiax.Curiosity(  # curiax
        options.method, envs.single_observation_space, envs.single_action_space, seed=options.seed
    )

    history = []
    obs, _ = envs.reset(seed=options.seed)
    for number in range(options.num_rollouts):
        rollout, obs = collect(envs, policy, obs, options.num_steps)
        reward = rollout["reward"].mean()
        segment = [rollout[name] for name in ("obs", "action", "next_obs", "terminated", "truncated")]  # curiax
        bonus = curiosity.reward(*segment)  # curiax
        curiosity.update(*segment)  # curiax
        rollout["reward"] += np.float32(options.coefficient) * bonus  # curiax: before returns are computed
        improve(policy, optimizer, rollout, *advantages(policy, rollout, options.discount, options.lambda_), options)
        history.append({"reward": float(reward), "bonus": float(bonus.mean())})
        env_steps = (number + 1) * options.num_steps * options.num_envs
        print(f"{env_steps:>9,} steps   reward {reward:8.4f}   bonus {bonus.mean():7.4f}", flush=True)
    envs.close()
    return history


if __name__ == "__main__":
    main()
