"""The paper's experiments, the demo and the comparison of methods, as functions that return tables."""
