"""Lists and mistyped names answer at once: nothing that takes long to import is imported for them."""

import json
import subprocess
import sys

import pytest

HEAVY = ("jax", "numpy", "jaxtyping", "torch", "tensorboardX", "orbax", "equinox", "matplotlib", "gymnasium")
ANSWERS = {  # arguments -> exit code
    "list methods": 0,
    "list envs": 0,
    "list studies": 0,
    "list method": 2,
    "tran maze/on-demand": 2,
    "train maze/on-demnd": 2,
    "train maze/on-demand --curiosity byol-hindsigt": 2,
    "train maze/on-demand --curiosity byol+hindsigt": 2,
    "train maze/on-demand --batch-siez 3": 2,
    "train maze/on-demand --import no_such_module": 2,
    "study maz": 2,
    "diagnose maze/on-demnd": 2,
    "diagnose maze/on-demand --curiosity rdn": 2,
    "play maze/brwnian": 2,
    "--help": 0,
}
PROGRAM = f"""
import contextlib, io, json, sys
from curiax.commands.cli import main

found = {{}}
for words in {list(ANSWERS)}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(words.split())
    found[words] = code, [name for name in {HEAVY} if name in sys.modules]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def answers():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", ANSWERS)
def test_nothing_heavy_is_imported(words, answers):
    assert answers[words] == [ANSWERS[words], []]
