/* Tokens in the context, message by message, as wide as the whole graph, so that each thing stands over its place in it: what was said
   adds, and a compaction takes away. */

const HIGH = 140, FOOT = 20, APART = 80, NEAR = 4; // pixels: the curve, its turns, from one of those to the next, around a compaction

/* Points of the line; how large the list was after each message; and after how many messages compactions came. */
const sizesOf = (chart) => {
  const { tokens, withdrawn } = chart.messages;
  const xs = [0], ys = [0], after = [], marks = [];
  const passes = [...chart.passes];
  let size = 0;
  const pass = () => {
    const done = passes.shift();
    const x = after.length;
    xs.push(x, x);
    ys.push(...done.tokens);
    marks.push({ x, done });
    [, size] = done.tokens;
  };
  for (let n = 0; n < chart.count; n += 1) {
    while (passes.length && passes[0].at <= n) pass();
    if (!withdrawn[n]) size += tokens[n];
    after.push(size);
    xs.push(n + 1);
    ys.push(size);
  }
  while (passes.length) pass();
  return { xs, ys, after, marks };
};

/* The next of 1, 2, 5, 10, 20, 50 and so on that is not smaller. */
const roundUp = (number) => {
  const power = 10 ** Math.floor(Math.log10(Math.max(number, 1)));
  return [1, 2, 5, 10].map((times) => times * power).find((each) => each >= number);
};

/* Where the turns begin that are named under the line: the first, round ones and the last, `gap` messages or more apart. */
const namedTurns = (turn, gap) => {
  const begins = [...turn.keys()].filter((n) => !n || turn[n] !== turn[n - 1]);
  if (!begins.length) return [];
  const last = begins.at(-1), step = roundUp((begins.length * gap) / turn.length);
  const named = [];
  for (const at of begins) {
    const isWanted = !at || turn[at] % step === 0;
    if (isWanted && last - at >= gap && (!named.length || at - named.at(-1) >= gap)) named.push(at);
  }
  return [...named, last];
};

/* The first thing that the user said in a turn, or else the first of the turn. */
const firstOfTurn = ({ turn, role }, at) => {
  let from = at, end = at;
  while (from > 0 && turn[from - 1] === turn[at]) from -= 1;
  while (end < turn.length && turn[end] === turn[at]) end += 1;
  const asked = role.slice(from, end).indexOf('user');
  return from + Math.max(asked, 0);
};

class Curve {
  constructor(place, width, jump, hover) {
    Object.assign(this, { place, width, jump, hover, plot: null, marks: [], part: null });
    new ResizeObserver(() => this.resize()).observe(place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (this.plot) this.plot.redraw(); });
  }

  load(chart) {
    const { xs, ys, after, marks } = sizesOf(chart);
    Object.assign(this, { chart, after, marks });
    if (this.plot) this.plot.setData([xs, ys]); else this.begin([xs, ys]);
    this.resize();
  }

  begin(data) {
    const ink = (name) => () => colours()(name);
    const axis = { grid: { stroke: ink('line'), width: 1 }, ticks: { show: false } };
    const blank = (_, found) => found.map(() => '');
    this.plot = new uPlot({
      width: this.width() || 800,
      height: HIGH,
      padding: [10, 0, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: () => [0, Math.max(this.chart.count, 1)] },
        y: { range: (_, low, high) => [Math.min(low, 0), Math.max(high, 1) * 1.08] },
      },
      axes: [{ ...axis, size: FOOT, splits: () => this.turns(), values: blank },
        { ...axis, size: 0, space: 24, values: (_, found) => { this.levels = found; return blank(_, found); } }],
      series: [{}, { stroke: ink('lit'), width: 1.5, points: { show: false } }],
      hooks: { draw: [(plot) => { this.mark(plot); this.name(plot); }] },
    }, data, this.place);
    const { over } = this.plot;
    over.addEventListener('click', (event) => { if (this.chart.count) this.jump(firstOfTurn(this.chart.messages, this.at(event))); });
    over.addEventListener('pointermove', (event) => { if (this.chart.count) this.point(event); });
    over.addEventListener('pointerleave', () => this.hover.hide());
  }

  resize() {
    const width = this.width();
    if (!this.plot || !width) return;
    if (this.plot.width !== width) this.plot.setSize({ width, height: HIGH });
    this.band();
  }

  turns() { return namedTurns(this.chart.messages.turn, (APART * this.chart.count) / (this.width() || 800)); }

  /* Which part of it the graph shows: two places among the messages. */
  shows(from, to) {
    if (this.part && this.part[0] === from && this.part[1] === to) return;
    this.part = [from, to];
    this.band();
  }

  band() {
    if (!this.plot || !this.part) return;
    const [from, to] = this.part.map((place) => this.plot.valToPos(Math.min(Math.max(place, 0), this.chart.count), 'x'));
    const isAll = this.part[0] <= 0 && this.part[1] >= this.chart.count - 0.5;
    this.plot.setSelect({ left: from, top: 0, width: isAll ? 0 : Math.max(to - from, 2), height: isAll ? 0 : this.plot.over.clientHeight }, false);
  }

  under(event) { return this.plot.posToVal(event.clientX - this.plot.over.getBoundingClientRect().left, 'x'); }

  /* The message over whose place the pointer is. */
  at(event) { return Math.min(Math.max(Math.floor(this.under(event)), 0), this.chart.count - 1); }

  point(event) {
    const at = this.at(event);
    const near = Math.abs(this.plot.posToVal(NEAR, 'x') - this.plot.posToVal(0, 'x'));
    const done = this.marks.filter(({ x }) => Math.abs(x - this.under(event)) <= near).map(({ done: { tokens: [before, left], time } }) =>
      `compaction: from ${count(before, 'token')} to ${left.toLocaleString('en')}, at ${time}`);
    this.hover.say(event, `curve ${at} ${done}`, [`turn ${this.chart.messages.turn[at]}: ${count(this.after[at], 'token')} in the list`, ...done]);
  }

  mark(plot) {
    const { top, height } = plot.bbox;
    const ink = colours()('pass');
    for (const { x } of this.marks) dashed(plot.ctx, ink, plot.valToPos(x, 'x', true), top, top + height, devicePixelRatio || 1);
  }

  /* Both scales, named where they are read. */
  name(plot) {
    const { ctx: pen, bbox } = plot;
    const ratio = devicePixelRatio || 1;
    const ink = colours();
    pen.save();
    pen.font = `${12 * ratio}px system-ui, sans-serif`;
    pen.textBaseline = 'bottom';
    pen.textAlign = 'left';
    pen.lineWidth = 4 * ratio;
    pen.lineJoin = 'round';
    pen.strokeStyle = ink('page');
    pen.fillStyle = ink('dim');
    const say = (words, x, y) => {
      const from = Math.min(x, bbox.left + bbox.width - pen.measureText(words).width);
      pen.strokeText(words, from, y);
      pen.fillText(words, from, y);
    };
    const levels = (this.levels || []).filter((each) => each > 0);
    levels.forEach((level, n) => say(n === levels.length - 1 ? count(level, 'token') : level.toLocaleString('en'),
      bbox.left + 2 * ratio, plot.valToPos(level, 'y', true) - ratio));
    for (const at of this.turns()) say(`turn ${this.chart.messages.turn[at]}`, plot.valToPos(at, 'x', true), bbox.top + bbox.height + FOOT * ratio);
    pen.restore();
  }
}
