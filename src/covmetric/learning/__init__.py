"""Learning from labelled examples: settings, priors, fits along a path of lambda, splits, decision rules, scores."""
