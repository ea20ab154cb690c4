"""Several logical CPUs in place of several GPUs, for scripts that tests start."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf


def use(count: int) -> None:
    """Split the CPU; to be called before TensorFlow does anything else."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    devices = [tf.config.LogicalDeviceConfiguration()] * count
    tf.config.set_logical_device_configuration(cpu, devices)
