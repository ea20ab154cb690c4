"""Run `rnnsearch-train` with as many logical CPUs as the first argument says."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf

from rnnsearch_tf.scripts import train

if __name__ == "__main__":
    (cpu,) = tf.config.list_physical_devices("CPU")
    devices = [tf.config.LogicalDeviceConfiguration()] * int(sys.argv[1])
    tf.config.set_logical_device_configuration(cpu, devices)
    sys.exit(train.run(sys.argv[2:]))
