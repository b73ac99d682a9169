/* What the best results are read for: tools/manner.py, tools/verbatim.py and tools/moments.py, by their patterns and figures. */

const byScore = (hits) => hits.toSorted((one, other) => other.score - one.score);
const raised = (hits, isRaised, times) => hits.map((hit) => (isRaised(hit) ? { ...hit, score: hit.score * times } : hit));
const lettersIn = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g) || []).length;

const mannerOf = (rule) => {
  const [aside, sentence, speaker, opening, time, when] = ['aside', 'sentence', 'speaker', 'opening', 'time', 'when']
    .map((name) => new RegExp(rule[name], 'u'));
  const isAsking = (text) => rule.marks.some((mark) => text.endsWith(mark));
  const endsOf = (text) => {
    const most = rule.looked;
    if (text.length <= 2 * most) return text;
    const letters = [...text];
    return letters.length <= 2 * most ? text : `${letters.slice(0, most).join('')}\n${letters.slice(-most).join('')}`;
  };
  const shareOfQuestions = (text) => {
    const sentences = stripped(text.replace(aside, '')).split(sentence);
    const asking = sum(sentences.filter(isAsking).map(lettersIn));
    return asking / Math.max(sum(sentences.map(lettersIn)), 1);
  };
  const weightFor = ({ role, ends }, asked, wantsTime) => {
    let worth = 1;
    if (role === 'assistant') worth -= rule.asks * shareOfQuestions(ends);
    const said = ends.match(speaker);
    if (said && blanksApart((said[1] || said[2]).toLowerCase()).some((word) => asked.has(word))) worth *= rule.speaks;
    if (wantsTime && time.test(ends)) worth *= rule.dated;
    if (role === 'user' && opening.test(ends)) worth *= rule.opens;
    return worth;
  };

  /* What those are worth that another's question stands before: no less than it, but for the user's voice. */
  const answersIn = (read, talk, figures) => {
    const numbers = new Map(read.map((each) => [each.number, each]));
    const voice = kindOf(read, figures).voice;
    const found = new Map();
    for (const each of read) {
      const before = numbers.get(each.number - 1);
      if (!before || before.role === each.role || !talk.isOneLine(before.number, each.number)) continue;
      if (!isAsking(before.ends.replace(aside, '').replace(atEnd, ''))) continue;
      const [asked, own] = [before, each].map((one) => (one.role === 'user' ? voice : 1));
      found.set(each.number, Math.max(each.hit.score, before.hit.score * own / asked));
    }
    return found;
  };

  /* `by_manner`. */
  return (talk, hits, question, figures) => {
    const read = hits.filter((hit) => hit.row).slice(0, rule.read).map((hit) => {
      const text = talk.textOf(hit);
      return { hit, number: hit.row.number, role: hit.row.role, length: lettersIn(text), ends: endsOf(text) };
    });
    const answers = answersIn(read, talk, figures);
    const asked = new Set((question.match(IN_PHRASE) || []).map((word) => word.toLowerCase()));
    const wantsTime = when.test(question);
    const worth = new Map(read.map((each) => [each.hit,
      (answers.has(each.number) ? answers.get(each.number) : each.hit.score) * weightFor(each, asked, wantsTime)]));
    return byScore(hits.map((hit) => (worth.has(hit) ? { ...hit, score: worth.get(hit) } : hit)));
  };
};

/* `verbatim`: with a name of the question in them, as it is written there, they count more. */
const verbatim = (talk, hits, terms, rule) => {
  if (!terms.names.length || !hits.length) return hits;
  const either = terms.names.map(inAnyCase).join('|');
  const name = new RegExp(`(?<!${LETTER})(?:${either})(?!${LETTER})`, 'iu');
  const holding = new Set();
  let size = 0;
  const messages = hits.filter((hit) => hit.row);
  for (let start = 0; start < messages.length && size <= rule.enough; start += rule.batch) {
    for (const hit of messages.slice(start, start + rule.batch)) {
      const text = talk.textOf(hit);
      size += text.length;
      if (name.test(text)) holding.add(hit);
    }
  }
  const inside = terms.names.join(' ').toLowerCase();
  const share = terms.words.filter((word) => inside.includes(word)).length / terms.words.length;
  const gain = Math.max(...hits.map((hit) => hit.score)) * share;
  return byScore(hits.map((hit) => (holding.has(hit) ? { ...hit, score: hit.score + gain } : hit)));
};

/* `of_that_time`: what is of a time that the question names, or on that side of an event, counts more. */
const momentsOf = (rule, spansIn, termsOf) => {
  const event = new RegExp(rule.event, 'u');
  const byCalendar = (hits, spans, find, terms) => {
    const then = new Set(spans.slice(0, rule.most_times).flatMap(({ first, last }) => find(terms, { since: first, until: last, isNarrow: true })
      .map((hit) => hit.row.number)));
    return then.size ? [raised(hits, (hit) => hit.row && then.has(hit.row.number), rule.of_that_time), true] : [hits, false];
  };
  const byEvent = (talk, hits, { what, before }, find) => {
    const terms = termsOf(what);
    const best = find(terms, {}).find((hit) => hit.row);
    if (!best) return hits;
    const text = talk.textOf(best).toLowerCase();
    const holding = terms.words.filter((word) => text.includes([...word].slice(0, rule.letters).join(''))).length;
    if (holding < rule.enough_words * terms.words.length) return hits;
    const at = best.row.number;
    return raised(hits, ({ row }) => row && (before === undefined ? row.number >= at : row.number <= at), rule.on_that_side);
  };
  return (talk, hits, question, terms, find, now) => {
    if (!hits.length) return hits;
    const spans = spansIn(question, now);
    const [told, isNamed] = byCalendar(hits, spans, find, terms);
    const found = isNamed || spans.length || lettersIn(question) > rule.longest_question ? null : question.match(event);
    return byScore(found ? byEvent(talk, told, found.groups, find) : told);
  };
};
