"""The explorer's data for the tab in the host's dashboard, which mounts ``router`` and asks who may read it.

The dashboard loads this file alone, by its path and in a process of its own. So the plugin around it is
loaded here once more, under a name of its own, and asks the database that the plugin's settings name.
"""  # noqa: INP001 - a file that the host loads by its path, not a package

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

_NAME = "_lcm_dashboard"

router = APIRouter()


def _module(name: str) -> Any:
    """A module of the plugin."""
    if _NAME not in sys.modules:
        root = Path(__file__).resolve().parent.parent
        spec = importlib.util.spec_from_file_location(
            _NAME, root / "__init__.py", submodule_search_locations=[str(root)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{root} is no plugin.")
        package = importlib.util.module_from_spec(spec)
        sys.modules[_NAME] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{_NAME}.{name}")


@cache
def _reader(path: str) -> Any:
    return _module("console.serving").Reader(path)


@router.get("/page")
def page() -> dict[str, str]:
    """The page, for a frame that has no origin."""
    return {"page": _module("console.explorer").framed()}


@router.get("/ask/{name}")
def ask(name: str, request: Request) -> JSONResponse:
    """What the page asks; of the database of the profile that the dashboard shows."""
    path = str(_module("host.engine").LCMEngine().db_path)
    status, found = _reader(path).answer(name, dict(request.query_params))
    return JSONResponse(found, status_code=status)
