/* Words of a text as the search index has them: without accents, in lower case, by their stems (Porter, 1980). */

const isVowel = (word, at) => 'aeiou'.includes(word[at]) || (word[at] === 'y' && at > 0 && !isVowel(word, at - 1));
const hasVowel = (word) => [...word].some((_, at) => isVowel(word, at));
const endsTwice = (word) => word.length > 1 && word.at(-1) === word.at(-2) && !isVowel(word, word.length - 1);
const endsShort = (word) => word.length > 2 && !isVowel(word, word.length - 3) && isVowel(word, word.length - 2)
  && !isVowel(word, word.length - 1) && !'wxy'.includes(word.at(-1));

/* How often a vowel is followed by a consonant: what Porter calls m. */
const measure = (word) => {
  let times = 0, before = false;
  for (let at = 0; at < word.length; at += 1) {
    const now = isVowel(word, at);
    if (before && !now) times += 1;
    before = now;
  }
  return times;
};

const endings = (text) => text.split(' ').map((each) => each.split('>'));
const SECOND = endings('ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize '
  + 'ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log');
const THIRD = endings('icate>ic ative> alize>al iciti>ic ical>ic ful> ness>');
const FOURTH = endings('ement> ance> ence> able> ible> ment> ant> ent> ism> ate> iti> ous> ive> ize> al> er> ic> ou> ion>');

/* The first ending that fits, replaced where more than `least` is left before it. */
const replaced = (word, list, least) => {
  const found = list.find(([end]) => word.endsWith(end));
  if (!found) return word;
  const rest = word.slice(0, -found[0].length);
  if (found[0] === 'ion' && !'st'.includes(rest.at(-1) || ' ')) return word;
  return measure(rest) > least ? rest + found[1] : word;
};

const withoutPast = (word) => {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const end = ['ed', 'ing'].find((each) => word.endsWith(each) && hasVowel(word.slice(0, -each.length)));
  if (!end) return word;
  const rest = word.slice(0, -end.length);
  if (['at', 'bl', 'iz'].some((each) => rest.endsWith(each))) return `${rest}e`;
  if (endsTwice(rest) && !'lsz'.includes(rest.at(-1))) return rest.slice(0, -1);
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest;
};

const stemOf = (word) => {
  if (word.length < 3 || word.length > 60) return word;
  let now = word.endsWith('sses') || word.endsWith('ies') ? word.slice(0, -2)
    : word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
  now = withoutPast(now);
  if (now.endsWith('y') && hasVowel(now.slice(0, -1))) now = `${now.slice(0, -1)}i`;
  now = replaced(replaced(replaced(now, SECOND, 0), THIRD, 0), FOURTH, 1);
  if (now.endsWith('e')) {
    const rest = now.slice(0, -1);
    if (measure(rest) > 1 || (measure(rest) === 1 && !endsShort(rest))) now = rest;
  }
  return now.endsWith('ll') && measure(now.slice(0, -1)) > 1 ? now.slice(0, -1) : now;
};

const stems = new Map();
const stemmed = (word) => {
  if (!stems.has(word)) stems.set(word, stemOf(word));
  return stems.get(word);
};

/* Scripts that are written without blanks: each character is a word, as in the index. */
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\u{20000}-\u{3ffff}]/gu;
const CAMEL = /[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*/g;
const partsOf = (name) => name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) || [];

const wordsOf = (text) => text.normalize('NFD').replace(/[\u0300-\u036f]/g, '').normalize('NFC').toLowerCase()
  .replace(UNSPACED, ' $& ').match(/[\p{L}\p{N}\p{M}]+/gu) || [];
const bagOf = (words) => ` ${words.map(stemmed).join(' ')} `;
const bagOfText = (text) => bagOf(wordsOf(`${text}\n${[...new Set(text.match(CAMEL) || [])].flatMap(partsOf).join(' ')}`));
