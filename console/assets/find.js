/* Searching a page that stands alone, by storage/ranking.py's rule and figures: BM25 in which a word counts for the messages
   around it as well. What only a program can do is not here: repairs, times in words, reading the best results. */

/* What is asked for: words, which count around, and what must stand together, which does not. */
const termsOf = (query, stop) => {
  const quoted = [...query.matchAll(/"([^"]{2,})"/g)].map((found) => found[1]);
  const rest = query.replace(/"[^"]{2,}"/g, ' ');
  const every = wordsOf(rest);
  const telling = every.filter((word) => !stop.has(word));
  const pairs = every.slice(1).map((word, at) => [every[at], word]).filter((pair) => !pair.some((word) => stop.has(word)));
  const names = (rest.match(CAMEL) || []).map((name) => partsOf(name));
  const terms = new Map([...quoted.map(wordsOf), ...names, ...pairs].map((words) => [bagOf(words.map((word) => word.toLowerCase())), false]));
  for (const word of telling.length ? telling : every) terms.set(bagOf([word]), true);
  terms.delete('  ');
  return terms;
};

const times = (bag, term) => {
  let count = 0;
  for (let at = bag.indexOf(term); at >= 0; at = bag.indexOf(term, at + term.length - 1)) count += 1;
  return count;
};

const mean = (numbers) => numbers.reduce((sum, each) => sum + each, 0) / Math.max(numbers.length, 1);

/* What a term is worth at each place: its best occurrence near it. */
const spreadOf = (counts, spreads, rows, { length }, rule) => {
  const best = new Map();
  const raise = (at, worth) => { if (at >= 0 && at < rows.length && worth > (best.get(at) || 0)) best.set(at, worth); };
  for (const [at, count] of counts) {
    const long = 1 - rule.by_length + rule.by_length * (spreads ? Math.min(rows[at].length / length, rule.times) : 1);
    const worth = count * (1 + rule.saturation) / (count + rule.saturation * long);
    raise(at, worth);
    if (spreads) rule.near.forEach((share, away) => { raise(at - away - 1, worth * share); raise(at + away + 1, worth * share); });
  }
  return best;
};

const scoresOf = (rows, terms, rule) => {
  const of = (role) => rows.filter((row) => row.role === role).map((row) => Math.max(row.length, 1));
  const [asked, answered] = [of('user'), of('assistant')];
  const kind = { length: Math.max(mean(rows.map((row) => row.length)), 1),
    voice: asked.length && answered.length ? Math.max((mean(answered) / mean(asked)) ** rule.voice, 1) : 1 };
  const totals = new Map(), holding = new Map();
  for (const [term, spreads] of terms) {
    const counts = rows.map((row, at) => [at, times(row.bag, term)]).filter(([, count]) => count);
    const rare = Math.log(1 + (rows.length - counts.length + 0.5) / (counts.length + 0.5));
    for (const [at, worth] of spreadOf(counts, spreads, rows, kind, rule)) totals.set(at, (totals.get(at) || 0) + worth * rare);
    for (const [at] of counts) holding.set(at, (holding.get(at) || 0) + 1);
  }
  const long = [...terms.values()].filter(Boolean).length;
  const lately = Math.min(Math.max(long - rule.long, 0) / (rule.longest - rule.long), 1);
  const open = long >= rule.question && Math.max(0, ...holding.values()) < terms.size;
  const least = Math.max(0, ...totals.values()) * (open ? rule.without : 1);
  const found = [];
  for (const [at, total] of totals) {
    if (!holding.has(at) && total <= least) continue;
    const worth = rows[at].role === 'user' ? total * kind.voice : total;
    found.push([rows[at], worth * (1 + lately * Math.exp((at - rows.length) / rule.lately))]);
  }
  return found;
};

/* Summaries, as SQLite's bm25() has them, at a part of their worth: in few words they say what messages say in many. */
const nodeScores = (nodes, terms, rule) => {
  const length = mean(nodes.map((node) => node.length));
  const worth = new Map();
  for (const term of terms.keys()) {
    const counts = nodes.map((node) => [node, times(node.bag, term)]).filter(([, count]) => count);
    const rare = Math.max(Math.log((nodes.length - counts.length + 0.5) / (counts.length + 0.5)), 1e-6);
    for (const [node, count] of counts) {
      worth.set(node, (worth.get(node) || 0) + rare * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * node.length / length)));
    }
  }
  return [...worth].map(([node, score]) => [node, score * rule.node]).sort((one, other) => other[1] - one[1]).slice(0, 10);
};

/* Without the calls of lcm's own tools and their results, which only repeat others. */
const withoutOwn = (messages, own) => {
  let inside = false;
  return messages.filter((each) => {
    if (each.role !== 'tool' || each.tool) inside = own.has(each.tool);
    return !inside;
  });
};

const indexed = (chart, message, nodes, rule) => {
  const { uid, role, turn } = chart.messages;
  const filled = (each) => { each.bag = bagOfText(each.text); each.length = each.bag.split(' ').length - 2; return each; };
  const messages = uid.map((name, at) => ({ uid: name, kind: 'message', role: role[at], turn: turn[at], tool: message(at).tool, at,
    text: message(at).versions.join('\n') }));
  const rows = withoutOwn(messages, new Set(rule.own)).map(filled);
  const summaries = chart.nodes.map((node) => {
    const { levels = {}, hints = [] } = nodes.get(node.uid) || {};
    return filled({ uid: node.uid, kind: 'node', role: null, turn: node.turns[0],
      text: [node.topic, ...hints, Object.values(levels).at(-1) || ''].join('\n') });
  });
  const stop = new Set(rule.stop);
  const exactly = (wanted) => {
    const kept = new Set(rows);
    const holding = messages.filter((each) => each.text.toLowerCase().includes(wanted)).reverse();
    return [...holding.filter((each) => kept.has(each)), ...holding.filter((each) => !kept.has(each))];
  };
  return (query, mode) => {
    const terms = termsOf(query, stop);
    const best = mode === 'exact' ? exactly(query.toLowerCase())
      : [...scoresOf(rows, terms, rule), ...nodeScores(summaries, terms, rule)]
        .sort((one, other) => other[1] - one[1] || (other[0].at || 0) - (one[0].at || 0)).map(([each]) => each);
    const needles = mode === 'exact' ? [query.toLowerCase()] : wordsOf(query).filter((word) => !stop.has(word));
    return {
      total: best.length,
      results: best.slice(0, 50).map(({ text, bag, ...each }) => ({ ...each, snippet: snippetOf(text, needles) })),
      note: mode === 'exact' ? 'Newest first: every message that holds this string.'
        : 'Ranked by the rule of lcm_grep. Repairs of words, times in words and what it reads of the best results need the program: `hermes lcm search`.',
    };
  };
};

const snippetOf = (text, needles) => {
  const low = text.toLowerCase();
  const at = needles.map((each) => low.indexOf(each)).filter((each) => each >= 0).sort((a, b) => a - b)[0] || 0;
  const from = Math.max(at - 80, 0);
  return `${from ? '…' : ''}${text.slice(from, from + 260)}${from + 260 < text.length ? '…' : ''}`;
};
