# %% [markdown]
# # How much do tau_c and epsilon matter?
#
# UAAD stops a debate at *stable consensus*: the leading answer's share is at least `tau_c` and moved by at most `epsilon` since the round
# before. A debate of six agents knows only the shares 0, 1/6, ..., 1, so the two thresholds act through a lattice: most changes change
# nothing at all.

# %%
# %matplotlib inline
from adjourn.experiments.axes import read_axes
from adjourn.experiments.families import reasoning_case
from adjourn.experiments.plots import new_axes, plot_sweep
from adjourn.experiments.sweep import sweep

grid = read_axes(["tau_c=0.5:1:11", "epsilon=0:0.5:11"])
found = sweep(["uaad"], grid, "math-gpt35", regret=True)
print(f"{len(found.cell_of['uaad'])} grid points, {len(found.cells)} cells, {found.laws['uaad']} distinct laws")
for tier in found.lattices["uaad"]:
    print(f"{tier.agents} agents: tau_c", " ".join(map(str, tier.tau_c)))
    print(f"{tier.agents} agents: epsilon", " ".join(map(str, tier.epsilon)))

# %% [markdown]
# ## UAAD as published
#
# Within a cell nothing changes: not the accuracy, not the calls, not a single question. All values are exact, given the population.


# %%
def span(result, quantity):
    """Smallest and largest value over the cells."""
    values = [cell.means[quantity].mean for cell in result.cells]
    return min(values), max(values)


def show(result):
    """Print what the thresholds move."""
    print("accuracy {:.5f} to {:.5f} (share of questions)".format(*span(result, "accuracy")))
    print("calls    {:.3f} to {:.3f} (a question)".format(*span(result, "calls")))


show(found)

# %% [markdown]
# Hardly anything: the scheduler sends few questions to the debate of several rounds, which alone can be stopped early. How many:

# %%
for name, share in reasoning_case("uaad", "math-gpt35").exact().shares["tiers"].items():
    print(f"{name:8}{100 * share.mean:8.2f} % of the questions")

# %% [markdown]
# ## The same rule where every question debates
#
# With both scheduling thresholds at 0 all questions go to six agents and three rounds; now the thresholds have something to decide.

# %%
everywhere = sweep(["uaad"], grid, "math-gpt35", {"tau_low": "0", "tau_high": "0"}, regret=True)
show(everywhere)
axes = plot_sweep(everywhere, "accuracy", ax=new_axes())
axes.figure

# %% [markdown]
# ## Where the ranking flips
#
# Against self-consistency with ten answers, as the advantage of the truth `lam` grows: 0 says that agents copy whoever leads; above it, a
# right answer is followed more often than its share of the votes would have it.

# %%
versus = sweep(["uaad", "cot_sc"], read_axes(["lam=0:1.5:7"]), "math-gpt35", {"n": "10"})
for flip in versus.flips:
    print(f"{flip.axis} {flip.low} -> {flip.high}: {flip.before} -> {flip.after}")
if not versus.flips:
    print("no flip in this range")
axes = plot_sweep(versus, "accuracy", ax=new_axes())
axes.figure

# %% [markdown]
# ## How far is consensus from the best rule?
#
# *Regret* is the accuracy that the best of **all** stopping rules would add at the same expected number of debate calls, found by dynamic
# programming over every history of the debate. It bounds what any tuning, or any other rule, can win.

# %%
print("regret as published           {:.5f} to {:.5f} (share of questions)".format(*span(found, "regret")))
print("regret where everybody debates {:.5f} to {:.5f} (share of questions)".format(*span(everywhere, "regret")))
axes = plot_sweep(everywhere, "regret", ax=new_axes())
axes.figure

# %% [markdown]
# On the command line: `adjourn sweep --protocol uaad --grid tau_c=0.5:1:11 --grid epsilon=0:0.5:11 --population math-gpt35 --regret`.
