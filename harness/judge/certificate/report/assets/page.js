
// Draws the run's charts into the page's figures, all on one axis of time. The
// data stand in the page as JSON; a null is a gap.
(function () {
  'use strict';
  const run = JSON.parse(document.getElementById('data').textContent);
  const classes = {
    CPU: '#3f9b50', commit: '#e8862a', binlog: '#d9b310', 'row lock': '#d81b60', engine: '#2f6fd0', 'buffer pool': '#5aa9e6',
    latch: '#8e5bd0', 'metadata lock': '#6a2c91', 'table lock': '#a855c7', 'connection storm': '#c65d00', network: '#7fb7d9', other: '#8c959f',
  };
  const spare = ['#00897b', '#795548', '#c0ca33', '#5c6bc0', '#ec407a', '#26a69a'];
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const number = (v) => (v == null ? '-' : String(+v.toPrecision(4)));
  const end = run.seconds[run.seconds.length - 1] + run.step;
  // Minutes where the axis is long, for all of it: two styles cannot be compared.
  const clock = (s) => (end < 120 ? s + ' s' : Math.floor(s / 60) + ':' + String(Math.floor(s % 60)).padStart(2, '0'));

  const line = (label, values, stroke, more) =>
    Object.assign({ label, curve: values, stroke, width: 1.5, points: { show: run.seconds.length < 2 }, value: (u, v) => number(v) }, more);
  const steps = () => ({ paths: uPlot.paths.stepped({ align: 1 }) });
  const flat = (b) => line(b.label, run.seconds.map(() => b.limit), color('bad'), { dash: [6, 4], width: 1 });

  // Each curve of a stack is the sum of those below it; drawn from the top down
  // the lower ones cover what is theirs. The legend tells a curve's own value.
  function stacked(curves) {
    const sum = run.seconds.map(() => null);
    let free = 0;
    return curves.map((c) => {
      c.sessions.forEach((v, i) => { if (v != null) sum[i] = (sum[i] || 0) + v; });
      const fill = classes[c.class] || spare[free++ % spare.length];
      return line(c.class, sum.slice(), fill, { fill, width: 0, value: (u, v, s, i) => number(i == null ? null : c.sessions[i]) });
    }).reverse();
  }

  const charts = {
    rate: () => [
      line('target', run.target, color('quiet'), { dash: [6, 4] }),
      line('scheduled', run.scheduled, '#8fb4ea', { width: 4 }),
      line('completed', run.completed, '#3f9b50'),
    ],
    latency: () => [
      line('p50', run.p50, '#3f9b50'), line('p95', run.p95, '#e8862a'), line('p99', run.p99, '#8e5bd0'),
    ].concat(run.bounds ? run.bounds.map(flat) : []),
    errors: () => [
      line('failed', run.failed, '#d81b60', steps()), line('timed out', run.timed_out, '#e8862a', steps()), line('dropped', run.dropped, '#8e5bd0', steps()),
    ],
    waits: () => stacked(run.waits),
    gauge: (figure) => {
      const g = run.gauges.find((one) => one.name === figure.dataset.gauge);
      return [line(g.name, g.values, '#2f6fd0')].concat(g.bounds.map(flat));
    },
  };

  // Calls a function with each stage, its left edge and its width on the canvas.
  function stages(u, each) {
    const { left, width } = u.bbox;
    const at = (s) => Math.round(Math.min(Math.max(u.valToPos(s, 'x', true), left), left + width));
    u.ctx.save();
    for (const s of run.stages || []) each(s, at(s.from), at(s.to) - at(s.from));
    u.ctx.restore();
  }

  // Below the curves: shades what is judged, and marks where stages begin.
  const shade = (u) => stages(u, (s, x, width) => {
    u.ctx.fillStyle = color('shade');
    if (s.judged) u.ctx.fillRect(x, u.bbox.top, width, u.bbox.height);
    u.ctx.fillStyle = color('line');
    u.ctx.fillRect(x, u.bbox.top, devicePixelRatio, u.bbox.height);
  });

  // Above them: names the stages that have room for it.
  const names = (u) => stages(u, (s, x, width) => {
    const pad = 4 * devicePixelRatio;
    Object.assign(u.ctx, {
      font: 11 * devicePixelRatio + 'px system-ui, sans-serif', textAlign: 'left', textBaseline: 'top',
      lineWidth: pad, lineJoin: 'round', strokeStyle: color('ground'), fillStyle: color('quiet'),
    });
    if (u.ctx.measureText(s.name).width + 2 * pad > width) return;
    u.ctx.strokeText(s.name, x + pad, u.bbox.top + pad);
    u.ctx.fillText(s.name, x + pad, u.bbox.top + pad);
  });

  function draw(figure, width) {
    const name = figure.dataset.chart;
    const curves = charts[name](figure);
    const log = name === 'latency';
    const grid = { stroke: color('line'), width: 1 };
    const decades = Object.assign(log ? { filter: (u, at) => at.map((v) => (Number.isInteger(Math.log10(v)) ? v : null)) } : {}, grid);
    const axis = { stroke: color('quiet'), grid, ticks: grid, font: '11px system-ui, sans-serif' };
    const positive = (v) => (log && !(v > 0) ? null : v);
    return new uPlot({
      width, height: 190,
      scales: {
        x: { time: false, range: [0, end] },
        y: log ? { distr: 3 } : { range: (u, min, max) => [0, max > 0 ? max * 1.15 : 1] },
      },
      axes: [
        Object.assign({}, axis, { size: 32, values: (u, at) => at.map(clock) }),
        Object.assign({}, axis, { size: 56, grid: decades, ticks: decades, values: (u, at) => at.map((v) => (v == null ? '' : number(v))) }),
      ],
      series: [{ label: 'time', value: (u, v) => (v == null ? '-' : clock(v)) }].concat(curves),
      cursor: { sync: { key: 'run' }, drag: { x: false, y: false } },
      hooks: { drawClear: [shade], draw: [names] },
    }, [run.seconds].concat(curves.map((c) => c.curve.map(positive))), figure);
  }

  let drawn = [];
  function all() {
    drawn.forEach((u) => u.destroy());
    drawn = Array.from(document.querySelectorAll('figure[data-chart]')).map((f) => draw(f, f.clientWidth));
  }
  all();
  addEventListener('resize', () => drawn.forEach((u) => u.setSize({ width: u.root.parentNode.clientWidth, height: u.height })));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all);
  matchMedia('print').addEventListener('change', all);
})();
