"""Starts the real Hermes, older and newer, with this plugin, on a home that is thrown away."""

from .home import HermesHome, Way
from .host import GENERATIONS, Host, find_host
from .wire import faults_of, stray_keys

__all__ = ["GENERATIONS", "HermesHome", "Host", "Way", "faults_of", "find_host", "stray_keys"]
