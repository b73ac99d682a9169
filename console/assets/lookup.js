/* What the program's index answers, of one conversation whose words are here: storage/fts_search.py, and tools/fuzzy.py. */

/* `_scope` of storage/fts_search.py. */
const scopeOf = ({ numbers }, { newest }, rule) => {
  const count = numbers.length;
  if (count > rule.small) return { low: 1, high: newest, messages: newest };
  const [low, high] = count ? [numbers[0], numbers.at(-1)] : [1, 0];
  return { low, high, messages: count, mixed: high - low >= count };
};

/* The program's `search` and `search_nodes`, over one conversation. */
const lookupIn = (talk, summaries, tongue, ask, told, rule) => {
  const postings = new Postings(talk.numbers.length, (at) => talk.textOf({ row: talk.at(talk.numbers[at]), version: 0 }), tongue);
  const earlier = talk.rows.flatMap((row) => Array.from({ length: talk.versionsOf(row) - 1 }, (_, n) => ({ row, version: n + 1 })));
  const before = new Postings(earlier.length, (at) => talk.textOf(earlier[at]), tongue);
  const nodes = new Postings(summaries.length, (at) => summaries[at].text, tongue);
  const scope = scopeOf(talk, told, rule);

  /* `_holders`: how many messages hold a term; of a frequent one about how many. */
  const holdersOf = (once, frequent) => {
    const counted = (low, high) => bisect(once, high + 1) - bisect(once, low);
    const { low, high } = scope;
    const step = Math.floor((high - low + 1) / rule.samples);
    if (step * rule.samples < rule.sampled || counted(high - rule.newest + 1, high) < frequent) {
      return counted(low, high);
    }
    const some = sum(Array.from({ length: rule.samples }, (_, n) => counted(low + n * step, low + n * step + rule.sample - 1)));
    return Math.floor(some * step / rule.sample);
  };

  /* `_terms`, the rarest first, and `_numbers`: which messages hold each and how often, until it is enough. */
  const termsFor = (words, phrases) => {
    const asked = new Map();
    for (const [terms, spreads] of [[phrases, false], [words, true]]) {
      for (const each of terms.map(ask.expression)) if (each) asked.set(each.text, { ...each, spreads });
    }
    const found = new Map();
    for (const term of asked.values()) {
      const all = postings.occurrences(term.stems).map((at) => talk.numbers[at]);
      const once = [...new Set(all)];
      const holders = holdersOf(once, term.spreads ? rule.frequent : rule.frequent_phrase);
      found.set(term.stems.length === 1 ? term.stems[0] : `"${term.text}`, { ...term, once, holders, all: term.stems.length === 1 ? all : once });
    }
    let left = rule.most;
    return [...found.values()].sort((one, other) => one.holders - other.holders).map((term) => {
      const { once, all, holders } = term;
      const numbers = holders && holders <= left ? all : holders && left === rule.most ? once.slice(-left) : [];
      left -= Math.min(holders, left);
      return { ...term, numbers };
    });
  };

  const inEarlier = (words, phrases, where) => {
    if (!earlier.length) return [];
    const terms = [...new Map([...phrases, ...words].map(ask.expression).filter(Boolean).map((term) => [term.text, term])).values()];
    const current = { rows: talk.numbers.length, tokens: postings.tokens, holding: (stems) => new Set(postings.occurrences(stems)).size };
    return bm25(before, terms, current).map(([at, score]) => ({ ...earlier[at], score })).filter(({ row }) => row.number !== where.without
      && !talk.isOwn(row.tool) && talk.isIn(row, where));
  };

  const messages = (words, phrases, where) => {
    const terms = termsFor(words, phrases);
    if (!terms.length) return [];
    const best = new Map([...rankedIn(talk, terms, scope, where, rule.pool, rule)]
      .map(([number, score]) => [number, { row: talk.at(number), version: 0, score }]));
    for (const hit of inEarlier(words, phrases, where)) {
      if (hit.score > (best.has(hit.row.number) ? best.get(hit.row.number).score : 0)) best.set(hit.row.number, hit);
    }
    return [...best.values()].sort((one, other) => other.score - one.score || other.row.number - one.row.number).slice(0, rule.pool);
  };

  const held = new Map(Object.entries(told.nodes.holding));
  const { longest } = told.nodes;
  /* A run that is too long to be counted is held by no more than each part of it is. */
  const holding = (stems) => (stems.length <= longest ? held.get(stems.join(' ')) || 0
    : longest && Math.min(...stems.slice(longest - 1).map((_, at) => held.get(stems.slice(at, at + longest).join(' ')) || 0)));
  const others = { ...told.nodes, holding };
  const inNodes = (words, phrases) => bm25(nodes, [...words, ...phrases].map(ask.expression).filter(Boolean), others)
    .map(([at, score]) => ({ node: summaries[at], at, score })).sort((one, other) => other.score - one.score || other.at - one.at).slice(0, rule.most_nodes);

  return { messages, inNodes, vocabulary: () => [...new Set([...postings.names.keys(), ...before.names.keys()])].sort() };
};

/* `repair` of tools/fuzzy.py: for each word that is nowhere the nearest that are. */
const repaired = (words, known, rule) => {
  const present = new Set(known);
  /* rapidfuzz's ratio: what the two have in common, in order, of the letters of both. */
  const alike = (one, other) => {
    let row = new Uint16Array(other.length + 1);
    for (const letter of one) {
      const next = new Uint16Array(other.length + 1);
      for (let at = 1; at <= other.length; at += 1) {
        next[at] = letter === other[at - 1] ? row[at - 1] + 1 : Math.max(row[at], next[at - 1]);
      }
      row = next;
    }
    const all = one.length + other.length;
    return (1 - (all - 2 * row[other.length]) / all) * 100;
  };
  const found = new Map();
  for (const word of new Set(words.map((each) => each.toLowerCase()))) {
    const letters = [...word];
    if (present.has(word) || letters.length < rule.shortest || letters.length > rule.longest) continue;
    const near = known.map((each, at) => [alike(letters, [...each]), at]).filter(([score]) => score >= rule.near)
      .sort((one, other) => other[0] - one[0] || one[1] - other[1]).slice(0, rule.most);
    if (near.length) found.set(word, near.map(([, at]) => known[at]));
  }
  return found;
};
