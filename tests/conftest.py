"""Strict settings for all tests. Warnings are errors too: see `filterwarnings` in pyproject.toml."""

import os
import shutil
import sys
from pathlib import Path

import jax
import pytest
from jaxtyping import install_import_hook

MAX_CACHE_SIZE = 2**30  # bytes
CACHE = Path(__file__).parents[1] / ".cache" / "jax"
SETTINGS = {
    "jax_platforms": "cpu",
    "jax_numpy_rank_promotion": "raise",
    "jax_numpy_dtype_promotion": "strict",
    "jax_compilation_cache_dir": str(CACHE),
    "jax_disable_most_optimizations": True,  # compiling costs more than running, but for tests that use `optimised`
    "jax_persistent_cache_min_compile_time_secs": 0.0,  # thousands of small programs: loading one is four times as fast
}
for name, value in SETTINGS.items():
    jax.config.update(name, value)
    os.environ[name.upper()] = str(value)  # for the programs that a test starts
os.environ["XLA_FLAGS"] = "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1"  # compiles fast
# A killed program leaves a torn entry in the cache. JAX warns and compiles anew.
os.environ["PYTHONWARNINGS"] = "ignore:Error reading persistent compilation cache entry:UserWarning"

if "PYTEST_XDIST_WORKER" not in os.environ and sum(entry.stat().st_size for entry in CACHE.glob("*")) > MAX_CACHE_SIZE:
    shutil.rmtree(CACHE)  # JAX can keep the cache small by itself, but then looks through all of it for each new entry

num_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if num_workers > 1:  # XLA's thread pool has NPROC threads: workers share the cores instead of each taking all
    os.environ["NPROC"] = str(max(1, (os.cpu_count() or 1) // num_workers))

os.environ["OMP_NUM_THREADS"] = "1"  # for PyTorch, whose threads wait busily where they have to share the cores

assert "curiax" not in sys.modules, "curiax was imported before the hook that checks its shapes"
install_import_hook("curiax", "beartype.beartype")


@pytest.fixture
def optimised():
    """Compiles programs that run twice as fast, and are compiled in three times the time."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


def pytest_collection_modifyitems(items):
    """Files with slow tests come first, so that no worker begins a long file when the others are done."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
