
// Draws the charts into the page's figures, all on one time axis. The data is in the
// page as JSON; null is a gap.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const color = (name) => (name[0] === '#' ? name : getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim());
  const end = data.seconds[data.seconds.length - 1] + data.step;
  // Minutes if the axis is long, for the whole axis: mixed units are hard to compare.
  const clock = (s) => (end < 120 ? s + ' s' : Math.floor(s / 60) + ':' + String(Math.floor(s % 60)).padStart(2, '0'));
  // As many significant digits as in the tables: three, and two below 1.
  const number = (v) => {
    if (v == null) return '-';
    const a = Math.abs(v);
    if (a === 0 || a >= 100) return v.toFixed(0);
    return v.toFixed(a >= 10 ? 1 : a >= 0.1 ? 2 : 3);
  };
  const tick = (v) => (v == null ? '' : String(+v.toPrecision(4)));

  const kinds = {
    dashed: () => ({ dash: [6, 4] }),
    wide: () => ({ width: 4 }),
    stepped: () => ({ paths: uPlot.paths.stepped({ align: 1 }) }),
  };
  const points = (c) => (c.level == null ? c.values : data.seconds.map(() => c.level));
  const series = (c, more) => Object.assign(
    { label: c.label, stroke: color(c.color), width: c.level == null ? 1.5 : 1, points: { show: data.seconds.length < 2 }, value: (u, v) => number(v) },
    c.line ? kinds[c.line]() : {}, more,
  );

  // Each curve of a stack is the sum of itself and those below it. Curves are drawn from
  // the top down, so that the lower ones cover their part of the upper ones. The legend
  // shows each curve's own value.
  function stacked(curves) {
    const sum = data.seconds.map(() => null);
    return curves.map((c) => {
      c.values.forEach((v, i) => { if (v != null) sum[i] = (sum[i] || 0) + v; });
      return [series(c, { fill: color(c.color), width: 0, value: (u, v, s, i) => number(i == null ? null : c.values[i]) }), sum.slice()];
    }).reverse();
  }

  // Calls a function with each span, its left edge and its width on the canvas.
  function spans(u, each) {
    const { left, width } = u.bbox;
    const at = (s) => Math.round(Math.min(Math.max(u.valToPos(s, 'x', true), left), left + width));
    u.ctx.save();
    for (const s of data.spans || []) each(s, at(s.from), at(s.to) - at(s.from));
    u.ctx.restore();
  }

  // Below the curves: shades judged spans, and marks where spans begin.
  const shade = (u) => spans(u, (s, x, width) => {
    u.ctx.fillStyle = color('shade');
    if (s.shaded) u.ctx.fillRect(x, u.bbox.top, width, u.bbox.height);
    u.ctx.fillStyle = color('line');
    u.ctx.fillRect(x, u.bbox.top, devicePixelRatio, u.bbox.height);
  });

  // Above the curves: names the spans that are wide enough.
  const names = (u) => spans(u, (s, x, width) => {
    const pad = 4 * devicePixelRatio;
    Object.assign(u.ctx, {
      font: 11 * devicePixelRatio + 'px system-ui, sans-serif', textAlign: 'left', textBaseline: 'top',
      lineWidth: pad, lineJoin: 'round', strokeStyle: color('background'), fillStyle: color('quiet'),
    });
    if (u.ctx.measureText(s.name).width + 2 * pad > width) return;
    u.ctx.strokeText(s.name, x + pad, u.bbox.top + pad);
    u.ctx.fillText(s.name, x + pad, u.bbox.top + pad);
  });

  function draw(figure, chart) {
    const curves = chart.stacked ? stacked(chart.curves) : chart.curves.map((c) => [series(c), points(c)]);
    const grid = { stroke: color('line'), width: 1 };
    const decades = Object.assign(chart.log ? { filter: (u, at) => at.map((v) => (Number.isInteger(Math.log10(v)) ? v : null)) } : {}, grid);
    const axis = { stroke: color('quiet'), grid, ticks: grid, font: '11px system-ui, sans-serif' };
    const positive = (v) => (chart.log && !(v > 0) ? null : v);
    return new uPlot({
      width: figure.clientWidth, height: 190,
      scales: {
        x: { time: false, range: [0, end] },
        y: chart.log ? { distr: 3 } : { range: (u, min, max) => [0, max > 0 ? max * 1.15 : 1] },
      },
      axes: [
        Object.assign({}, axis, { size: 32, values: (u, at) => at.map(clock) }),
        Object.assign({}, axis, { size: 56, grid: decades, ticks: decades, values: (u, at) => at.map(tick) }),
      ],
      series: [{ label: 'time', value: (u, v) => (v == null ? '-' : clock(v)) }].concat(curves.map((c) => c[0])),
      cursor: { sync: { key: 'page' }, drag: { x: false, y: false } },
      hooks: { drawClear: [shade], draw: [names] },
    }, [data.seconds].concat(curves.map((c) => c[1].map(positive))), figure);
  }

  let drawn = [];
  function all() {
    drawn.forEach((u) => u.destroy());
    drawn = Array.from(document.querySelectorAll('figure.chart')).map((f, i) => draw(f, data.charts[i]));
  }
  all();
  addEventListener('resize', () => drawn.forEach((u) => u.setSize({ width: u.root.parentNode.clientWidth, height: u.height })));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', all);
  matchMedia('print').addEventListener('change', all);
})();
