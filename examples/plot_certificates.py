"""
Solvers and their certificates
==============================

All solvers minimise the same objective, and all their iterates get a certificate: a proven upper bound on the distance
to the optimum. Here they meet on the synthetic problem of the paper's convergence experiment.
"""

# %%
# Fifty pairs, matrices of 50 x 50, and a small lambda, which makes the problem hard for methods of first order. ``tol``
# is the bound on the relative gap that a solve has to prove.

import matplotlib.pyplot as plt

from covmetric import Dykstra, Interior, Newton, make_paper_problem, solve

problem = make_paper_problem(n=50, lam=1e-4, seed=0)
solvers = {
    "Dykstra, cyclic order": Dykstra("cyclic", certify_every=1),
    "Dykstra, random order": Dykstra("rand", certify_every=1),
    "Dykstra, permuted order": Dykstra("perm", certify_every=1),
    "interior points": Interior(),
    "Newton": Newton(),
}
results = {name: solve(problem, solver, tol=1e-9, random_state=0) for name, solver in solvers.items()}
for name, result in results.items():
    print(f"{name}: {result.status.name} after {result.n_iter} iterations")

# %%
# The metric is unique, so that all of them find the same one, within what the certificates allow:

certificate = results["Newton"].certificate
print(certificate)
for result in results.values():
    low, high = result.certificate.distance_factor
    print(f"squared distances between {low:.6f} and {high:.6f} times the optimal ones")

# %%
# An iteration of Dykstra's algorithm visits every pair once, one of Newton's method solves a linear system. Nothing
# proves that random orders converge, and nothing has to: the gap is proven at every point of these lines.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
styles = [":", "--", "-", "-.", "-"]
colours = ["#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00"]
for (name, result), style, colour in zip(results.items(), styles, colours, strict=True):
    gap = result.history.gap / max(1.0, abs(certificate.primal))
    axes.loglog(1 + result.history.n_iter, gap, style, color=colour, label=name, lw=2)
axes.axhline(1e-9, color="0.5", lw=1)
axes.set(xlabel="1 + iterations (epochs or steps)", ylabel="certified relative gap", ylim=(1e-11, 1e2))
axes.legend(frameon=False)
plt.show()
