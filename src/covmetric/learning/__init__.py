"""From labelled examples to a solved problem: settings, priors, fits along a path of lambda, splits, rules, scores."""
