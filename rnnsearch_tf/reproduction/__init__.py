"""Reproduction of the paper: its four models, its tables and figures."""
