"""Judging debates: items, gaps, protocols, juries, and the reference and exact engines.

A protocol (:class:`Panel`, :class:`Discussion`, :class:`Debate`) and a :class:`JudgingPopulation` are frozen values;
:func:`simulate_reference` and :func:`simulate_exact` run them.
"""

from .agreement import ClassShares as ClassShares
from .agreement import class_shares as class_shares
from .gaps import BetaGap as BetaGap
from .gaps import GaussianGap as GaussianGap
from .gaps import RubricGap as RubricGap
from .gaps import ZeroInflatedBetaGap as ZeroInflatedBetaGap
from .items import DEFAULT_JUDGING_POPULATION as DEFAULT_JUDGING_POPULATION
from .items import DebateLaw as DebateLaw
from .items import DiscussionLaw as DiscussionLaw
from .items import ItemLaw as ItemLaw
from .items import Judge as Judge
from .items import JudgingPopulation as JudgingPopulation
from .items import JuryLaw as JuryLaw
from .items import judging_population_names as judging_population_names
from .items import load_judging_population as load_judging_population
from .jury import beta_binomial_majority as beta_binomial_majority
from .jury import effective_number as effective_number
from .jury import majority as majority
from .jury import probit_majority as probit_majority
from .law import evaluate_judging as evaluate_judging
from .law import simulate_exact as simulate_exact
from .outcomes import JudgingTally as JudgingTally
from .outcomes import summarise_judging as summarise_judging
from .protocols import Debate as Debate
from .protocols import Discussion as Discussion
from .protocols import JudgingProtocol as JudgingProtocol
from .protocols import Panel as Panel
from .protocols import judging_protocol_names as judging_protocol_names
from .protocols import load_judging_protocol as load_judging_protocol
from .reference import JudgingTrajectory as JudgingTrajectory
from .reference import run_judging as run_judging
from .reference import simulate_reference as simulate_reference
from .settings import apply_judging_settings as apply_judging_settings
from .settings import judging_valid_keys as judging_valid_keys
from .sources import JudgingSource as JudgingSource
from .sources import SampledJudgingSource as SampledJudgingSource
from .stopping import FixedRounds as FixedRounds
from .stopping import GapStable as GapStable
from .stopping import JudgingStopReason as JudgingStopReason
from .stopping import LeadBy as LeadBy
from .stopping import ReleasedCode as ReleasedCode
from .stopping import SignAgreement as SignAgreement
from .stopping import TokenBudget as TokenBudget
