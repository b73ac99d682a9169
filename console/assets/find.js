/* Searching a page that stands alone, as tools/grep.py does: the same messages and summaries in the same order, by the same figures,
   which come from there. What is asked for is looked up in the words that the page holds. */

/* What can be searched of a message in one version: what is shown of it, of a call's result without the call but with the name of the
   tool; or what `parts` say (console/finding.py). */
const searchable = (shown, parts, role, tool) => {
  const at = shown.lastIndexOf('\n');
  const content = () => shown.slice(0, Math.max(at, 0));
  if (!parts) return role === 'tool' ? [content(), tool].filter(Boolean).join('\n') : shown;
  const calls = () => JSON.parse(shown.slice(at + 1)).tool_calls;
  const said = (raw) => (raw.includes('\\') ? Object.entries(JSON.parse(raw)).map(([key, value]) => `${key}: ${value}`).join(' ') : raw);
  return parts.map((part) => (typeof part === 'string' ? part : part === 1 ? shown : part === 0 ? content()
    : said(calls()[part[0]].function.arguments))).join('');
};

/* The conversation as a search sees it. */
const talkOf = (chart, message, told, { own, back: most }) => {
  const { uid, role, turn, tokens } = chart.messages;
  const numbers = told.numbers.flatMap(([first, many]) => Array.from({ length: many }, (_, n) => first + n));
  const names = new Set(own), back = [];
  const rows = uid.map((name, place) => {
    const { tool, time } = message(place);
    const row = { number: numbers[place], place, uid: name, role: role[place], turn: turn[place], length: tokens[place], tool, time: Date.parse(time) / 1000 };
    const caller = back.find(([, at]) => place - at <= most);
    row.caller = caller ? caller[0] : '';
    if (row.role !== 'tool' || tool) back[0] = [tool, place];
    return row;
  });
  const byNumber = new Map(rows.map((row) => [row.number, row]));
  const versionOf = ({ place, role: by, tool }, version) => {
    const { versions, found } = message(place);
    const at = version ? version - 1 : versions.length - 1;
    try {
      return searchable(versions[at], found && found[at], by, tool);
    } catch { // one that cannot be taken apart keeps nobody from finding others
      return versions[at];
    }
  };
  const isOwn = (tool) => names.has(tool);
  /* Of no other time than is asked for. */
  const isIn = ({ time }, { since, until }) => (since === undefined || time >= since) && (until === undefined || time <= until);
  const line = (number) => (told.lines.findLast(([first]) => first <= number) || [0, 0])[1];
  return {
    rows, isOwn, isIn,
    numbers: [...numbers].sort((one, other) => one - other),
    at: (number) => byNumber.get(number),
    textOf: ({ row, version }) => versionOf(row, version),
    versionsOf: ({ place }) => message(place).versions.length,
    isOneLine: (one, other) => line(one) === line(other),
    passes: (row, where) => row.number !== where.without && !isOwn(row.tool) && isIn(row, where)
      && !(row.role === 'tool' && !row.tool && isOwn(row.caller)),
  };
};

const snippetOf = (text, needles) => {
  const low = text.toLowerCase();
  const at = needles.map((each) => low.indexOf(each.toLowerCase())).filter((each) => each >= 0).sort((one, other) => one - other)[0] || 0;
  const from = Math.max(at - 80, 0);
  return `${from ? '…' : ''}${text.slice(from, from + 260)}${from + 260 < text.length ? '…' : ''}`;
};

/* `page_of` of tools/folding.py: without those that only say what a better one says. */
const folded = (talk, hits, most) => {
  const heard = new Set(), shown = [];
  for (const hit of hits) {
    const said = hit.row ? `${hit.row.role}\n${blanksApart(talk.textOf(hit)).join(' ')}` : `summary ${hit.node.uid}`;
    if (!heard.has(said)) shown.push(hit);
    heard.add(said);
    if (shown.length === most) break;
  }
  return shown;
};

/* `spellings` of tools/verbatim.py: as it is, or with an escape undone. */
const ESCAPE = new RegExp(`(?<!${LETTER}|\\\\)\\\\?([nrt])(?=[A-Z])`, 'gu');
const spellings = (literal) => [...new Set([literal, literal.replace(ESCAPE, (_, letter) => ({ n: '\n', r: '\r', t: '\t' })[letter])])];

/* `_scan` of tools/grep.py: every message that holds a text in any version, the newest first; calls of our own tools come last. */
const scanned = (talk, own, plain, text) => {
  const needle = plain(text);
  const found = [];
  for (const row of talk.numbers.map(talk.at).reverse()) {
    const versions = Array.from({ length: talk.versionsOf(row) }, (_, n) => n + 1).reverse();
    const version = versions.find((each) => {
      const said = talk.textOf({ row, version: each });
      return said.includes(text) || plain(said).includes(needle);
    });
    if (version) found.push({ row, version, score: row.number });
  }
  const called = (name) => found.filter(({ row }) => ` ${row.tool} `.includes(` ${name} `));
  return [...new Set([...found.filter(({ row }) => !talk.isOwn(row.tool)), ...own.flatMap(called)])];
};

/* `_whole` of tools/fuzzy.py: a word by its stem, as one of these texts has it. */
const wholeWord = (stem, texts) => {
  const begin = /...[ie]$/u.test(stem) ? stem.slice(0, -1) : stem;
  const pattern = new RegExp(`(?<!${LETTER})${inAnyCase(begin)}${LETTER}*`, 'giu');
  const met = texts.flatMap((text) => text.match(pattern) || []).map((word) => word.toLowerCase());
  return met.reduce((best, word) => (word.length < best.length || (word.length === best.length && word < best) ? word : best), met[0] || stem);
};

const indexed = (chart, message, nodes, told, rule) => {
  const talk = talkOf(chart, message, told, rule);
  const summaries = chart.nodes.map((node) => {
    const { levels = {}, hints = [] } = nodes.get(node.uid) || {};
    return { uid: node.uid, turn: node.turns[0], text: [node.topic, ...hints, Object.values(levels).at(-1) || ''].join('\n') };
  });
  const tongue = tongueOf(rule), plain = plainOf(rule.caseless);
  const ask = asker(rule, tongue);
  const lookup = lookupIn(talk, summaries, tongue, ask, told, rule);
  const byManner = mannerOf(rule.manner);
  const ofThatTime = momentsOf(rule.moments, clockOf(rule.calendar), ask.termsOf);

  /* `_asked_for`: beside words of a script without spaces, Latin ones only rank. */
  const askedFor = (find, words, phrases) => {
    const hits = find(words, phrases);
    const telling = ask.unspaced(words);
    if (!telling.length || telling.length === words.length) return hits;
    const scores = new Map(hits.map((hit) => [hit.row || hit.node, hit.score]));
    return find(telling, []).map((hit) => ({ ...hit, score: scores.has(hit.row || hit.node) ? scores.get(hit.row || hit.node) : hit.score }));
  };
  /* `_ranked`: messages and summaries by their words. */
  const ranked = (words, phrases, where = {}) => {
    const messages = (without) => askedFor((...terms) => lookup.messages(...terms, { ...where, without }), words, phrases);
    let hits = messages(told.asked);
    if (!hits.length && told.asked) hits = messages(0);
    if (!where.isNarrow) hits = [...hits, ...askedFor(lookup.inNodes, words, phrases).map((hit) => ({ ...hit, score: hit.score * rule.node }))];
    return byScore(hits);
  };
  /* `_timely`. */
  const timely = (query, terms, now) => {
    const find = (some, where) => ranked(some.words, [...some.phrases, ...some.pairs], where);
    const hits = verbatim(talk, byManner(talk, find(terms, {}), query, rule), terms, rule.verbatim);
    return ofThatTime(talk, hits, query, terms, find, now);
  };
  /* `_fuzzy`. */
  const nearly = (terms) => {
    const near = repaired(terms.words, lookup.vocabulary(), rule.fuzzy);
    const words = terms.words.flatMap((word) => near.get(word) || [word]);
    const hits = ranked(words, terms.phrases);
    const texts = hits.filter((hit) => hit.row).slice(0, rule.fuzzy.read).map(talk.textOf);
    const read = [...near].map(([word, others]) => [word, [...new Set(others.map((stem) => wholeWord(stem, texts)))]]);
    const notes = read.filter(([word, others]) => !others.includes(word)).map(([word, others]) => `${word}: read as ${others.join(', ')}`);
    return { hits, needles: words, mode: 'fuzzy', note: notes.join('; ') };
  };
  /* `_auto`. */
  const automatic = (query, now) => {
    const terms = ask.termsOf(query);
    const needles = [...terms.phrases, ...terms.words];
    const hits = timely(query, terms, now);
    if (hits.length) return { hits, needles, mode: 'auto', note: '' };
    const literal = stripped(query).replace(/^"+|"+$/g, '') || stripped(query);
    for (const part of spellings(literal)) {
      const found = scanned(talk, rule.own, plain, part);
      if (found.length) return { hits: found, needles: [part], mode: 'exact', note: 'No word matched; found as a part of the text.' };
    }
    return nearly(terms);
  };

  return (query, mode, now = Date.now() / 1000) => {
    const { hits, needles, mode: how, note } = mode === 'exact'
      ? { hits: scanned(talk, rule.own, plain, query), needles: [query], mode, note: '' } : automatic(query, now);
    const shown = how === 'exact' ? hits.slice(0, rule.shown) : folded(talk, hits, rule.shown);
    return {
      total: hits.length, mode: how,
      note: hits.length ? note : `${note ? `${note}. ` : ''}Searched ${count(talk.rows.length, 'message')}: nothing found.`,
      results: shown.map((hit) => (hit.row
        ? { uid: hit.row.uid, kind: 'message', role: hit.row.role, turn: hit.row.turn, score: hit.score, snippet: snippetOf(talk.textOf(hit), needles) }
        : { uid: hit.node.uid, kind: 'node', role: null, turn: hit.node.turn, score: hit.score, snippet: snippetOf(hit.node.text, needles) })),
    };
  };
};
