"""The paper's experiment: its four models, its tables and figures."""
