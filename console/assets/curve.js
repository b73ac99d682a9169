/* Tokens in the context over the turns: what was said adds to it, and a compaction takes away. */

const sizesOf = (chart) => {
  const { turn, tokens, withdrawn } = chart.messages;
  const xs = [], ys = [], marks = [];
  const passes = [...chart.passes];
  let size = 0, start = 0, end = 0;
  const pass = () => {
    const done = passes.shift();
    const x = xs.length ? xs[xs.length - 1] : 0;
    xs.push(x, x);
    ys.push(done.tokens[0], done.tokens[1]);
    marks.push({ x, done });
    [, size] = done.tokens;
  };
  for (let n = 0; n < chart.count; n += 1) {
    while (passes.length && passes[0].at <= n) pass();
    if (n === end) {
      start = n;
      while (end < chart.count && turn[end] === turn[n]) end += 1;
    }
    if (!withdrawn[n]) size += tokens[n];
    xs.push(turn[n] + (n - start + 1) / (end - start));
    ys.push(size);
  }
  while (passes.length) pass();
  return { xs, ys, marks };
};

class Curve {
  constructor(place, jump) {
    Object.assign(this, { place, jump, plot: null, marks: [] });
    new ResizeObserver(() => { if (this.plot && place.clientWidth) this.plot.setSize({ width: place.clientWidth, height: 150 }); }).observe(place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (this.plot) this.plot.redraw(); });
  }

  load(chart) {
    const { xs, ys, marks } = sizesOf(chart);
    this.marks = marks;
    if (this.plot) { this.plot.setData([xs, ys]); return; }
    const ink = (name) => () => colours()(name);
    const axis = { stroke: ink('dim'), grid: { stroke: ink('line'), width: 1 }, ticks: { stroke: ink('line') } };
    this.plot = new uPlot({
      width: this.place.clientWidth || 800,
      height: 150,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: false } },
      axes: [{ ...axis, values: (_, found) => found.map((each) => Number.isInteger(each) ? each : '') },
        { ...axis, size: 62, values: (_, found) => found.map((each) => each.toLocaleString('en')) }],
      series: [{}, { stroke: ink('lit'), width: 1.5, points: { show: false } }],
      hooks: { draw: [(plot) => this.mark(plot)] },
    }, [xs, ys], this.place);
    this.plot.over.addEventListener('click', (event) => {
      this.jump(Math.floor(this.plot.posToVal(event.clientX - this.plot.over.getBoundingClientRect().left, 'x')));
    });
  }

  mark(plot) {
    const pen = plot.ctx;
    pen.save();
    pen.strokeStyle = colours()('pass');
    pen.setLineDash([4, 4]);
    for (const { x } of this.marks) {
      const at = Math.round(plot.valToPos(x, 'x', true));
      pen.beginPath();
      pen.moveTo(at, plot.bbox.top);
      pen.lineTo(at, plot.bbox.top + plot.bbox.height);
      pen.stroke();
    }
    pen.restore();
  }
}
