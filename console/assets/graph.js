/* The graph on a canvas: only what is in sight is drawn, whatever the conversation's length. */

const LANE = 26, GAP = 4, BARS = 80, TURNS = 16, TOP = 8, LEAST = 0.02, MOST = 40;

/* Lanes, from the bottom: those of depth 0, then those of depth 1 and so on; what overlaps stands one above the other. */
const lanesOf = (nodes) => {
  const lanes = [];
  for (const depth of [...new Set(nodes.map((each) => each.depth))].sort((a, b) => a - b)) {
    const ends = [];
    const first = lanes.length;
    const sorted = nodes.filter((each) => each.depth === depth).sort((a, b) => a.span[0] - b.span[0] || a.span[1] - b.span[1]);
    for (const node of sorted) {
      let lane = ends.findIndex((end) => end < node.span[0]);
      if (lane < 0) lane = ends.push(0) - 1;
      ends[lane] = node.span[1];
      node.lane = first + lane;
      (lanes[node.lane] = lanes[node.lane] || []).push(node);
    }
  }
  return lanes;
};

/* The colours of now, each asked for once: a picture uses them thousands of times. */
const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name);
  };
};

/* Where a compaction came, from the top to the bottom of a picture. */
const dashed = (pen, ink, x, top, bottom, thick = 1) => {
  const middle = Math.round(x) + thick / 2;
  pen.save();
  pen.strokeStyle = ink;
  pen.lineWidth = thick;
  pen.setLineDash([4 * thick, 4 * thick]);
  pen.beginPath();
  pen.moveTo(middle, top);
  pen.lineTo(middle, bottom);
  pen.stroke();
  pen.restore();
};

/* The first of `sorted` whose span does not end before `index`; lanes hold no overlaps. */
const firstFrom = (sorted, index) => {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle].span[1] < index) low = middle + 1; else high = middle;
  }
  return low;
};

class Graph {
  /* `choose` is told what was clicked, `shows` which part is in sight. */
  constructor(canvas, scroll, length, choose, shows) {
    Object.assign(this, { canvas, scroll, length, choose, shows, scale: 8, hits: new Set(), chosen: null, waits: false, keeps: false });
    this.labels = new Map();
    this.pen = canvas.getContext('2d');
    this.colour = colours();
    this.load({ count: 0, messages: { role: [], tokens: [], withdrawn: [] }, nodes: [], passes: [], present: { from: 0, lifted: [], parts: [] } });
    scroll.addEventListener('scroll', () => { this.keeps = this.keeps && this.isAtEnd; this.draw(); });
    new ResizeObserver(() => this.resize()).observe(scroll);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.colour = colours(); this.draw(); });
    canvas.addEventListener('click', (event) => { const thing = this.at(event); if (thing) this.choose(thing); });
    scroll.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.altKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - scroll.getBoundingClientRect().left);
    }, { passive: false });
  }

  load(chart) {
    const atEnd = this.isAtEnd;
    const first = this.fresh || !this.chart || !this.chart.count;
    this.fresh = false;
    this.chart = chart;
    this.colour = colours();
    this.lanes = lanesOf(chart.nodes);
    this.lifted = new Set(chart.present.lifted);
    this.parts = new Set(chart.present.parts);
    this.most = Math.log2(1 + chart.messages.tokens.reduce((a, b) => Math.max(a, b), 1));
    this.resize();
    if (first && chart.count) this.whole(); else if (atEnd) this.scroll.scrollLeft = this.length.clientWidth;
  }

  isLit(index) {
    return !this.chart.messages.withdrawn[index] && (index >= this.chart.present.from || this.lifted.has(index));
  }

  get isAtEnd() { return this.scroll.scrollLeft + this.scroll.clientWidth >= this.length.clientWidth - 4; }

  get height() { return TOP + this.lanes.length * LANE + BARS; }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.scroll.clientWidth;
    this.length.style.width = `${Math.max(this.chart.count * this.scale, this.width)}px`;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  whole() { this.zoom(this.width / Math.max(this.chart.count, 1) / this.scale, 0); this.scroll.scrollLeft = 0; this.keeps = false; }

  /* To the newest, which stays at the edge until somebody goes elsewhere. */
  end() { this.scroll.scrollLeft = this.length.clientWidth; this.keeps = true; }

  zoom(factor, at = this.keeps ? this.width : this.width / 2) {
    const under = (this.scroll.scrollLeft + at) / this.scale;
    const least = Math.min(this.width / Math.max(this.chart.count, 1), MOST);
    this.scale = Math.min(Math.max(this.scale * factor, Math.max(least, LEAST)), MOST);
    this.resize();
    this.scroll.scrollLeft = under * this.scale - at;
    this.draw();
  }

  show(span) {
    const [from, to] = [span[0] * this.scale, (span[1] + 1) * this.scale];
    const left = this.scroll.scrollLeft;
    if (from < left || to > left + this.width) this.scroll.scrollLeft = (from + to) / 2 - this.width / 2;
    this.keeps = this.keeps && span[1] === this.chart.count - 1;
    this.draw();
  }

  top(lane) { return TOP + (this.lanes.length - 1 - lane) * LANE; }

  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => { this.waits = false; this.paint(); });
  }

  paint() {
    const left = this.scroll.scrollLeft;
    const first = Math.max(Math.floor(left / this.scale), 0);
    const last = Math.min(Math.ceil((left + this.width) / this.scale), this.chart.count - 1);
    this.pen.clearRect(0, 0, this.width, this.height);
    this.pen.font = '12px system-ui, sans-serif';
    this.pen.textBaseline = 'middle';
    if (this.chosen) this.paintCover(this.chosen.span, left);
    this.paintPasses(first, last, left);
    this.lanes.forEach((lane) => {
      for (let n = firstFrom(lane, first); n < lane.length && lane[n].span[0] <= last; n += 1) this.paintNode(lane[n], left);
    });
    this.paintMessages(first, last, left);
    this.paintTurns(first, last, left);
    this.shows(left / this.scale, (left + this.width) / this.scale);
  }

  paintCover(span, left) {
    this.pen.globalAlpha = 0.12;
    this.pen.fillStyle = this.colour('hit');
    this.pen.fillRect(span[0] * this.scale - left, 0, Math.max((span[1] - span[0] + 1) * this.scale, 2), this.height);
    this.pen.globalAlpha = 1;
  }

  paintPasses(first, last, left) {
    for (const { at } of this.chart.passes) {
      if (at >= first && at <= last + 1) dashed(this.pen, this.colour('pass'), at * this.scale - left, 0, this.height - TURNS);
    }
  }

  paintNode(node, left) {
    const { pen } = this;
    const x = node.span[0] * this.scale - left;
    const wide = Math.max((node.span[1] - node.span[0] + 1) * this.scale - 1, 1.5);
    const y = this.top(node.lane);
    const lit = node.shown_at !== null;
    pen.fillStyle = this.colour(lit ? 'lit' : 'unlit');
    pen.fillRect(x, y, wide, LANE - GAP);
    if (this.hits.has(node.uid)) this.ring('hit', x, y, wide, LANE - GAP, 3);
    if (this.chosen && this.chosen.uid === node.uid) this.ring('chosen', x, y, wide, LANE - GAP, 2);
    const from = Math.max(x, 0) + 5;
    const room = Math.min(x + wide, this.width) - from - 4;
    if (room < 30) return;
    pen.fillStyle = this.colour(lit ? 'on-lit' : 'on-unlit');
    pen.fillText(this.label(node, Math.floor(room)), from, y + (LANE - GAP) / 2 + 1);
  }

  /* What stands on a summary, in so many pixels: measured once, for a picture has hundreds. */
  label(node, room) {
    const text = `${node.degraded ? '≈ ' : ''}${opening(node.topic || node.uid.slice(0, 8), 200)}`;
    const name = `${room} ${text}`;
    if (this.labels.size > 5000) this.labels.clear();
    if (!this.labels.has(name)) this.labels.set(name, fitted(text, (some) => this.pen.measureText(some).width <= room));
    return this.labels.get(name);
  }

  ring(name, x, y, wide, high, thick) {
    this.pen.strokeStyle = this.colour(name);
    this.pen.lineWidth = thick;
    this.pen.strokeRect(x, y, wide, high);
  }

  /* Where a message is narrower than a pixel, a column shows the largest of its messages; hits and what is lit win. */
  paintMessages(first, last, left) {
    const { role, tokens, uid, withdrawn } = this.chart.messages;
    const base = this.height - TURNS - 6;
    const step = Math.max(1, Math.floor(1 / this.scale));
    const wide = Math.max(this.scale * step - (this.scale > 4 ? 1 : 0), 1);
    const ink = { user: this.colour('user'), assistant: this.colour('assistant'), tool: this.colour('tool') };
    const other = this.colour('other'), hit = this.colour('hit');
    for (let n = first - (first % step); n <= last; n += step) {
      let most = 0, lit = false, found = false, kept = false, whole = false;
      for (let k = n; k < Math.min(n + step, this.chart.count); k += 1) {
        most = Math.max(most, tokens[k]);
        lit = lit || this.isLit(k);
        whole = whole || (this.isLit(k) && !this.parts.has(k));
        found = found || this.hits.has(uid[k]);
        kept = kept || !withdrawn[k];
      }
      const high = 4 + (BARS - TURNS - 22) * Math.log2(1 + most) / this.most;
      const x = n * this.scale - left;
      this.pen.globalAlpha = whole ? 1 : kept ? 0.38 : 0.12;
      this.pen.fillStyle = ink[role[n]] || other;
      this.pen.fillRect(x, base - high, wide, high);
      this.pen.globalAlpha = 1;
      if (lit && !whole) this.pen.fillRect(x, base - high * 0.3, wide, high * 0.3);
      if (found) {
        this.pen.fillStyle = hit;
        this.pen.fillRect(x - 1, base - high - 9, Math.max(wide + 2, 4), 7);
        this.pen.fillRect(x, base + 1, Math.max(wide, 2), 4);
      }
      if (this.chosen && this.chosen.index >= n && this.chosen.index < n + step) this.ring('chosen', x - 1, base - high - 1, wide + 2, high + 2, 2);
    }
  }

  /* Turn numbers under the messages, as many as there is room for. */
  paintTurns(first, last, left) {
    const step = Math.max(Math.ceil(90 / this.scale), 1);
    this.pen.fillStyle = this.colour('dim');
    for (let n = Math.ceil(first / step) * step; n <= last; n += step) {
      const said = `turn ${this.chart.messages.turn[n]}`;
      const x = n * this.scale - left;
      if (x + this.pen.measureText(said).width <= this.width) this.pen.fillText(said, x, this.height - TURNS / 2 + 1);
    }
  }

  /* The message or summary under the pointer, if there is one. */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const index = Math.floor((event.clientX - box.left + this.scroll.scrollLeft) / this.scale);
    const y = event.clientY - box.top;
    const lane = this.lanes.length - 1 - Math.floor((y - TOP) / LANE);
    if (index < 0 || index >= this.chart.count) return null;
    if (lane < 0) return this.message(index);
    const found = (this.lanes[lane] || [])[firstFrom(this.lanes[lane] || [], index)];
    return found && found.span[0] <= index ? found : null;
  }

  message(index) { return { uid: this.chart.messages.uid[index], index, span: [index, index], lane: -1 }; }

  /* The lowest summary over `thing`, above its own lane. */
  over(thing) {
    for (let lane = thing.lane + 1; lane < this.lanes.length; lane += 1) {
      const found = this.lanes[lane][firstFrom(this.lanes[lane], thing.span[0])];
      if (found && found.span[0] <= thing.span[0] && found.span[1] >= thing.span[1]) return found;
    }
    return null;
  }

  under(node) {
    for (let lane = node.lane - 1; lane >= 0; lane -= 1) {
      const found = this.lanes[lane][firstFrom(this.lanes[lane], node.span[0])];
      if (found && found.span[0] >= node.span[0] && found.span[1] <= node.span[1]) return found;
    }
    return this.message(node.span[0]);
  }

  beside(thing, step) {
    if (thing.lane < 0) {
      const next = thing.index + step;
      return next >= 0 && next < this.chart.count ? this.message(next) : null;
    }
    const lane = this.lanes[thing.lane];
    return lane[lane.indexOf(thing) + step] || null;
  }
}
