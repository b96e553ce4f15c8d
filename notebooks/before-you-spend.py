# %% [markdown]
# # Before you spend: from a pilot log to a plan
#
# A *pilot* is a small log of real answers: a few questions, several independent answers to each and, if you can, a few rounds of debate.
# This notebook fits a model to one and asks which design to run on 2,000 questions for 20 US$. Nothing is spent.
#
# The pilot here ships with Adjourn and is **synthetic**: the reference engine made it; no model was asked.

# %%
# %matplotlib inline
from pathlib import Path

from adjourn import experiments
from adjourn.experiments.calibrate import calibrate
from adjourn.experiments.choosing import Request
from adjourn.experiments.families import price_of
from adjourn.experiments.frontier import frontier_plot
from adjourn.experiments.logs import read_log
from adjourn.experiments.pilots import fitted_pilot
from adjourn.experiments.plan import make_plan
from adjourn.experiments.plots import new_axes

log = read_log(Path(experiments.__file__).parent / "demo" / "synthetic-pilot.csv")
print(f"{len(log):,} messages, {len(log.questions)} questions, {len(log.agents)} agents, rounds {log.rounds}")

# %% [markdown]
# ## What the pilot says
#
# Each question has its own probability `p` of a right answer, and wrong answers share a misconception with probability `w`. Both laws are
# *fitted*; the report says in words what was found, and what the log cannot tell.

# %%
calibration = calibrate(log, draws=0)
for paragraph in calibration.report[:3]:
    print(paragraph, end="\n\n")
for warning in calibration.warnings:
    print("warning:", warning)

# %% [markdown]
# ## What to run
#
# Every design of a catalogue is evaluated by the exact law (no sampling error) on the fit and on 50 resampled pilots, so that the advice
# says how sure it is.

# %%
request = Request(items=2000, budget_usd=20.0, draws=50)
pilot = fitted_pilot(calibration)
plan = make_plan(pilot, request, price_of(None, None, pilot.population.model))
best = plan.recommendation
print(f"run {best.design.name}")
print(f"accuracy {best.accuracy.mean:.3f}, 95 % interval [{best.accuracy.low:.3f}, {best.accuracy.high:.3f}] (share of questions)")
print(f"cost     {best.usd_mean:.2f} US$ expected, {best.usd_p95:.2f} US$ in 95 % of runs")
for kind, share in plan.wins_by_kind().items():
    print(f"{share:4.0%} of the resampled pilots choose {kind}")

# %%
axes = frontier_plot(plan, new_axes())
axes.figure

# %% [markdown]
# ## What would flip the choice
#
# A plan is only as good as what it rests on. These are the nearest changes that would change the advice.

# %%
for flip in plan.flips:
    print(flip["what"], flip.get("direction", "of"), f"{flip['value']:g}", "->", flip["choice"])

# %% [markdown]
# On the command line: `adjourn plan --pilot my-pilot.csv --items 2000 --budget-usd 20`.
