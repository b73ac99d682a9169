/* Where an answer must be, and what messages are worth there: storage/fts_places.py, storage/fts_rows.py and `scores` of
   storage/ranking.py. `talk`: the conversation (`talkOf` in find.js). A term: whether it spreads, how many hold it, and which: `once` all of them,
   `numbers` as often as it stands there, as far as that is read. */

const weightOf = (messages, holders) => {
  const holding = Math.min(holders, messages);
  return Math.log(1 + (messages - holding + 0.5) / (holding + 0.5));
};
const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

/* Where in ascending numbers the first is that is no less than one. */
const bisect = (numbers, least, from = 0) => {
  let low = from, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < least) low = middle + 1; else high = middle;
  }
  return low;
};
const within = (numbers, spans) => spans.flatMap(([low, high]) => {
  const start = bisect(numbers, low);
  return numbers.slice(start, bisect(numbers, high + 1, start));
});
const joined = (spans) => {
  const found = [];
  for (const [low, high] of spans.toSorted((one, other) => one[0] - other[0] || one[1] - other[1])) {
    const last = found.at(-1);
    if (last && low <= last[1] + 1) last[1] = Math.max(high, last[1]); else found.push([low, high]);
  }
  return found;
};

/* `_least`: what the last of the best places is worth; 0 if there are fewer. */
const leastOf = (worth, most) => {
  const all = [...worth.values()].sort((one, other) => other - one);
  return all.length < most ? 0 : all[most - 1];
};

const likelyPlaces = (terms, kept, scope, rule) => {
  const worth = new Map(), held = [];
  let rest = sum(terms.map((term) => weightOf(scope.messages, term.holders)));
  for (const term of terms) {
    const gain = weightOf(scope.messages, term.holders);
    const places = new Set(term.numbers.filter((number) => !kept || kept.has(number)).map((number) => Math.floor(number / rule.place)));
    const settled = places.size > rule.many && leastOf(worth, rule.likely) > rest * rule.rounded;
    for (const place of places) if (!settled || worth.has(place)) worth.set(place, (worth.get(place) || 0) + gain);
    held.push([places, gain]);
    rest -= gain;
  }
  const whole = (place) => (worth.has(place) ? worth.get(place) : sum(held.filter(([places]) => places.has(place)).map(([, gain]) => gain)));
  const least = leastOf(worth, rule.likely);
  return [...worth].filter(([, own]) => own >= least).sort((one, other) => other[1] - one[1] || other[0] - one[0]).slice(0, rule.likely)
    .map(([place, own]) => [place, own + (whole(place - 1) + whole(place + 1)) / 2])
    .sort((one, other) => other[1] - one[1] || other[0] - one[0]).map(([place]) => place);
};

const spansOf = (places, scope, { place: size, places: most, near }) => (scope.messages <= size * most && !scope.mixed
  ? [[scope.low, scope.high]]
  : joined(places.map((place) => [place * size - near.length, (place + 1) * size + near.length - 1])));

/* `runs_of`: the messages of each span as they stand, without the calls of our own tools and their results. */
const runsOf = (talk, spans, where) => spans.map(([low, high]) => {
  const there = within(talk.numbers, [[low, high]]).map((number) => talk.at(number)).sort((one, other) => one.place - other.place)
    .filter(({ number }) => number !== where.without);
  const [first] = there;
  let inside = Boolean(first && first.role === 'tool' && !first.tool && talk.isOwn(first.caller));
  return there.filter((row) => {
    if (row.role !== 'tool' || row.tool) inside = talk.isOwn(row.tool);
    return !inside;
  });
});

/* `kind_of`: what messages are like, by their role and length. */
const kindOf = (rows, rule) => {
  const average = (lengths) => sum(lengths) / lengths.length;
  const of = (role) => rows.filter((row) => row.role === role).map((row) => Math.max(row.length, 1));
  const [asked, answered] = [of('user'), of('assistant')];
  return { length: rows.length ? Math.max(average(rows.map((row) => row.length)), 1) : 1,
    voice: asked.length && answered.length ? Math.max((average(answered) / average(asked)) ** rule.voice, 1) : 1 };
};

/* `_spread`: what the best occurrence near a place counts there. */
const spreadOf = ({ counts, spreads }, place, slots, kind, rule) => {
  const best = new Map();
  for (const [number, count] of counts) {
    const at = place.get(number);
    if (at === undefined) continue;
    const times = spreads ? Math.min(slots[at].length / kind.length, rule.times) : 1;
    const long = 1 - rule.by_length + rule.by_length * times;
    const worth = count * (1 + rule.saturation) / (count + rule.saturation * long);
    best.set(at, Math.max(best.get(at) || 0, worth));
    (spreads ? rule.near : []).forEach((share, less) => {
      for (const near of [at - less - 1, at + less + 1]) {
        if (near >= 0 && worth * share > (best.get(near) || 0)) best.set(near, worth * share);
      }
    });
  }
  return best;
};

const scoresOf = (runs, terms, kind, newest, passes, rule) => {
  const slots = runs.flatMap((run) => [...run, ...rule.near.map(() => null)]);
  const place = new Map(slots.flatMap((row, at) => (row ? [[row.number, at]] : [])));
  const totals = new Map(), holding = new Map();
  for (const term of terms) {
    for (const [at, worth] of spreadOf(term, place, slots, kind, rule)) totals.set(at, (totals.get(at) || 0) + worth * term.weight);
    for (const number of term.counts.keys()) {
      if (place.has(number)) holding.set(place.get(number), (holding.get(place.get(number)) || 0) + 1);
    }
  }
  const asked = terms.filter((term) => term.spreads).length;
  const lately = Math.min(Math.max(asked - rule.long, 0) / (rule.longest - rule.long), 1);
  const isOpen = asked >= rule.question && Math.max(0, ...holding.values()) < terms.length;
  const least = Math.max(0, ...totals.values()) * (isOpen ? rule.without : 1);
  const found = new Map();
  for (const [at, total] of totals) {
    const row = slots[at];
    if (!row || !passes(row) || !(holding.has(at) || total > least)) continue;
    const worth = row.role === 'user' ? total * kind.voice : total;
    found.set(row.number, lately ? worth * (1 + lately * Math.exp((row.number - newest) / rule.lately)) : worth);
  }
  return found;
};

/* `_suffices`: whether enough of these hold any of the terms, of those that may be returned. */
const suffices = (runs, terms, near, passes, rule) => {
  const found = new Set(runs.flat().filter(passes).map((row) => row.number));
  return new Set(terms.flatMap((term) => within(term.numbers, near)).filter((number) => found.has(number))).size >= rule.few;
};

/* `_filled`: with the words that are too common to be read everywhere, where the others come together. */
const filled = (terms, runs) => {
  const spans = runs.filter((run) => run.length).map((run) => [Math.min(...run.map((row) => row.number)), Math.max(...run.map((row) => row.number))]);
  return terms.map((term) => (term.holders && !term.numbers.length
    ? { ...term, numbers: within(term.once, spans).sort((one, other) => one - other) } : term));
};

/* `_below`: messages of places that were not looked at closely, behind all that were. */
const below = (found, terms, spans, runs, passes) => {
  const worth = new Map();
  for (const term of terms) {
    for (const number of new Set(within(term.numbers, spans))) worth.set(number, (worth.get(number) || 0) + term.weight);
  }
  const seen = new Set(runs.flat().map((row) => row.number));
  const passing = [...worth].filter(([number]) => passes(number));
  const top = Math.max(0, ...passing.map(([, own]) => own)) || 1;
  const most = found.size ? Math.min(...found.values()) : 1;
  return passing.filter(([number, own]) => own && !seen.has(number)).map(([number, own]) => [number, most * own / top]);
};

/* What messages are worth: those of the likeliest places exactly, and then others up to the limit. */
const rankedIn = (talk, terms, scope, where, limit, rule) => {
  const kept = where.isNarrow ? new Set(talk.numbers.filter((number) => talk.passes(talk.at(number), where))) : null;
  const likely = likelyPlaces(terms, kept, scope, rule);
  const passes = (row) => talk.isIn(row, where);
  const runs = [];
  let near = [];
  for (let start = 0; start < Math.max(likely.length, 1); start += rule.places) {
    const spans = spansOf(likely.slice(start, start + rule.places), scope, rule);
    near = joined([...near, ...spans]);
    runs.push(...runsOf(talk, spans, where));
    if (suffices(runs, terms, near, passes, rule)) break;
  }
  const known = filled(terms, runs).map((term) => ({ ...term, weight: weightOf(scope.messages, term.holders) }));
  const weighed = known.map((term) => ({ ...term, counts: timesOf(within(term.numbers, near)) }));
  const found = scoresOf(runs, weighed, kindOf(runs.flat(), rule), scope.high, passes, rule);
  if (found.size < limit && likely.length > rule.places) {
    const spans = spansOf(likely.slice(rule.places), scope, rule);
    for (const [number, worth] of below(found, known, spans, runs, (each) => talk.passes(talk.at(each), where))) found.set(number, worth);
  }
  return found;
};
