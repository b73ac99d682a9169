/* Words of a text as the search index has them (storage/text.py, and SQLite's `porter unicode61`). What becomes of a character
   that is no ASCII, the index itself has said (`rule.letters`): its tables are older than a browser's. */

/* As Python takes blanks. */
const BLANK = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+';
const atEnd = new RegExp(`${BLANK}$`, 'u'), atStart = new RegExp(`^${BLANK}`, 'u'), between = new RegExp(BLANK, 'u');
const stripped = (text) => text.replace(atStart, '').replace(atEnd, '');
const blanksApart = (text) => stripped(text).split(between).filter(Boolean);

/* SQLite's Porter. It works on bytes: of a letter that is no ASCII each byte is a consonant. */
const isVowel = (letter, afterConsonant) => 'aeiou'.includes(letter) || (afterConsonant && letter === 'y');
const hasVowel = (word, end) => {
  for (let at = 0; at < end; at += 1) if (isVowel(word[at], at > 0)) return true;
  return false;
};

/* Where the first consonant behind a vowel ends, from a place on; 0 where there is none. */
const behindVowel = (word, from, end, afterConsonant) => {
  let consonant = afterConsonant, seen = false;
  for (let at = from; at < end; at += 1) {
    consonant = !isVowel(word[at], consonant);
    if (seen && consonant) return at + 1;
    seen = seen || !consonant;
  }
  return 0;
};

/* Whether that happens more than `least` times before `end`: what Porter calls m. */
const measures = (word, end, least) => {
  const first = behindVowel(word, 0, end, false);
  return first > 0 && (least === 0 || behindVowel(word, first, end, true) > 0);
};
const isOnce = (word, end) => measures(word, end, 0) && !measures(word, end, 1);
const endsShort = (word, end) => {
  if ('wxy'.includes(word[end - 1])) return false;
  let consonant = false, kinds = '';
  for (let at = 0; at < end; at += 1) kinds += (consonant = !isVowel(word[at], consonant)) ? 'c' : 'v';
  return kinds.endsWith('cvc');
};

const endings = (text) => text.split(' ').map((each) => each.split('>'));
const SECOND = endings('ational>ate tional>tion enci>ence anci>ance izer>ize logi>log bli>ble alli>al entli>ent eli>e ousli>ous ization>ize '
  + 'ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble');
const THIRD = endings('ical>ic ness> icate>ic iciti>ic ful> ative> alize>al');
const FOURTH = endings('al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ion> ou> ism> ate> iti> ous> ive> ize>');

/* The first ending that fits, replaced where more than `least` is left before it. */
const replaced = (word, list, least) => {
  const found = list.find(([end]) => word.length > end.length && word.endsWith(end));
  if (!found) return word;
  const left = word.length - found[0].length;
  if (found[0] === 'ion' && !'st'.includes(word[left - 1])) return word;
  return measures(word, left, least) ? word.slice(0, left) + found[1] : word;
};

const withoutPlural = (word) => {
  if (!word.endsWith('s')) return word;
  if (word.at(-2) !== 'e') return word.at(-2) === 's' ? word : word.slice(0, -1);
  const isLong = (word.length > 4 && word.at(-4) === 's' && word.at(-3) === 's') || (word.length > 3 && word.at(-3) === 'i');
  return word.slice(0, isLong ? -2 : -1);
};

const withoutPast = (word) => {
  if (word.length > 3 && word.endsWith('eed')) return measures(word, word.length - 3, 0) ? word.slice(0, -1) : word;
  const end = ['ed', 'ing'].find((each) => word.length > each.length && word.endsWith(each));
  if (!end || !hasVowel(word, word.length - end.length)) return word;
  const rest = word.slice(0, -end.length);
  if (rest.length > 2 && ['at', 'bl', 'iz'].some((each) => rest.endsWith(each))) return `${rest}e`;
  if (!'aeioulsz'.includes(rest.at(-1)) && rest.at(-1) === rest.at(-2)) return rest.slice(0, -1);
  return isOnce(rest, rest.length) && endsShort(rest, rest.length) ? `${rest}e` : rest;
};

const stemOf = (word) => {
  if (word.length < 3 || word.length > 64) return word;
  let now = withoutPast(withoutPlural(word));
  if (now.endsWith('y') && hasVowel(now, now.length - 1)) now = `${now.slice(0, -1)}i`;
  now = replaced(replaced(replaced(now, SECOND, 0), THIRD, 0), FOURTH, 1);
  const last = now.length - 1;
  if (now.endsWith('e') && (measures(now, last, 1) || (isOnce(now, last) && !endsShort(now, last)))) now = now.slice(0, -1);
  return now.endsWith('ll') && measures(now, now.length - 1, 1) ? now.slice(0, -1) : now;
};

const NO_ASCII = /[^\x00-\x7f]/;
const bytesOf = (word) => String.fromCharCode(...new TextEncoder().encode(word));
const textOf = (bytes) => new TextDecoder().decode(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)));
const stems = new Map();
const stemmed = (word) => {
  if (word.length > 64) return word;
  let stem = stems.get(word);
  if (stem === undefined) {
    stem = NO_ASCII.test(word) ? textOf(stemOf(bytesOf(word))) : stemOf(word);
    stems.set(word, stem);
  }
  return stem;
};

/* Names in camel case that a text holds, each once, and their words: `_camels` and `parts_of` of storage/text.py. */
const CAMEL = /^[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*$/;
const partsOf = (name, most) => (CAMEL.test(name) && name.length <= most
  ? (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) || []).filter((part) => part.length > 1) : []);
const camelsOf = (text, [longest, most, humps]) => {
  const names = new Set();
  let end = 0, seen = 0;
  for (const { index } of text.matchAll(/(?<=[a-z])[A-Z]/g)) {
    if (seen === humps || names.size === most) break;
    seen += 1;
    if (index < end) continue;
    const [before] = text.slice(Math.max(index - longest, end), index).match(/[A-Za-z0-9]+$/);
    const [after] = text.slice(index, index + longest).match(/^[A-Za-z0-9]+/);
    end = index + after.length;
    names.add(before + after);
  }
  return names;
};

/* What becomes of letters, from runs of them: console/letters.py. */
const lettersOf = (runs) => new Map(runs.flatMap(([first, many, step, become]) => Array.from({ length: many }, (_, n) => {
  const code = first + n * step;
  return [String.fromCodePoint(code), typeof become === 'string' ? become : String.fromCodePoint(code + become)];
})));

/* Letters without regard to case, `_plain` of tools/patterns.py. */
const plainOf = (runs) => {
  const folded = lettersOf(runs);
  const changing = new RegExp(`[${[...folded.keys()].join('')}]`, 'gu');
  return (text) => {
    const small = NO_ASCII.test(text) ? text.normalize('NFC').toLowerCase() : text.toLowerCase();
    return NO_ASCII.test(small) ? small.replace(changing, (letter) => folded.get(letter)) : small;
  };
};

/* A text for a pattern that knows no case, as Python's does: there i is one letter, with a dot or without. */
const inAnyCase = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/[Ii\u0130\u0131]/g, '[Ii\u0130\u0131]');

/* How the index takes a text, and parts it into words. */
const tongueOf = ({ letters, unspaced, camel }) => {
  const single = new RegExp(`[${unspaced}]`, 'gu');
  const known = lettersOf(letters);
  const letterOf = (letter) => (known.has(letter) ? known.get(letter) : letter);
  const indexable = (text) => {
    const spaced = NO_ASCII.test(text) ? text.replace(single, ' $& ') : text;
    const parts = new Set([...camelsOf(spaced, camel)].flatMap((name) => partsOf(name, camel[0])));
    return parts.size ? `${spaced}\n${[...parts].join(' ')}` : spaced;
  };
  const wordsOf = (spelt) => {
    if (!NO_ASCII.test(spelt)) return spelt.toLowerCase().match(/[a-z0-9]+/g) || [];
    const told = spelt.replace(/[A-Z]+/g, (some) => some.toLowerCase()).replace(/[^\x00-\x7f]/gu, letterOf);
    return told.match(/[a-z0-9\u0080-\u{10ffff}]+/gu) || [];
  };
  return { indexable, stemsOf: (spelt) => wordsOf(spelt).map(stemmed) };
};
