# %% [markdown]
# # Is debate judging worth it?
#
# D3 lets advocates argue before a judge scores two answers and a jury decides. A debate costs many calls; the fair question is what the
# same money buys from cheap judges. All values below are exact under the population; what is borrowed in it is named at the end.

# %%
# %matplotlib inline
from adjourn.experiments.families import judging_case
from adjourn.experiments.plots import new_axes

PROTOCOLS = ("single_judge", "self_consistent_judge", "mec_bpc", "more", "samre")
results = {name: judging_case(name).exact() for name in PROTOCOLS}
print(f"{'protocol':24}{'accuracy':>10}{'calls':>8}{'US$':>10}   an item, exact")
for name, result in results.items():
    means = result.means
    print(f"{name:24}{means['accuracy'].mean:10.4f}{means['calls'].mean:8.2f}{means['usd'].mean:10.5f}")

# %% [markdown]
# ## Cheap judges at the same money
#
# How many verdicts of one judge (an odd number, in a majority) does a debate's money buy, and how accurate are they?

# %%
one = results["single_judge"].means["usd"].mean


def verdicts_for(usd):
    """Largest odd number of verdicts that the money buys, at most 25."""
    return min(25, max(1, 2 * ((int(usd / one) - 1) // 2) + 1))


for name in ("more", "samre"):
    debate = results[name].means
    n = verdicts_for(debate["usd"].mean)
    cheap = judging_case("self_consistent_judge", settings={"samples": str(n)}).exact().means
    gain = 100 * (debate["accuracy"].mean - cheap["accuracy"].mean)
    print(f"{name}: {debate['accuracy'].mean:.4f} for {debate['usd'].mean:.4f} US$ an item")
    print(f"  {n} verdicts: {cheap['accuracy'].mean:.4f} for {cheap['usd'].mean:.4f} US$; debate minus verdicts {gain:+.2f} points")

# %% [markdown]
# ## What it hangs on: whether arguments inform the judge
#
# `gain` says how much a debate moves the judge towards the better answer. No public log measures it, so it is swept, not assumed.

# %%
gains = (0.0, 0.25, 0.5, 1.0, 2.0)
curve = [judging_case("more", settings={"gain": str(g)}).exact().means["accuracy"].mean for g in gains]
n = verdicts_for(results["more"].means["usd"].mean)
level = judging_case("self_consistent_judge", settings={"samples": str(n)}).exact().means["accuracy"].mean
axes = new_axes()
axes.plot(gains, curve, marker="o", label="more (three advocates a side)")
axes.axhline(level, linestyle="--", color="grey", label=f"{n} verdicts of one judge, no dearer")
axes.set(xlabel="gain of arguments", ylabel="accuracy, share of items (exact)", title="What arguments must do to pay")
axes.legend()
axes.figure

# %%
for name in ("more", "samre"):
    for note in results[name].notes:
        print(f"{name}: {note}")
