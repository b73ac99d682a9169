"""``serve.py MODEL.gguf PORT CONTEXT``: a model behind an OpenAI-compatible server, on loopback.

Runs in an environment of its own that has ``xllamacpp``.
"""

from __future__ import annotations

import sys
import threading

import xllamacpp


def main(path: str, port: str, context: str) -> None:
    """Serve until interrupted."""
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames, params.port = ["127.0.0.1"], int(port)
    params.n_ctx, params.n_parallel = int(context), 1
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = 1, 0  # more threads wait for each other on a busy machine
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
