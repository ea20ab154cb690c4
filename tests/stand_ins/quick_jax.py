"""JAX that compiles quickly, for tests: most of their programs run once or twice."""

import importlib.metadata

KNOWN = "0.10."  # versions of JAX that have the flag: an unknown one ends the process


def environment(devices: int = 1) -> dict[str, str]:
    """Return the variables of a process that has JAX on the CPU.

    Args:
        devices: how many the CPU stands for.
    """
    flags = [f"--xla_force_host_platform_device_count={devices}"]
    if importlib.metadata.version("jax").startswith(KNOWN):
        flags.append("--xla_cpu_use_fusion_emitters=false")  # a third of the time
    return {
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "XLA_FLAGS": " ".join(flags),
    }
