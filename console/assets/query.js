/* A question as search terms: `terms_of` of tools/query.py, and what storage/fts_terms.py and storage/text.py make of them. */

const LETTER = '[\\p{L}\\p{N}_]';
const MARK = '(?=[\\u0300-\\u1dff])[\\p{Mn}\\p{Mc}]';
const SPELT = `(?:${LETTER}|${MARK})`;
const PHRASE = /"([^"]{2,})"/gu;
const WORD = new RegExp(`${SPELT}(?:${LETTER}|${MARK}|[.\\-/:@+#])*${SPELT}|${LETTER}`, 'gu');
const PIECE = new RegExp(`${SPELT}+`, 'gu');
const NAME = new RegExp(`${LETTER}_${LETTER}|[a-z][A-Z]`, 'u');
const JOINED = /[./:@+#\p{Nd}]/u;
const IN_PHRASE = new RegExp(`(?:[\\p{L}\\p{N}]|${MARK})+`, 'gu');

/* Neighbouring values, two at a time. */
const pairwise = (list) => list.slice(1).map((each, at) => [list[at], each]);
const firstOf = (terms, most) => [...new Set(terms)].slice(0, most);

const asker = ({ stop: words, unspaced, camel, most_terms: most, beginning: [longest, same] }, { indexable, stemsOf }) => {
  const stop = new Set(words);
  const single = new RegExp(`[${unspaced}]`, 'u');
  const run = new RegExp(`[${unspaced}]+|[^${unspaced}]+`, 'gu');
  const isUnspaced = (word) => single.test(word);

  const pairsOf = (word) => {
    const letters = [...word];
    return letters.length > 1 ? pairwise(letters).map((two) => two.join('')) : [word];
  };
  const inParts = (word) => (word.match(run) || []).flatMap((some) => (isUnspaced(some) ? pairsOf(some) : [some]));
  const inWords = (name) => {
    const parts = partsOf(name, camel[0]).map((part) => part.toLowerCase());
    while (parts.length && stop.has(parts[0])) parts.shift();
    return parts.length > 1 ? [parts.join(' ')] : [];
  };

  const termsOf = (question) => {
    const phrases = [...question.matchAll(PHRASE)].map((found) => stripped(found[1]));
    const said = [], names = [];
    for (const found of question.replace(PHRASE, ' ').match(WORD) || []) {
      const pieces = found.match(PIECE) || [];
      if (pieces.length > 1) {
        phrases.push(found);
        if (JOINED.test(found)) names.push(found);
      }
      for (const piece of pieces) {
        phrases.push(...inWords(piece));
        if (NAME.test(piece)) names.push(piece);
        const parts = inParts(piece.toLowerCase());
        if (parts.length > 1) phrases.push(piece);
        said.push(...parts);
      }
    }
    const telling = said.filter((word) => !stop.has(word));
    const pairs = pairwise(said.map((word) => (isUnspaced(word) ? '' : word)))
      .filter(([one, other]) => one && other && !stop.has(one) && !stop.has(other)).map((two) => two.join(' '));
    return { words: firstOf(telling.length ? telling : said, most), phrases: firstOf(phrases, most), pairs: firstOf(pairs, most),
      names: firstOf(names, most) };
  };

  /* `beginning` of storage/text.py. */
  const beginning = (phrase) => {
    const met = new Map();
    let end = 0, at = 0;
    for (const found of phrase.matchAll(IN_PHRASE)) {
      const word = found[0].toLowerCase();
      met.set(word, (met.get(word) || 0) + 1);
      if (at === longest || met.get(word) > same) return phrase.slice(0, end);
      end = found.index + found[0].length;
      at += 1;
    }
    return phrase;
  };

  /* A term as the index is asked for it, `expression` of storage/fts_terms.py: its text and its stems; null if there is no word in it. */
  const expression = (term) => {
    const text = beginning(stripped(indexable(term)));
    return new RegExp(LETTER, 'u').test(text) ? { text, stems: stemsOf(text) } : null;
  };

  return { termsOf, expression, unspaced: (list) => list.filter(isUnspaced) };
};
