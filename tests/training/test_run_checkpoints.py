"""Checkpoints of a run: every bit comes back, and a damaged one is set aside for the one before."""

import dataclasses
import os
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.errors import UserError
from curiax.training.run.checkpoints import checkpoint_manager
from curiax.training.run.directory import Run, read_config
from curiax.training.train import initial_state
from tests.support.files import contents
from tests.support.tiny import TINY, leaves


@pytest.fixture(scope="module")
def initial():
    return initial_state(TINY)


def scrambled(initial, num_updates):
    """A state in which every leaf holds random bits of its own, so that none is right by chance."""
    rng = np.random.default_rng(num_updates)

    def scramble(leaf):
        array = np.asarray(leaf)
        bits = rng.integers(0, 2 if array.dtype == bool else 256, array.nbytes, np.uint8)
        return jax.numpy.asarray(bits.view(array.dtype).reshape(array.shape))

    state = jax.tree.map(scramble, initial._replace(key=jax.random.key_data(initial.key)))
    return state._replace(key=jax.random.wrap_key_data(state.key), num_updates=jax.numpy.int32(num_updates))


def saved(path, initial, *steps):
    """A closed run that has these checkpoints."""
    run = Run(path, TINY)
    for step in steps:
        run.save(scrambled(initial, step))
    run.close()


def restored(path, initial):
    """What the run goes on from, and what it says."""
    run = Run(path, TINY)
    state = run.restore(initial)
    run.close()
    return state, run.notes


def checkpoint_files(path, step):
    files = (path / "checkpoints" / str(step)).rglob("*")
    return sorted(file for file in files if file.is_file() and file.stat().st_size)


def truncate(file):
    os.truncate(file, file.stat().st_size // 2)


def flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_fresh_renames_the_earlier_run_and_keeps_it_whole(tmp_path, initial):
    path = tmp_path / "run"
    saved(path, initial, 4)
    before = contents(path)
    run = Run(path, dataclasses.replace(TINY, seed=1), fresh=True)  # even with another config
    assert run.restore(initial) is None
    assert run.notes == [f"the earlier run is kept in {path}.1"]
    run.close()
    assert contents(tmp_path / "run.1") == before
    run = Run(path, TINY, fresh=True)
    assert run.notes == [f"the earlier run is kept in {path}.2"]
    run.close()
    assert contents(tmp_path / "run.1") == before
    assert read_config(tmp_path / "run.2").seed == 1


def test_a_checkpoint_restores_every_leaf_bit_for_bit(tmp_path, initial):
    initial = initial._replace(tally={"episodes": jnp.float32(0)})  # the maze has none
    saved(tmp_path, initial, 8)
    state, notes = restored(tmp_path, initial)
    expected = scrambled(initial, 8)
    assert notes == []
    assert leaves(state) == leaves(expected)
    assert {name.split(".")[1].split("[")[0] for name in leaves(state)} == set(initial._fields)
    assert jax.tree.structure(state) == jax.tree.structure(expected)
    assert jax.tree.map(jax.typeof, state) == jax.tree.map(jax.typeof, initial)  # the same program takes it


def test_the_last_checkpoints_are_kept(tmp_path, initial):
    saved(tmp_path, initial, 2, 4, 6, 8, 10)
    assert checkpoint_manager(tmp_path).all_steps() == [6, 8, 10]
    assert sorted(entry.name for entry in (tmp_path / "checkpoints").iterdir()) == ["10", "6", "8"]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncate, flip_a_bit])
def test_whichever_file_of_a_checkpoint_is_damaged_the_one_before_is_taken_and_it_is_said(tmp_path, initial, damage):
    saved(tmp_path / "run", initial, 4, 8)
    for file in checkpoint_files(tmp_path / "run", 8):
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "run", copy)
        damage(copy / file.relative_to(tmp_path / "run"))
        state, notes = restored(copy, initial)
        assert leaves(state) == leaves(scrambled(initial, 4)), file
        assert [note.split(" (")[0] for note in notes] == ["checkpoint 8 is damaged, going back to checkpoint 4"]
        shutil.rmtree(copy)


def test_with_all_checkpoints_damaged_the_run_begins_anew_and_says_so(tmp_path, initial):
    saved(tmp_path, initial, 4, 8)
    for file in checkpoint_files(tmp_path, 4) + checkpoint_files(tmp_path, 8):
        truncate(file)
    state, notes = restored(tmp_path, initial)
    assert state is None
    assert [note.split(" (")[0] for note in notes] == [
        "checkpoint 8 is damaged, going back to checkpoint 4",
        "checkpoint 4 is damaged, starting from the beginning",
    ]


def test_a_damaged_checkpoint_is_set_aside_and_its_step_can_be_saved_again(tmp_path, initial):
    saved(tmp_path, initial, 4, 8)
    for file in checkpoint_files(tmp_path, 8):
        truncate(file)
    damaged = contents(tmp_path / "checkpoints/8")
    run = Run(tmp_path, TINY)
    run.restore(initial)
    for step in (8, 12, 16):
        run.save(scrambled(initial, step))
    run.close()
    assert contents(tmp_path / "checkpoints/8.1") == damaged  # a file that cannot be read now may be readable later
    state, notes = restored(tmp_path, initial)
    assert leaves(state) == leaves(scrambled(initial, 16)) and notes == []
    assert checkpoint_manager(tmp_path).all_steps() == [8, 12, 16]


def test_a_checkpoint_that_cannot_be_written_is_one_clear_line(tmp_path, initial):
    run = Run(tmp_path, TINY)
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "checkpoints").write_text("in the way")
    with pytest.raises(UserError, match="checkpoint 4 cannot be written, earlier ones are kept") as caught:
        run.save(scrambled(initial, 4))
    assert "\n" not in str(caught.value)
    run.close()
