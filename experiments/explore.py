"""A local page with sliders, answered by the exact law as one drags.

The server binds to the loopback interface and answers only requests that name it (a page elsewhere cannot reach it by a rebound name). It
holds no state: each answer is a function of the query. The known libraries for such pages bring a framework and its client code for a dozen
sliders, so the standard library's server and one page without dependencies serve here.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata, resources
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ..model import (
    AdjournError,
    BetaDifficulty,
    ParameterError,
    Population,
    Protocol,
    StableConsensus,
    UncertaintyGate,
    load_population,
    load_prices,
    load_protocol,
    population_names,
    protocol_names,
)
from ..model.cost import Price, PriceList
from ..model.exact import simulate
from ..model.outcomes import Pricing
from ..model.population import DEFAULT_POPULATION
from ..model.settings import apply_settings, valid_keys
from ..model.thresholds import as_fraction
from .axes import threshold_edges
from .discovery import self_consistency_at
from .saved import finite

__all__ = ["Explorer", "answer", "controls"]

HOST = "127.0.0.1"

_SLIDERS: Mapping[str, tuple[float, float, float]] = {
    "tau_c": (0.0, 1.0, 0.01),
    "epsilon": (0.0, 1.0, 0.01),
    "tau_low": (0.0, 1.0, 0.01),
    "tau_high": (0.0, 1.0, 0.01),
    "n": (1, 41, 1),
    "chains": (1, 9, 1),
    "agents": (1, 7, 1),
    "rounds": (1, 5, 1),
    "threshold": (1, 11, 1),
    "level": (0.51, 1.0, 0.01),
    "window": (1, 10, 1),
    "a": (0.05, 3.0, 0.01),
    "b": (0.05, 3.0, 0.01),
    "w": (0.0, 1.0, 0.01),
    "theta": (0.0, 3.0, 0.05),
    "sigma": (0.0, 3.0, 0.05),
    "lam": (-1.0, 2.0, 0.05),
    "phi": (0.0, 0.5, 0.01),
    "auroc_h": (0.5, 0.95, 0.01),
    "auroc_d": (0.5, 0.95, 0.01),
    "mean_h": (0.05, 0.6, 0.01),
    "visibility": (0.0, 1.0, 0.05),
    "steps": (1, 12, 1),
}
"""Smallest, largest and step of each slider, by the last part of the key."""

_PRICES = {"prompt_usd_per_million": (0.0, 30.0, 0.05), "completion_usd_per_million": (0.0, 60.0, 0.05)}


def _pair(query: Mapping[str, str]) -> tuple[Protocol, Population]:
    protocol = load_protocol(query.get("protocol", "uaad"))
    name = query.get("population", DEFAULT_POPULATION)
    if name not in population_names():
        raise ParameterError("population", name, "one of " + ", ".join(population_names()))
    return protocol, load_population(name)


def controls(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the sliders that mean something for a protocol on a population, each with its range and present value."""
    protocol, population = _pair(query)
    held = _values(protocol, population)
    listed = load_prices(None)
    price = listed.of(population.model if population.model in listed.prices else None)
    moved = [key for key in valid_keys(protocol, population) if key in held and _kind(key) in _SLIDERS]
    sliders = [_slider(key, _SLIDERS[_kind(key)], held[key]) for key in sorted(moved, key=lambda k: list(_SLIDERS).index(_kind(k)))]
    sliders += [_slider(key, span, getattr(price, key)) for key, span in _PRICES.items()]
    return {"protocols": protocol_names(), "populations": population_names(), "sliders": sliders, "prices_as_of": listed.as_of}


def _kind(key: str) -> str:
    return key.rpartition(".")[2]


def _slider(key: str, span: tuple[float, float, float], value: float) -> dict[str, Any]:
    low, high, step = span
    return {"key": key, "min": min(low, value), "max": max(high, value), "step": step, "value": value}


def _values(protocol: Protocol, population: Population) -> dict[str, float]:
    """Present values of what sliders move."""
    found: dict[str, float] = {"n": protocol.chains, "chains": protocol.chains}
    gate, stop, sampling = protocol.gate, protocol.round_stop, protocol.sampling_stop
    for part in (stop, sampling, gate, population.signals, population.response):
        for key, value in vars(part).items() if part is not None else ():
            if key in _SLIDERS and not isinstance(value, (str, bool, tuple)):
                found[key] = float(value)
    if isinstance(gate, UncertaintyGate) and len(gate.bounds) == 2:
        found["tau_low"], found["tau_high"] = gate.bounds
    for tier in protocol.tiers:
        prefix = "" if len(protocol.tiers) == 1 else f"tiers.{tier.name}."
        found |= {f"{prefix}agents": tier.agents, f"{prefix}rounds": tier.rounds}
    if isinstance(population.difficulty, BetaDifficulty):
        found |= {"a": population.difficulty.a, "b": population.difficulty.b}
    share = getattr(population.misconception, "w", None)
    return found if share is None else {**found, "w": float(share)}


def answer(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the exact law at the sliders' values, with the cell that the thresholds lie in and self-consistency of equal calls.

    Parameters
    ----------
    query : mapping of str to str
        ``protocol``, ``population``, prices, and any key of ``--set``.

    Raises
    ------
    InputError
        If a value is out of range or a key means nothing here.
    """
    protocol, population = _pair(query)
    prices = {key: _price(query, key) for key in _PRICES}
    settings = {k: v for k, v in query.items() if k not in ("protocol", "population", *_PRICES)}
    policy, law = apply_settings(protocol, population, settings)
    price = Price("sliders", **prices)
    listed = PriceList("the sliders", load_prices(None).as_of, "set by hand", "sliders", {"sliders": price})
    result = simulate(policy, law, Pricing(price, listed))
    data = result.to_json()
    data.pop("provenance")
    calls = result.mean("calls").mean
    return {
        **data,
        "cell": _cell(policy),
        "self_consistency": {"samples": calls, "accuracy": self_consistency_at(law, calls)},
        "settings": settings,
    }


def _price(query: Mapping[str, str], key: str) -> float:
    try:
        value = float(query.get(key, "0.5"))
    except ValueError:
        raise ParameterError(key, query[key], "a number of US dollars") from None
    if not 0 <= value <= 1e5:
        raise ParameterError(key, value, "from 0 to 100000 US dollars per million tokens")
    return value


def _cell(protocol: Protocol) -> dict[str, str]:
    """Intervals of the thresholds around their values, within which the rule is the same."""
    rule = protocol.round_stop
    if not isinstance(rule, StableConsensus) or not protocol.tiers:
        return {}
    by_chains = protocol.inherits and rule.first_share == "chains"
    tau, epsilon = threshold_edges([t.agents for t in protocol.tiers], protocol.chains if by_chains else None)
    return {
        "tau_c": str(next(i for i in tau if as_fraction(rule.tau_c, "tau_c") in i)),
        "epsilon": str(next(i for i in epsilon if as_fraction(rule.epsilon, "epsilon") in i)),
    }


class Explorer(ThreadingHTTPServer):
    """The local server.

    Parameters
    ----------
    port : int
        Port on the loopback interface; 0 takes a free one.
    protocol, population : str
        What the page opens with.
    """

    daemon_threads = True

    def __init__(self, port: int = 0, protocol: str = "uaad", population: str = DEFAULT_POPULATION) -> None:
        load_protocol(protocol)
        _pair({"protocol": protocol, "population": population})
        self.start = {"protocol": protocol, "population": population}
        self.work = threading.Lock()
        super().__init__((HOST, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over a page that went away before its answer: each drag drops the one before."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Explorer
    server_version = "adjourn"
    sys_version = ""

    def do_GET(self) -> None:
        """Serve the page, its controls and answers."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
            self._send(403, {"error": "this server answers on the loopback interface only."})
            return
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        makers = {"/controls": controls, "/law": answer}
        if url.path == "/":
            self._page()
        elif url.path in makers:
            self._answer(makers[url.path], query)
        else:
            self._send(404, {"error": "there is nothing here."})

    def _answer(self, maker: Any, query: Mapping[str, str]) -> None:
        try:
            with self.server.work:
                data = maker(query)
        except AdjournError as error:
            self._send(400, {"error": str(error)})
            return
        self._send(200, data)

    def _page(self) -> None:
        text = (resources.files(__package__) / "explore.html").read_text(encoding="utf-8")
        text = text.replace("{{start}}", json.dumps(self.server.start).replace("<", "\\u003c")).replace(
            "{{version}}", metadata.version("adjourn")
        )
        policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"
        self._write(200, "text/html; charset=utf-8", text.encode(), {"Content-Security-Policy": policy})

    def _send(self, status: int, data: Mapping[str, Any]) -> None:
        self._write(status, "application/json", json.dumps(finite(dict(data))).encode(), {})

    def _write(self, status: int, kind: str, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a drag is a hundred requests."""
