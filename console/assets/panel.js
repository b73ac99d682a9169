/* What is chosen, in words. Everything from a conversation goes in as text, never as markup. */

const make = (tag, attributes = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value); else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
};

const count = (number, noun) => `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
const turnsOf = ([first, last]) => (first === last ? `turn ${first}` : `turns ${first}–${last}`);

/* One sentence for the line that is read aloud, and for the head of the panel. */
const sentence = (chart, graph, thing) => {
  if (thing.lane < 0) {
    const { role, turn, tokens, withdrawn } = chart.messages;
    const how = graph.parts.has(thing.index) ? 'by head and tail' : 'word for word';
    const where = withdrawn[thing.index] ? 'withdrawn' : graph.isLit(thing.index) ? `in the context ${how}` : 'replaced by a summary';
    return `Message ${thing.uid.slice(0, 8)}, ${role[thing.index]}, turn ${turn[thing.index]}, ${count(tokens[thing.index], 'token')}, ${where}`;
  }
  const shown = thing.shown_at === null ? 'not in the context' : `shown in the context at up to ${thing.shown_at} tokens`;
  return `Summary ${thing.uid.slice(0, 8)}, depth ${thing.depth}, ${turnsOf(thing.turns)}, ${count(thing.messages, 'message')} of `
    + `${count(thing.tokens, 'token')}, ${shown}${thing.degraded ? ', extracted without a model' : ''}`;
};

class Panel {
  constructor(place, page) {
    Object.assign(this, { place, page, shows: null });
  }

  /* Nothing is chosen: how to choose. */
  clear() {
    this.shows = null;
    this.place.replaceChildren(make('p', { class: 'dim' }, 'Click a bar. Of a summary this shows what it says at each size, and every message under it, '
      + 'word for word; of a message, all of it. A click on the curve opens the turn under it. The colours are named above the graph.'));
  }

  async show(thing) {
    this.shows = thing;
    const { chart, graph } = this.page;
    const head = [make('h2', {}, thing.topic || `${thing.lane < 0 ? 'Message' : 'Summary'} ${thing.uid.slice(0, 8)}`),
      make('p', { class: 'dim' }, `${sentence(chart, graph, thing)}.`)];
    const filled = thing.lane < 0 ? await this.ofMessage(thing) : await this.ofNode(thing);
    if (this.shows === thing) this.place.replaceChildren(...head, ...filled);
  }

  link(thing, words) {
    return make('button', { type: 'button', class: 'plain', onclick: () => this.page.choose(thing, true) }, words);
  }

  async ofMessage(thing) {
    const over = this.page.graph.over(thing);
    const above = over ? [make('p', {}, 'Under ', this.link(over, `${over.uid.slice(0, 8)} ${over.topic}`))] : [];
    return [...above, ...await this.articles([[thing.index, 0]])];
  }

  async ofNode(node) {
    const { origin, chart, graph } = this.page;
    const found = await origin.node(chart.session, node.uid);
    const levels = Object.entries(found.levels).sort(([one], [other]) => one - other);
    const open = String(node.shown_at === null ? found.sufficient : node.shown_at);
    const texts = levels.map(([level, text]) => make('details', level === open ? { open: '' } : {},
      make('summary', {}, `at up to ${count(Number(level), 'token')}${Number(level) === node.shown_at ? ' (shown now)' : ''}`
        + `${Number(level) === found.sufficient ? ' (suffices)' : ''}`), make('pre', {}, text)));
    const over = graph.over(node);
    const below = found.nodes.map((uid) => this.page.things.get(uid)).filter(Boolean);
    return [
      make('p', { class: 'dim' }, `Made ${node.made}${found.degraded ? `; ${found.degraded}` : ''}`),
      ...(over ? [make('p', {}, 'Under ', this.link(over, `${over.uid.slice(0, 8)} ${over.topic}`))] : []),
      make('h3', {}, 'What it says'), ...texts,
      ...(found.hints.length ? [make('h3', {}, 'What one can ask for'), make('ul', {}, ...found.hints.map((hint) => make('li', {},
        make('button', { type: 'button', class: 'plain', onclick: () => this.page.find(hint) }, hint))))] : []),
      ...(below.length ? [make('h3', {}, 'Made of'), make('ul', {}, ...below.map((each) => make('li', {},
        this.link(each, `${each.uid.slice(0, 8)} ${turnsOf(each.turns)}: ${each.topic}`))))] : []),
      make('h3', {}, 'Word for word'), ...await this.verbatim(this.leaves(found), node.messages),
    ];
  }

  /* The messages under a summary, at any depth, one after another as they are wanted: [place, version]. */
  async* leaves(found) {
    const { origin, chart, things } = this.page;
    const parts = [...found.nodes.map((uid) => ({ uid, at: things.has(uid) ? things.get(uid).span[0] : 0 })),
      ...found.messages.filter(([uid]) => things.has(uid)).map(([uid, version]) => ({ version, at: things.get(uid).index }))];
    for (const part of parts.sort((one, other) => one.at - other.at)) {
      if (part.uid) yield* this.leaves(await origin.node(chart.session, part.uid)); else yield [part.at, part.version];
    }
  }

  async verbatim(leaves, left) {
    const some = [];
    while (some.length < 20) {
      const { value, done } = await leaves.next();
      if (done) return this.articles(some);
      some.push(value);
    }
    const shown = await this.articles(some);
    if (left <= some.length) return shown;
    const more = make('button', { type: 'button', onclick: async () => more.replaceWith(...await this.verbatim(leaves, left - some.length)) },
      `${count(left - some.length, 'message')} more`);
    return [...shown, more];
  }

  async articles(leaves) {
    const { origin, chart, graph } = this.page;
    if (!leaves.length) return [];
    const places = leaves.map(([place]) => place);
    const [first, last] = [Math.min(...places), Math.max(...places)];
    const answers = new Map();
    for (let at = first; at <= last; at += PART) {
      if (!places.some((place) => place >= at && place < at + PART)) continue;
      const { messages } = await origin.messages(chart, at, Math.min(at + PART - 1, last));
      messages.forEach((each, n) => answers.set(at + n, each));
    }
    return leaves.map(([place, version]) => this.article(place, version, answers.get(place), graph.hits));
  }

  article(place, version, message, hits) {
    const { role, turn, withdrawn } = this.page.chart.messages;
    const all = message.versions.length;
    const said = message.versions[(version || all) - 1];
    const marks = [`turn ${turn[place]}`, message.time || '', ...(withdrawn[place] ? ['withdrawn'] : []),
      ...(all > 1 ? [`version ${version || all} of ${all}`] : []), ...message.names.filter((name) => name.includes(':'))];
    return make('article', { 'data-uid': message.uid, class: hits.has(message.uid) ? 'found' : null },
      make('p', { class: 'dim' }, this.link(this.page.things.get(message.uid), message.uid.slice(0, 8)),
        ` ${role[place]}${message.tool ? ` ${message.tool}` : ''}, ${marks.filter(Boolean).join(', ')}`), make('pre', {}, said || '(nothing)'));
  }
}
