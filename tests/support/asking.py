"""A summary by one summariser, or by none."""

from __future__ import annotations

from lcm.dag.breaker import Breaker
from lcm.dag.summarizer import Route, summarize

__all__ = ["route", "summary_of"]


def route(call, *, trusted=False, breaker=None, window=None):
    """The only route there is."""
    return Route(call, trusted, breaker or Breaker(), window)


def summary_of(request, summarizer, *, patience=None, **terms):
    """What comes of *request*."""
    routes = () if summarizer is None else (route(summarizer, **terms),)
    return summarize(request, routes, patience)
