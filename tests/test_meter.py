"""What model calls use is counted, shown, and remembered."""

from __future__ import annotations

import io
import threading

import pytest
from lcm import LCMEngine
from lcm.console.status import gather, view
from lcm.dag.meter import Calls, Meter, metered, spent_by, totals_of
from lcm.dag.summarizer import Reply, SummaryRequest
from lcm.dag.tokens import count_text
from lcm.dag.usage import Usage
from lcm.storage import open_store
from lcm.storage.errors import StoreError
from lcm.storage.memory import MemoryStore
from rich.console import Console

ASKED = SummaryRequest("what was said " * 40, 100, (100,))


def talk(turns):
    return [
        {"role": role, "content": f"{what} {n} " + "why and because " * 40}
        for n in range(turns)
        for role, what in (("user", "question"), ("assistant", "answer"))
    ]


def test_the_provider_is_believed():
    """What the response says was used, under the model that the response names."""
    meter = Meter()
    reply = Reply("short", usage=Usage(321, 12), model="small-model")
    assert metered(lambda _: reply, meter, "asked-for")(ASKED) is reply
    assert {"small-model": Calls(1, 0, Usage(321, 12))} == meter.spent()


def test_without_figures_the_count_is_ours():
    """A function that gives a text has read its source and written that."""
    meter = Meter()
    metered(lambda _: "so it was said", meter, "mine")(ASKED)
    assert {
        "mine": Calls(1, 0, Usage(count_text(ASKED.text), count_text("so it was said")))
    } == meter.spent()


@pytest.mark.parametrize("error", [TimeoutError, KeyboardInterrupt], ids=lambda e: e.__name__)
def test_a_call_that_fails_is_counted_and_fails(error):
    """What it was sent counts; what it raised goes through."""
    meter = Meter()

    def call(_):
        raise error

    with pytest.raises(error):
        metered(call, meter, "m")(ASKED)
    assert {"m": Calls(1, 1, Usage(count_text(ASKED.text), 0))} == meter.spent()


def test_a_meter_adds_to_the_one_it_is_within():
    """A pass has its own figures, and the engine has all of them; from any thread."""
    engine = Meter()
    passes = [Meter(engine) for _ in range(4)]

    def work(meter):
        for _ in range(50):
            meter.note("m", Calls(1, 0, Usage(2, 1)))

    threads = [threading.Thread(target=work, args=(each,)) for each in passes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [{"m": Calls(50, 0, Usage(100, 50))}] * 4 == [each.spent() for each in passes]
    assert {"m": Calls(200, 0, Usage(400, 200))} == engine.spent()


def test_a_store_is_told_once():
    """Settled twice is counted once; what comes later is added, also by another process's meter."""
    store, one, other = MemoryStore(), Meter(), Meter()
    store.open_session("s")
    one.note("m", Calls(1, 0, Usage(10, 1)))
    for meter in (one, one, other):
        meter.settle(store, "s")
    other.note("n", Calls(1, 1, Usage(5, 0)))
    one.note("m", Calls(1, 0, Usage(10, 1)))
    for meter in (one, other):
        meter.settle(store, "s")
    spent = spent_by(store, ["s"])
    assert {"m": Calls(2, 0, Usage(20, 2)), "n": Calls(1, 1, Usage(5, 0))} == spent
    total = totals_of(spent)
    assert (3, 1, 25, 2) == tuple(
        total[name] for name in ("calls", "failed", "input_tokens", "output_tokens")
    )


def test_what_no_store_took_is_still_owed():
    """A store that fails is told the next time."""
    store, meter = MemoryStore(), Meter()
    store.open_session("s")
    meter.note("m", Calls(1, 0, Usage(10, 1)))

    class Broken(MemoryStore):
        def remember(self, *_):
            raise StoreError("no")

    with pytest.raises(StoreError):
        meter.settle(Broken(), "s")
    meter.settle(store, "s")
    assert {"m": Calls(1, 0, Usage(10, 1))} == spent_by(store, ["s"])


def test_a_pass_says_what_it_used_everywhere(tmp_path):
    """In get_status(), lcm_status, the record of the pass, and on the screen of another process."""
    asked = []

    def summarizer(request):
        asked.append(request)
        return f"What was asked and answered, part {len(asked)}."

    path = tmp_path / "lcm.db"
    engine = LCMEngine(8000, db_path=path, settings={}, summarizer=summarizer)
    engine.on_session_start("s")
    engine.compress(talk(40), current_tokens=9000)
    status = engine.get_status()["model_calls"]
    assert len(asked) == status["calls"] > 0
    assert sum(count_text(each.text) for each in asked) == status["input_tokens"]
    assert {"the caller's"} == set(status["by_model"])
    engine.close()

    store = open_store(path, create=False)
    (done,) = store.passes()
    assert status == done.detail["model_calls"] == totals_of(spent_by(store, ["s"]))
    shown = gather(store, store.session("s"), None)
    assert status == shown["conversation"]["model_calls"]
    console = Console(width=200, file=io.StringIO())
    console.print(view(shown))
    said = f"{status['calls']} calls; {status['input_tokens']:,} tokens read"
    assert said in console.file.getvalue()
    store.close()
