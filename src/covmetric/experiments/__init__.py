"""The paper's experiments, as functions that return tables."""
