"""Sizes that depend on the family of environments, and how the command line finds them."""

import dataclasses

import jax
import numpy as np
import pytest

from curiax.agent.networks import ImageEncoder, cut
from curiax.commands.train import parse_train
from curiax.config import LAPTOP, PRESETS, validate
from curiax.config.presets import ATARI_LAPTOP, ATARI_PAPER, FAMILIES, preset_for
from curiax.errors import UserError


@pytest.mark.parametrize("name", PRESETS)
def test_a_family_has_every_preset_and_each_is_valid(name):
    for family, presets in FAMILIES.items():
        config = preset_for(name, family if "/" in family else f"{family}/anything")
        assert validate(config) == presets[name] and config.preset == name
    assert preset_for(name, "maze/random") == PRESETS[name]


def test_atari_looks_eight_steps_ahead_and_the_paper_reads_images_as_it_says():
    assert ATARI_LAPTOP.world.horizon == ATARI_PAPER.world.horizon == 8
    network = ATARI_PAPER.network
    assert (network.patch, network.channels, network.embedding) == (1, (16, 32, 32), 512)
    assert ATARI_PAPER.num_updates == 3_000_000 and ATARI_PAPER.steps_per_update == 32 * 128


@pytest.mark.parametrize("words", ["{} --seed 3 --passes 2", "--seed 3 --passes 2 {}"])
def test_the_command_line_takes_the_familys_preset_wherever_the_environment_stands(words):
    config = parse_train(words.format("atari/freeway").split()).config
    assert config == dataclasses.replace(ATARI_LAPTOP, env="atari/freeway", seed=3, passes=2)
    config = parse_train(words.format("maze/random").split()).config
    assert config == dataclasses.replace(LAPTOP, env="maze/random", seed=3, passes=2)


@pytest.mark.parametrize("words", ["{} --sticky 0.1", "--atari.sticky 0.1 {}"])
def test_sticky_actions_are_for_atari_and_refused_elsewhere(words):
    config = validate(parse_train(words.format("atari/freeway").split()).config)
    assert config.atari == dataclasses.replace(ATARI_LAPTOP.atari, sticky=0.1)
    with pytest.raises(UserError, match=r"--atari.sticky 0.1: is for atari/… only, not for maze/random"):
        validate(parse_train(words.format("maze/random").split()).config)


def test_patches_are_squares_of_neighbouring_pixels_and_the_edge_is_filled_with_zeros():
    image = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    squares = cut(jax.numpy.asarray(image), 2)
    assert squares[0].tolist() == [[[0, 1, 4, 5], [2, 3, 6, 7]], [[8, 9, 0, 0], [10, 11, 0, 0]]]


def test_an_encoder_of_patches_has_pixels_of_their_size():
    encoder = ImageEncoder((84, 84), (2, 3), (), 5, jax.random.key(0), 255.0, patch=4)
    assert encoder.head.layers[0].weight.shape == (6 * 6 * 3, 5)  # 84 → 21 → 11 → 6
    assert encoder(jax.numpy.zeros((2, 84, 84), np.uint8)).shape == (2, 5)
