"""The environments by name, as data: a list of them, or a mistyped name, needs no JAX."""

MAZE = {
    "baseline": "no noise",
    "brownian": "state-dependent: the blocks walk at random",
    "random": "independent: a layer of random pixels, one step in four",
    "on-demand": "action-dependent: a layer of random pixels whenever the agent stays",
}
SCM = {
    "independent": "structural-causal world; the screen is lit by chance",
    "state": "structural-causal world; the screen is lit at some places",
    "action": "structural-causal world; the screen is lit by staying",
}
ATARI = {
    "alien": "a maze of eggs and aliens",
    "bank_heist": "banks appear anywhere, dynamite explodes at any time",
    "freeway": "a chicken crosses ten lanes",
    "gravitar": "a ship among planets",
    "hero": "mines, dynamite, and miners to save",
    "montezuma_revenge": "a temple of 24 rooms",
    "pitfall": "a jungle of 255 scenes",
    "private_eye": "clues in a city",
    "solaris": "a galaxy of quadrants",
    "venture": "halls of a dungeon",
    "qbert": "hops on a pyramid (only in the paper's figure of losses)",
}
CRAFTAX = {
    "classic-symbolic": "Crafter, as a vector",
    "classic-pixels": "Crafter, as 63×63 images",
    "symbolic": "Craftax (nine floors), as a vector",
    "pixels": "Craftax (nine floors), as 130×110 images",
}
GYMNAX = {
    "CartPole-v1": "gymnax: keep a pole upright (any other gymnax environment by its name)",
    "DeepSea-bsuite": "gymnax: one path in 2⁸ leads to the reward",
    "Breakout-MinAtar": "gymnax: Breakout on 10×10 cells",
}

ENVS = {f"maze/{name}": about for name, about in MAZE.items()}
ENVS |= {f"scm/{name}": about for name, about in SCM.items()}
ENVS |= {f"atari/{name}": about for name, about in ATARI.items()}
ENVS |= {"atari/GAME": "any of EnvPool's games by its ALE name"}
ENVS |= {f"craftax/{name}": about for name, about in CRAFTAX.items()}
ENVS |= {"crafter": "Crafter itself, as 64×64 images"}
ENVS |= {f"gymnax/{name}": about for name, about in GYMNAX.items()}  # and all others of gymnax, by name
ENVS |= {"gym/ID": "any Gymnasium environment by its id, such as gym/CartPole-v1"}
ENVS |= {"gym/ID+NOISE": "the same with noise, such as gym/MiniGrid-DoorKey-5x5-v0+cells"}
FAMILIES = frozenset(name.partition("/")[0] for name in ENVS)
