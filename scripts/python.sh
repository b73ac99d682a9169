# Sets $python to a Python that Hermes and this plugin run on, with venv. Sourced.
# PYTHON, if set, is the only one that is tried.
python=''
try_python() {
  if "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
    python=$1
  fi
}
if [ -n "${PYTHON:-}" ]; then
  try_python "$PYTHON"
else
  for candidate in python3 python3.13 python3.12 python3.11; do
    [ -n "$python" ] || try_python "$candidate"
  done
fi
if [ -z "$python" ]; then
  if [ -n "${PYTHON:-}" ] && ! command -v "$PYTHON" >/dev/null; then
    echo "$0: PYTHON=$PYTHON: there is no such program; name a Python 3.11, 3.12 or 3.13" >&2
  elif [ -n "${PYTHON:-}" ]; then
    echo "$0: PYTHON=$PYTHON is no Python 3.11, 3.12 or 3.13" >&2
  else
    echo "$0: no Python 3.11, 3.12 or 3.13 found; name one: PYTHON=/path/to/python3 $0" >&2
  fi
  exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  echo "$0: $python has no venv. On Debian and Ubuntu: sudo apt-get install -y python3-venv" >&2
  exit 1
fi
