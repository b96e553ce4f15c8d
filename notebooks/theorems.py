# %% [markdown]
# # Which theorems hold?
#
# The modelled papers prove or claim things about debates. Adjourn's ledger holds each claim with its assumptions, a derivation that is
# computed (exactly, where it can be), a witness, and a counterexample where there is one. Verdicts are worked out from that evidence on
# each run; none is written down.

# %%
# %matplotlib inline
from matplotlib.figure import Figure

from adjourn.theory import CLAIMS, examine

SHOWN = ("C3", "C4", "K1", "K3", "U2", "U7", "U10", "J1", "J2")
examined = {name: examine(CLAIMS[name]) for name in SHOWN}
for name, result in examined.items():
    print(f"{name:4} {result.verdict!s:34} {result.claim.title}")


# %% [markdown]
# The whole ledger: `adjourn theory`. One claim with all of its evidence: `adjourn theory C4`.


# %%
def draw(name):
    """Draw one claim."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    CLAIMS[name].plot(figure.subplots())
    return figure


print(CLAIMS["K3"].statement)
draw("K3")

# %%
print(CLAIMS["U7"].statement)
draw("U7")

# %%
print(CLAIMS["C6"].statement)
draw("C6")

# %% [markdown]
# ## What an assumption carries
#
# A claim that holds under assumptions is shown with each of them switched off.

# %%
for name in ("K1", "U7"):
    for assumption, checks in examined[name].dropped.items():
        print(f"{name} without {assumption}: {'still holds here' if all(check.holds for check in checks) else 'breaks'}")

# %% [markdown]
# ## Counterexamples

# %%
for name in ("C3", "C4", "J2"):
    for example in examined[name].counterexamples[:1]:
        print(f"{name}: {example.label}")
        print(f"  the statement says {example.allowed}; it is", "; ".join(f"{v:.6g} ({way})" for way, v in example.ways.items()))
