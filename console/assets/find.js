/* Searching a page that stands alone: BM25 over the whole words of messages and summaries. No stems, no repair. */

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];

const indexed = (chart, message, nodes) => {
  const documents = [];
  for (let n = 0; n < chart.count; n += 1) {
    documents.push({ uid: chart.messages.uid[n], kind: 'message', role: chart.messages.role[n], turn: chart.messages.turn[n],
      text: message(n).versions.join('\n') });
  }
  for (const node of chart.nodes) {
    const said = Object.values((nodes.get(node.uid) || { levels: {} }).levels);
    documents.push({ uid: node.uid, kind: 'node', role: null, turn: node.turns[0], text: [node.topic, said[said.length - 1]].join('. ') });
  }
  const counts = new Map();
  let total = 0;
  documents.forEach((each, at) => {
    const found = wordsOf(each.text);
    each.length = found.length;
    total += found.length;
    for (const word of found) {
      if (!counts.has(word)) counts.set(word, new Map());
      const here = counts.get(word);
      here.set(at, (here.get(at) || 0) + 1);
    }
  });
  const mean = total / Math.max(documents.length, 1);
  return (query, mode) => {
    const scores = new Map();
    if (mode === 'exact') {
      const wanted = query.toLowerCase();
      documents.forEach((each, at) => { if (each.text.toLowerCase().includes(wanted)) scores.set(at, at); });
    } else {
      for (const word of new Set(wordsOf(query))) {
        const here = counts.get(word) || new Map();
        const rare = Math.log(1 + (documents.length - here.size + 0.5) / (here.size + 0.5));
        for (const [at, times] of here) {
          const weight = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * documents[at].length / mean));
          scores.set(at, (scores.get(at) || 0) + rare * weight * (documents[at].kind === 'node' ? 0.5 : 1));
        }
      }
    }
    const best = [...scores].sort((one, other) => other[1] - one[1]);
    const needles = mode === 'exact' ? [query.toLowerCase()] : wordsOf(query);
    return {
      total: best.length,
      results: best.slice(0, 50).map(([at]) => ({ ...documents[at], text: undefined, snippet: snippetOf(documents[at].text, needles) })),
      note: mode === 'exact' ? 'Newest first: every text that holds this string.'
        : 'This file searches for whole words (BM25), without stems and repairs. `hermes lcm search` and the live page rank as the agent does.',
    };
  };
};

const snippetOf = (text, needles) => {
  const low = text.toLowerCase();
  const at = needles.map((each) => low.indexOf(each)).filter((each) => each >= 0).sort((a, b) => a - b)[0] || 0;
  const from = Math.max(at - 80, 0);
  return `${from ? '…' : ''}${text.slice(from, from + 260)}${from + 260 < text.length ? '…' : ''}`;
};
