"""Strict settings for all tests. Warnings are errors too: see `filterwarnings` in pyproject.toml."""

import os
import sys
from pathlib import Path

import jax
from jaxtyping import install_import_hook

SETTINGS = {
    "jax_platforms": "cpu",
    "jax_numpy_rank_promotion": "raise",
    "jax_numpy_dtype_promotion": "strict",
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".cache" / "jax"),
    "jax_compilation_cache_max_size": 2**30,  # bytes; a bounded cache is also a locked one, and the workers share it
    "jax_persistent_cache_min_compile_time_secs": 0.2,
}
for name, value in SETTINGS.items():
    jax.config.update(name, value)
    os.environ[name.upper()] = str(value)  # for the programs that a test starts

for entry in Path(SETTINGS["jax_compilation_cache_dir"]).glob("*-cache"):
    if not Path(f"{str(entry).removesuffix('-cache')}-atime").exists():  # left by a killed process; JAX fails on it
        entry.unlink(missing_ok=True)

num_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if num_workers > 1:  # XLA's thread pool has NPROC threads: workers share the cores instead of each taking all
    os.environ["NPROC"] = str(max(1, (os.cpu_count() or 1) // num_workers))

assert "curiax" not in sys.modules, "curiax was imported before the hook that checks its shapes"
install_import_hook("curiax", "beartype.beartype")
