"""Put the plot library that the explorer's page uses under console/assets/vendor: run.py scripts.fetch_assets.

Version and hash are pinned here; a package that is anything else is refused. It was run once, and what it
put there is part of the repository: nobody needs the network, or npm, to use or to change the page.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

PACKAGE: Final = "uplot@1.6.32"
SHA512: Final = (
    "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw=="
)
FILES: Final = {
    "package/dist/uPlot.iife.min.js": "uplot.js",
    "package/dist/uPlot.min.css": "uplot.css",
    "package/LICENSE": "uplot.LICENSE",
}
VENDOR: Final = Path(__file__).resolve().parent.parent / "console" / "assets" / "vendor"


def main(_arguments: list[str]) -> int:
    """Fetch the package with npm, look at its hash, and unpack what is used of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", PACKAGE, "--silent", "--pack-destination", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        (packed,) = Path(folder).iterdir()
        data = packed.read_bytes()
    found = base64.b64encode(hashlib.sha512(data).digest()).decode()
    if found != SHA512:
        sys.stderr.write(f"{PACKAGE} is not what it was: sha512 {found}\n")
        return 1
    VENDOR.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for inside, name in FILES.items():
            file = archive.extractfile(inside)
            if file is None:
                return 1
            (VENDOR / name).write_bytes(file.read())
    return 0
