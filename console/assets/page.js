/* The page: loads the chart, keeps it fresh, and ties graph, curve, panel, search and keys together. */

const $ = (id) => document.getElementById(id);
const EVERY = 1000; // milliseconds between two looks at a conversation that may go on
const SELDOM = 10; // looks between two at the list of conversations

/* Only where it is not said already: a screen reader would read it again every second. */
const tellIn = (id, words) => { if ($(id).textContent !== words) $(id).textContent = words; };

const LEGEND = [['lit', 'summary in the context'], ['unlit', 'other summary'], ['user', 'user'], ['assistant', 'assistant'], ['tool', 'tool'],
  ['hit', 'found']];

/* How a search went, in words: how many were found and in which order, or where in vain and what to try next. */
const BY_TIME = ['exact', 'regex'];
const notedOn = ({ total, results, note, mode }, asked) => {
  if (!total) return `${note} Try other words${asked === 'exact' ? '' : ', or "exact" for a part of a word'}.`.trim();
  const some = results.length < total ? `, ${results.length} of them shown` : '';
  return [`${count(total, 'result')}${some}, ${BY_TIME.includes(mode) ? 'newest' : 'best'} first.`, ended(note)].filter(Boolean).join(' ');
};
const ended = (note) => (note && !/[.?!]$/.test(note) ? `${note}.` : note);

class Page {
  constructor(origin) {
    Object.assign(this, { origin, chart: null, things: new Map(), found: [], at: -1 });
    this.hover = new Hover($('hover'));
    this.curve = new Curve($('curve'), () => $('scroll').clientWidth, (index) => this.choose(this.graph.message(index)), this.hover);
    this.graph = new Graph($('graph'), $('scroll'), $('length'), (thing) => this.choose(thing), (from, to) => this.curve.shows(from, to));
    this.panel = new Panel($('detail'), this);
    $('mode').append(...origin.modes.map(([name, words]) => make('option', { value: name }, words)));
    $('legend').append(...LEGEND.map(([name, words]) => make('span', {}, make('b', { class: name }), words)),
      make('span', { class: 'apart' }, 'Pale: not in the context; pale on top: by head and tail. ≈: extracted without a model. Dashed: a compaction.'));
    this.listen();
  }

  listen() {
    $('search').addEventListener('submit', (event) => { event.preventDefault(); this.find($('query').value); $('graph').focus(); });
    $('query').addEventListener('input', () => { if (!$('query').value) this.find(''); });
    $('query').addEventListener('keydown', (event) => { if (event.key === 'Escape') $('graph').focus(); });
    $('closer').addEventListener('click', () => this.graph.zoom(1.5));
    $('further').addEventListener('click', () => this.graph.zoom(1 / 1.5));
    $('whole').addEventListener('click', () => this.graph.whole());
    $('newest').addEventListener('click', () => this.graph.end());
    $('sessions').addEventListener('change', () => this.open($('sessions').value));
    $('outline').addEventListener('toggle', () => this.list());
    $('graph').addEventListener('keydown', (event) => this.pressed(event));
    $('graph').addEventListener('pointermove', (event) => this.pointed(event));
    $('graph').addEventListener('pointerleave', () => this.hover.hide());
    document.addEventListener('keydown', (event) => {
      const typing = ['INPUT', 'SELECT', 'TEXTAREA'].includes(document.activeElement.tagName);
      if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === '/') { event.preventDefault(); $('query').focus(); }
      if (event.key === 'n' || event.key === 'p') this.next(event.key === 'n' ? 1 : -1);
    });
  }

  async start() {
    let chosen = await this.listed();
    while (!chosen && this.origin.live) {
      $('state').textContent = 'No conversation yet: it begins with the first turn.';
      await new Promise((done) => { setTimeout(done, EVERY); });
      chosen = await this.listed();
    }
    await this.open(chosen);
    if (this.origin.live) this.look();
  }

  /* The conversations to choose from, the chosen one kept; gives the one last used. */
  async listed() {
    const { sessions, chosen } = await this.origin.sessions();
    const kept = $('sessions').value || chosen;
    $('sessions').replaceChildren(...sessions.map(({ session, messages }) => make('option', { value: session },
      messages === undefined ? session : `${session} (${count(messages, 'message')})`)));
    if (kept) $('sessions').value = kept;
    return chosen;
  }

  async open(session) {
    this.graph.chosen = null;
    this.graph.fresh = true;
    this.panel.clear();
    this.clear();
    this.take(await this.origin.chart(session, {}));
  }

  /* Again and again: what is new, and only that; now and then which conversations there are. */
  async look(times = 1) {
    const { chart } = this;
    try {
      if (times % SELDOM === 0 && !document.hidden && document.activeElement !== $('sessions')) await this.listed();
      const known = { count: chart.count, mark: chart.mark, revision: chart.revision, over: chart.over };
      const answer = document.hidden ? { same: true } : await this.origin.chart(chart.session, known);
      if (!answer.same && this.chart === chart) this.take(answer);
      this.lost = '';
    } catch (error) { this.lost = ` · no answer: ${error.message}`; }
    this.tell();
    setTimeout(() => this.look(times + 1), EVERY);
  }

  take(chart) {
    const isListed = chart.nodes === null; // the summaries are those that the list has
    chart.nodes = chart.nodes || this.chart.nodes;
    if (chart.start) {
      for (const [name, values] of Object.entries(this.chart.messages)) {
        chart.messages[name] = values.slice(0, chart.start).concat(chart.messages[name]);
      }
    }
    this.chart = chart;
    this.things = new Map(chart.nodes.map((node) => [node.uid, node]));
    chart.messages.uid.forEach((uid, index) => this.things.set(uid, { uid, index, span: [index, index], lane: -1 }));
    this.graph.load(chart);
    if (this.graph.chosen) this.graph.chosen = this.things.get(this.graph.chosen.uid) || null;
    this.curve.load(chart);
    this.tell();
    if (!isListed) this.list();
  }

  tell() {
    const { chart } = this;
    const { present, passes } = chart;
    const saved = passes.reduce((sum, each) => sum + each.tokens[0] - each.tokens[1], 0);
    tellIn('state', `${count(chart.count, 'message')}, ${count(chart.nodes.length, 'summary').replace(/summarys$/, 'summaries')}, `
      + `about ${count(present.tokens, 'token')} in the context${this.origin.live ? ' · live' : ''}${this.lost || ''}`);
    tellIn('said', passes.length
      ? `Tokens of the list as lcm counts them, without system prompt and tools. Dashed: ${count(passes.length, 'compaction')}, which took out `
        + `${count(saved, 'token')}; the last at ${passes[passes.length - 1].time}.`
      : 'Tokens of the list as lcm counts them, without system prompt and tools. Nothing was compacted yet.');
    tellIn('seen', present.seen ? '' : 'In the context: what the last compaction gave. No list of the host\'s has shown it yet.');
  }

  async choose(thing, open = true) {
    if (!thing) return;
    this.graph.chosen = thing;
    this.graph.show(thing.span);
    $('spoken').textContent = sentence(this.chart, this.graph, thing);
    if (open) await this.panel.show(thing);
  }

  /* What is under the pointer: of a summary its topic, of a message how it begins, for which the page asks. */
  pointed(event) {
    const thing = this.graph.at(event);
    if (!thing) { this.hover.hide(); return; }
    const more = thing.lane < 0 ? () => this.beginning(thing) : null;
    this.hover.say(event, thing.uid, [...(thing.topic ? [opening(thing.topic)] : []), sentence(this.chart, this.graph, thing)], more);
  }

  async beginning({ index }) {
    const { messages: [message] } = await this.origin.messages(this.chart, index, index);
    return opening(message.versions.at(-1) || '');
  }

  pressed(event) {
    const { graph } = this;
    const now = graph.chosen || (this.chart.count ? graph.message(this.chart.count - 1) : null);
    const moves = {
      ArrowLeft: () => graph.beside(now, -1), ArrowRight: () => graph.beside(now, 1),
      ArrowUp: () => graph.over(now), ArrowDown: () => (now.lane < 0 ? null : graph.under(now)),
      Home: () => graph.message(0), End: () => graph.message(this.chart.count - 1),
    };
    if (!now) return;
    if (moves[event.key]) this.choose(graph.chosen ? moves[event.key]() : now, false);
    else if (event.key === 'Enter') this.choose(now).then(() => $('detail').focus());
    else if (event.key === '+' || event.key === '-') graph.zoom(event.key === '+' ? 1.5 : 1 / 1.5);
    else return;
    event.preventDefault();
  }

  /* No search: nothing is lit, listed or said. */
  clear() {
    Object.assign(this, { found: [], at: -1, asked: null });
    this.graph.hits = new Set();
    $('hits').hidden = true;
    for (const id of ['note', 'list', 'spoken']) $(id).replaceChildren();
    this.graph.draw();
  }

  async find(query) {
    $('query').value = query;
    this.clear();
    if (!query.trim() || !this.chart) return;
    const mode = $('mode').value;
    const asked = this.asked = {};
    const answer = await this.origin.search(this.chart.session, query, mode).catch((error) => ({ results: [], failed: error.message }));
    if (this.asked !== asked) return; // something else is looked for meanwhile, or nothing
    this.found = answer.results.filter((each) => this.things.has(each.uid));
    this.graph.hits = new Set(this.found.map((each) => each.uid));
    $('hits').hidden = false;
    $('note').textContent = answer.failed || notedOn({ ...answer, results: this.found }, mode);
    $('list').replaceChildren(...this.found.map((each, n) => make('li', {}, make('button', { type: 'button', class: 'plain',
      onclick: () => this.hit(n) }, make('mark', {}, each.uid.slice(0, 8)), ` ${this.who(each)}: ${each.snippet}`))));
    $('spoken').textContent = $('note').textContent;
    this.graph.draw();
  }

  /* Who said what was found, and when; and whether it is not what was said. */
  who({ uid, role, turn, damaged }) {
    const { turns } = this.things.get(uid);
    return turns ? `summary, ${turnsOf(turns)}` : `${role}, turn ${turn}${damaged ? `, ${damaged}` : ''}`;
  }

  hit(number) { this.at = number; this.choose(this.things.get(this.found[number].uid)); }

  next(step) { if (this.found.length) this.hit((this.at + step + this.found.length) % this.found.length); }

  /* The same without a picture. */
  list() {
    if (!$('outline').open || !this.chart) return;
    const below = new Set(this.chart.nodes.flatMap((node) => node.sources));
    const at = $('tree').contains(document.activeElement) ? document.activeElement.dataset.uid : '';
    const branch = (node) => make('li', {}, make('button', { type: 'button', class: 'plain', 'data-uid': node.uid, onclick: () => this.choose(node) },
      `${node.uid.slice(0, 8)} ${turnsOf(node.turns)}: ${node.topic}`), node.shown_at === null ? '' : make('span', { class: 'tag' },
      ` in the context (${node.shown_at})`), ...(node.sources.length
      ? [make('ul', {}, ...node.sources.map((uid) => this.things.get(uid)).filter(Boolean).map(branch))] : []));
    $('tree').replaceChildren(make('ul', {}, ...this.chart.nodes.filter((node) => !below.has(node.uid))
      .sort((one, other) => one.span[0] - other.span[0]).map(branch)));
    const same = at && $('tree').querySelector(`[data-uid="${CSS.escape(at)}"]`);
    if (same) same.focus({ preventScroll: true }); // who reads here goes on here
  }
}

const kept = embedded('chart');
const page = new Page(kept ? fromFile(kept) : window.parent !== window ? fromFrame() : fromServer());
$('said').textContent = 'Reading the conversation…';
page.start().catch((error) => { $('state').textContent = error.message; });
