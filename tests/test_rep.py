import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_stateful import Hosts


def test_rep():
    state = Hosts()
    state.begin(uids=False, seed=0, stamps=False, system=False)
    state.todo(door=0)
    state.talk(answer="plain", door=0, flushed=False, style="plain")
    state.merge(door=0, which=0)
    state.upgrade(door=0)
    state.retry(answer="plain", door=0)
    state.teardown()
