"""JAX's cache of compiled programs on disk."""

import functools
import os
import sys
import tempfile
from pathlib import Path


@functools.cache
def use_compilation_cache() -> None:
    """Caches compiled programs in the user's cache directory, or where JAX was told to. Acts once in a process.

    A directory that cannot be written costs one line on stderr; programs are then compiled at every start.
    """
    import jax

    told: str | None = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    directory = told or user_directory()
    if "://" not in directory and (reason := not_writable(Path(directory))):
        print(f"curiax: {directory}: compiled programs cannot be kept there ({reason})", file=sys.stderr)
        jax.config.update("jax_compilation_cache_dir", None)
    elif not told:
        jax.config.update("jax_compilation_cache_dir", directory)
        if not os.environ.get("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def user_directory() -> str:
    """$XDG_CACHE_HOME/curiax/jax; by default the cache is ~/.cache."""
    return str(Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "curiax" / "jax")


def not_writable(directory: Path) -> str:
    """Why no file can be written there; "" if one can. Makes the directory."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""
