"""Dropout in updates by TensorFlow; `test_jax_training` has those by JAX."""

from dropout_masks import check, masks_of_updates


def test_masks():
    check(masks_of_updates(), shares=2)
