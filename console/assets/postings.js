/* Which texts hold a term, and where: what the index of the program knows, made from the words that the page holds. */

class Postings {
  /* `textAt`: a function that gives each of so many texts. */
  constructor(count, textAt, tongue) {
    this.names = new Map();
    const ids = [];
    this.starts = new Uint32Array(count + 1);
    for (let at = 0; at < count; at += 1) {
      for (const stem of tongue.stemsOf(tongue.indexable(textAt(at)))) {
        let id = this.names.get(stem);
        if (id === undefined) this.names.set(stem, id = this.names.size);
        ids.push(id);
      }
      this.starts[at + 1] = ids.length;
    }
    this.ids = new Uint32Array(ids);
    this.sort();
  }

  /* The places of each stem, one stem after another. */
  sort() {
    const ends = new Uint32Array(this.names.size + 1);
    for (const id of this.ids) ends[id + 1] += 1;
    for (let id = 0; id < this.names.size; id += 1) ends[id + 1] += ends[id];
    this.first = ends.slice();
    this.places = new Uint32Array(this.ids.length);
    for (let place = 0; place < this.ids.length; place += 1) this.places[ends[this.ids[place]]++] = place;
  }

  get tokens() { return this.ids.length; }

  lengthOf(at) { return this.starts[at + 1] - this.starts[at]; }

  placesOf(id) { return this.places.subarray(this.first[id], this.first[id + 1]); }

  /* For every occurrence of a term the text that holds it, ascending. */
  occurrences(stems) {
    const ids = stems.map((stem) => this.names.get(stem));
    if (!ids.length || ids.includes(undefined)) return [];
    const rare = ids.reduce((best, id, n) => (this.placesOf(id).length < this.placesOf(ids[best]).length ? n : best), 0);
    const found = [];
    let at = 0;
    for (const place of this.placesOf(ids[rare])) {
      while (this.starts[at + 1] <= place) at += 1;
      const begin = place - rare;
      const fits = begin >= this.starts[at] && begin + ids.length <= this.starts[at + 1];
      if (fits && ids.every((id, n) => this.ids[begin + n] === id)) found.push(at);
    }
    return found;
  }
}

/* SQLite's bm25(), with its constants: [text, worth] of all that hold any of the terms. `others`: what the index holds beside these
   texts: rows, tokens, and how many of those rows hold a term. */
const bm25 = (postings, terms, others) => {
  const count = postings.starts.length - 1;
  const rows = count + others.rows;
  const mean = (postings.tokens + others.tokens) / rows;
  const worth = new Map();
  for (const { stems } of terms) {
    const times = timesOf(postings.occurrences(stems));
    const holders = times.size + others.holding(stems);
    let rare = Math.log((rows - holders + 0.5) / (holders + 0.5));
    if (rare <= 0) rare = 1e-6;
    for (const [at, often] of times) {
      const score = rare * ((often * 2.2) / (often + 1.2 * (1 - 0.75 + 0.75 * postings.lengthOf(at) / mean)));
      worth.set(at, (worth.get(at) || 0) + score);
    }
  }
  return [...worth];
};

const timesOf = (list) => {
  const times = new Map();
  for (const each of list) times.set(each, (times.get(each) || 0) + 1);
  return times;
};
