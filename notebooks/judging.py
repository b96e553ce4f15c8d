# %% [markdown]
# # Is debate judging worth it?
#
# D3 lets advocates argue before a judge scores two answers and a jury decides. A debate costs many calls; the fair question is what the
# same money buys from cheap judges. All values are exact, *given the population*, and that is where the answer hides:
#
# - `mtbench-gpt4` is fitted to the figures that D3 reports. That debate helps is what it was fitted to: an input here, not a result.
# - `prd-vicuna80` is fitted to logs of judges who were asked directly. What arguments would do to them is not in any log, and is borrowed.

# %%
# %matplotlib inline
from adjourn.experiments.families import judging_case
from adjourn.experiments.plots import new_axes

POPULATIONS = ("mtbench-gpt4", "prd-vicuna80")
PROTOCOLS = ("single_judge", "self_consistent_judge", "mec_bpc", "more", "samre")
results = {(where, name): judging_case(name, where).exact() for where in POPULATIONS for name in PROTOCOLS}
print(f"{'population':14}{'protocol':24}{'accuracy':>10}{'calls':>8}{'US$':>10}   an item, exact given the population")
for (where, name), result in results.items():
    means = result.means
    print(f"{where:14}{name:24}{means['accuracy'].mean:10.4f}{means['calls'].mean:8.2f}{means['usd'].mean:10.5f}")

# %% [markdown]
# ## Cheap judges at the same money
#
# How many verdicts of one judge (an odd number, in a majority) does a debate's money buy, and how accurate are they?


# %%
def verdicts_for(usd, where):
    """Largest odd number of verdicts that the money buys, at most 25."""
    one = results[where, "single_judge"].means["usd"].mean
    return min(25, max(1, 2 * ((int(usd / one) - 1) // 2) + 1))


def cheap_accuracy(n, where):
    """Accuracy of a majority of n verdicts of one judge."""
    return judging_case("self_consistent_judge", where, settings={"samples": str(n)}).exact().means["accuracy"].mean


for where in POPULATIONS:
    for name in ("more", "samre"):
        debate = results[where, name].means
        n = verdicts_for(debate["usd"].mean, where)
        gain = 100 * (debate["accuracy"].mean - cheap_accuracy(n, where))
        print(f"{where}, {name}: debate minus {n} verdicts for no more money {gain:+.2f} points")

# %% [markdown]
# ## What it hangs on
#
# `bias_factor` is the share of the judge's own bias that is left once it has read arguments. Asking one judge again and again cannot
# remove its bias; arguments can, if they do. D3's figures ask for 0.05, nearly none left. No public log measures it, so it is swept.

# %%
factors = (0.05, 0.25, 0.5, 0.75, 1.0)
axes = new_axes()
for where, colour in zip(POPULATIONS, ("C0", "C1"), strict=True):
    curve = [judging_case("more", where, settings={"bias_factor": str(x)}).exact().means["accuracy"].mean for x in factors]
    n = verdicts_for(results[where, "more"].means["usd"].mean, where)
    level = cheap_accuracy(n, where)
    print(where, [f"{x:g}: {100 * (y - level):+.2f}" for x, y in zip(factors, curve, strict=True)], f"points over {n} verdicts")
    axes.plot(factors, curve, marker="o", color=colour, label=f"more, {where}")
    axes.axhline(level, linestyle="--", color=colour, label=f"{n} verdicts, {where}")
axes.set(xlabel="share of the judge's bias that arguments leave", ylabel="accuracy, share of items (exact)")
axes.set_title("What arguments must do to pay")
axes.legend(fontsize="small")
axes.figure

# %% [markdown]
# ## What is borrowed

# %%
for where in POPULATIONS:
    for note in results[where, "more"].notes:
        print(f"{where}: {note}")
