"""The model of one question or item: parameters, protocols, rules, cost, the reference engine and the exact law.

A protocol (:class:`Protocol`) and a population (:class:`Population`) are frozen values; :func:`simulate` runs them by the reference engine.
"""

from .cost import Price as Price
from .cost import PriceList as PriceList
from .cost import Tokens as Tokens
from .cost import load_prices as load_prices
from .deciding import ConfidenceLaw as ConfidenceLaw
from .difficulty import BetaDifficulty as BetaDifficulty
from .difficulty import BetaShare as BetaShare
from .difficulty import FixedShare as FixedShare
from .difficulty import MixtureDifficulty as MixtureDifficulty
from .errors import AdjournError as AdjournError
from .errors import BudgetRefusedError as BudgetRefusedError
from .errors import FileFormatError as FileFormatError
from .errors import InputError as InputError
from .errors import InterruptedRunError as InterruptedRunError
from .errors import ParameterError as ParameterError
from .outcomes import Outcome as Outcome
from .outcomes import OutcomeSpace as OutcomeSpace
from .outcomes import Pricing as Pricing
from .outcomes import summarise as summarise
from .population import Population as Population
from .population import load_population as load_population
from .population import population_names as population_names
from .protocol import Protocol as Protocol
from .protocol import load_protocol as load_protocol
from .protocol import protocol_names as protocol_names
from .reference import SampledSource as SampledSource
from .reference import Trajectory as Trajectory
from .reference import run as run
from .reference import simulate as simulate
from .response import Copying as Copying
from .response import Follower as Follower
from .response import Logit as Logit
from .result import Estimate as Estimate
from .result import Result as Result
from .scheduling import ConfidenceGate as ConfidenceGate
from .scheduling import OracleGate as OracleGate
from .scheduling import Tier as Tier
from .scheduling import UncertaintyGate as UncertaintyGate
from .signals import Signals as Signals
from .stopping import AdaptiveConsistency as AdaptiveConsistency
from .stopping import FixedRounds as FixedRounds
from .stopping import StableConsensus as StableConsensus
from .stopping import StopReason as StopReason
from .stopping import TokenBudget as TokenBudget
from .stopping import Window as Window
