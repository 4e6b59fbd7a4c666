// Pictures. Labels are escaped, since plotly reads some HTML in them, and formulas between dollars; positions are numbers, so that no name is taken
// for a number or a date. Everything drawn is also a table or in the caption.

const BARS = 20;
const SWARM_PLAYERS = 12;
const SWARM_ROWS = 400;
const MOST_CELLS = 1024;
const PAPER = 660; // pixels between the margins of a sheet
const drawings = new Map();

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', $: '&#36;' };
const plotText = (text) => text.replace(/\s+/g, ' ').replace(/[&<>$]/g, (sign) => ENTITIES[sign]);
const tick = (text, longest = 22) => plotText(short(text, longest));
const printing = () => document.documentElement.classList.contains('printing');
const narrow = () => !printing() && document.documentElement.clientWidth < 600;
const labelLength = () => (narrow() ? 14 : 26);
const heatmapPlayers = () => (narrow() ? 12 : 20);

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function divergingScale() {
  return [[0, colour('minus')], [0.5, colour('zero')], [1, colour('plus')]];
}

function baseLayout(height) {
  const axis = {
    gridcolor: colour('line'), zerolinecolor: colour('muted'), linecolor: colour('line'), fixedrange: true, automargin: true,
  };
  return {
    height,
    width: printing() ? PAPER : undefined,
    margin: { l: 10, r: 16, t: 8, b: 40 },
    font: { family: 'system-ui, sans-serif', size: narrow() ? 11 : 12.5, color: colour('ink') },
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    showlegend: false,
    dragmode: false,
    hoverlabel: { bgcolor: colour('card'), bordercolor: colour('line'), font: { color: colour('ink') }, align: 'left' },
    xaxis: { ...axis },
    yaxis: { ...axis },
  };
}

// The title of an axis, in the size of its labels.
const titled = (text) => ({ text, font: { size: narrow() ? 11 : 12.5 } });

// Draw now and again whenever colours or widths change; `make` returns { traces, layout, height }.
function draw(id, label, make) {
  drawings.set(id, { label, make });
  redraw(id);
}

function forget(id) {
  drawings.delete(id);
  if (window.Plotly) window.Plotly.purge(byId(id));
  byId(id).replaceChildren();
}

function redraw(id) {
  const target = byId(id);
  if (!window.Plotly) return;
  const { label, make } = drawings.get(id);
  const { traces, layout, height } = make();
  const base = baseLayout(height);
  const merged = { ...base, ...layout, xaxis: { ...base.xaxis, ...layout.xaxis }, yaxis: { ...base.yaxis, ...layout.yaxis } };
  target.setAttribute('role', 'img');
  target.setAttribute('aria-label', label);
  window.Plotly.react(target, traces, merged, { displayModeBar: false, responsive: true });
}

const redrawAll = () => drawings.forEach((_, id) => redraw(id));

// An axis with one label for each position, the first at the top or left.
function labelled(names, reverse) {
  const at = names.map((_, k) => k);
  const ends = [-0.6, names.length - 0.4];
  return {
    type: 'linear', tickmode: 'array', tickvals: at, ticktext: names.map((name) => tick(name, labelLength())),
    range: reverse ? ends.reverse() : ends, zeroline: false, showgrid: false, ticks: '',
  };
}

function drawImportance() {
  const found = outputFacts();
  const values = weightOfPlayers();
  const chosen = bySize(values).slice(0, BARS);
  const bounds = found.importance && found.importance.low ? found.importance : null;
  draw('importance-chart', 'Importance of the features as bars; the numbers are in the table below', () => ({
    height: 60 + 24 * chosen.length,
    traces: [{
      type: 'bar',
      orientation: 'h',
      x: chosen.map((p) => values[p]),
      y: chosen.map((_, k) => k),
      width: 0.62,
      marker: { color: colour('plus') },
      error_x: bounds ? {
        type: 'data', symmetric: false, color: colour('ink'), thickness: 1.2, width: 3,
        array: chosen.map((p) => bounds.high[p] - values[p]),
        arrayminus: chosen.map((p) => values[p] - bounds.low[p]),
      } : undefined,
      text: chosen.map((p) => plotText(`${playerNames[p]}: ${percent(values[p])}`)),
      textposition: 'none',
      hoverinfo: 'text',
    }],
    layout: { xaxis: { tickformat: '.0%', rangemode: 'tozero' }, yaxis: labelled(chosen.map((p) => playerNames[p]), true) },
  }));
  return { drawn: chosen.length, all: values.length };
}

// Points at the same place are spread over the height of their line.
function spread(values) {
  const finite = values.filter((x) => !missing(x));
  const low = Math.min(...finite);
  const width = (Math.max(...finite) - low) / 80 || 1;
  const used = new Map();
  const heaps = values.map((x) => Math.round((x - low) / width));
  heaps.forEach((heap) => used.set(heap, (used.get(heap) || 0) + 1));
  const most = Math.max(...used.values());
  const seen = new Map();
  return heaps.map((heap) => {
    const k = seen.get(heap) || 0;
    seen.set(heap, k + 1);
    return (0.4 / Math.max(most, 8)) * Math.ceil(k / 2) * (k % 2 ? 1 : -1) * 2;
  });
}

// A shade for each state, from low to high; a missing value is neither.
function shadesOf(states) {
  const parts = ['low', 'high'].map((end) => colour(end).match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16)));
  const top = Math.max(states.filter((one) => one.text !== 'missing').length - 1, 1);
  return states.map((one, k) => (one.text === 'missing'
    ? colour('muted')
    : `rgb(${parts[0].map((x, c) => Math.round(x + (parts[1][c] - x) * Math.min(k / top, 1))).join(',')})`));
}

function drawSwarm() {
  const rows = facts.rows;
  const found = rows.shapley[state.output];
  const players = found.players.slice(0, SWARM_PLAYERS);
  const step = Math.max(rows.shown / SWARM_ROWS, 1);
  const at = Array.from({ length: Math.min(rows.shown, SWARM_ROWS) }, (_, k) => Math.floor(k * step));
  draw('swarm-chart', 'Shapley values of the most important features at single rows, as points', () => ({
    height: 70 + 38 * players.length,
    traces: players.map((p, k) => {
      const values = at.map((r) => found.values[k][r]);
      const inputs = inputsOfPlayer[p];
      const [input] = inputs;
      const ordered = inputs.length === 1 && input.ordered;
      const shades = ordered ? shadesOf(input.states) : null;
      const offsets = spread(values);
      return {
        type: 'scatter',
        mode: 'markers',
        x: values,
        y: offsets.map((offset) => k + offset),
        marker: {
          size: 4.5,
          opacity: 0.75,
          color: ordered ? at.map((r) => shades[rows.states[r][input.k]]) : colour('muted'),
        },
        text: at.map((r, i) => plotText(`${short(playerNames[p], 40)}${inputs.length === 1 ? ` = ${short(input.states[rows.states[r][input.k]].text, 40)}` : ''}, row ${integer(rows.numbers[r])}: ${signed(values[i])}`)),
        hoverinfo: 'text',
      };
    }),
    layout: { xaxis: { title: titled('Shapley value') }, yaxis: labelled(players.map((p) => playerNames[p]), true) },
  }));
  return { players: players.length, rows: at.length };
}

function drawOrders() {
  const shares = outputFacts().share_by_order;
  draw('orders-chart', shares.map((s, k) => `Order ${k + 1}: ${percent(s)}`).join(', '), () => ({
    height: 260,
    traces: [{
      type: 'bar',
      x: shares.map((_, k) => k + 1),
      y: shares,
      width: 0.55,
      marker: { color: shares.map((s) => (s < 0 ? colour('minus') : colour('plus'))) },
      text: shares.map(percent),
      textposition: 'outside',
      cliponaxis: false,
      hoverinfo: 'none',
    }],
    layout: {
      margin: { l: 10, r: 16, t: 28, b: 40 },
      xaxis: { title: titled('order'), tickvals: shares.map((_, k) => k + 1), ticktext: shares.map((_, k) => `${k + 1}`), showgrid: false },
      yaxis: { tickformat: '.0%', rangemode: 'tozero' },
    },
  }));
}

// The players of the map, those with the largest interactions first, and the shares of their pairs.
function mapOfPairs() {
  const found = outputFacts();
  const weights = new Map();
  for (const { players, share, structural } of found.interactions.listed) {
    for (const p of players) weights.set(p, (weights.get(p) || 0) + Math.max(Math.abs(share || 0), structural || 0));
  }
  const chosen = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a)).slice(0, heatmapPlayers());
  const at = new Map(chosen.map((p, k) => [p, k]));
  const z = chosen.map(() => chosen.map(() => 0));
  for (const { players: [p, q], share } of found.interactions.listed) {
    if (at.has(p) && at.has(q)) z[at.get(p)][at.get(q)] = z[at.get(q)][at.get(p)] = share;
  }
  chosen.forEach((_, k) => { z[k][k] = null; });
  byId('interactions-caption').textContent = chosen.length < weights.size
    ? `The ${chosen.length} features with the largest interactions, of ${integer(weights.size)}.` : '';
  return { names: chosen.map((p) => playerNames[p]), z };
}

function drawInteractions() {
  draw('interactions-chart', 'Shares of variance of pairs of features as a map; the numbers are in the table below', () => {
    const { names, z } = mapOfPairs();
    const largest = Math.max(...z.flat().map((x) => Math.abs(x || 0))) || 1;
    const at = names.map((_, k) => k);
    return {
      height: (narrow() ? 150 : 170) + (narrow() ? 18 : 24) * names.length,
      traces: [{
        type: 'heatmap',
        x: at,
        y: at,
        z,
        zmin: -largest,
        zmax: largest,
        colorscale: divergingScale(),
        xgap: 1,
        ygap: 1,
        hoverongaps: false,
        text: z.map((row, a) => row.map((x, b) => plotText(`${short(names[a], 30)} × ${short(names[b], 30)}: ${percent(x)}`))),
        hoverinfo: 'text',
        colorbar: { tickformat: '.1%', thickness: 10, outlinewidth: 0, len: 0.9 },
      }],
      layout: { xaxis: { ...labelled(names, false), tickangle: -55 }, yaxis: labelled(names, true) },
    };
  });
}

// -- one term over the states of its features ---------------------------------------------------------------------------

// The inputs of the players, or null if their states are too many to show.
function inputsOf(players) {
  const found = players.flatMap((p) => inputsOfPlayer[p]);
  return found.reduce((n, input) => n * input.states.length, 1) <= MOST_CELLS ? found : null;
}

// The values of a term at all combinations of states, the last input fastest.
function cellsOf(players, inputs) {
  const t = model.terms.find(players);
  const bits = new Uint8Array(facts.features.length);
  const cells = [];
  const visit = (k, chosen) => {
    if (k === inputs.length) {
      cells.push({ states: chosen, value: t < 0 ? 0 : model.term(t, bits, state.output) });
      return;
    }
    inputs[k].states.forEach((one, s) => {
      inputs[k].features.forEach((i, j) => { bits[i] = one.bits[j]; });
      visit(k + 1, [...chosen, s]);
    });
  };
  visit(0, []);
  return cells;
}

const never = (value) => (Number.isNaN(value) ? 'never observed' : signed(value));

function drawTerm(players) {
  const inputs = model === null ? null : inputsOf(players);
  const table = byId('term-cells');
  table.replaceChildren();
  byId('term-numbers').hidden = inputs === null;
  byId('term-numbers').open = inputs !== null && inputs.length > 2;
  if (inputs === null || inputs.length > 2) forget('term-chart');
  if (inputs === null) {
    return model === null ? whyNoModel() : `There are more than ${integer(MOST_CELLS)} combinations of values; the what-if panel shows one at a time.`;
  }
  const cells = cellsOf(players, inputs);
  if (inputs.length === 1) drawEffect(inputs[0], cells);
  else if (inputs.length === 2) drawPair(inputs, cells);
  showTable(table, {
    caption: `Values of ${termName(players)}`,
    rows: inputs.length > 2 ? bySize(cells.map((c) => c.value)).map((k) => cells[k]) : cells,
    columns: [
      ...inputs.map((input, k) => ({ label: input.name, text: (c) => input.states[c.states[k]].text })),
      { label: 'value', text: (c) => never(c.value), value: (c) => c.value },
      ...(inputs.length === 1 && !missing(inputs[0].states[0].probability)
        ? [{ label: 'probability', text: (c) => percent(inputs[0].states[c.states[0]].probability), value: (c) => inputs[0].states[c.states[0]].probability }]
        : []),
    ],
  });
  return `What this part adds to the function at each ${inputs.length === 1 ? 'value' : 'combination of values'}.`;
}

function drawEffect(input, cells) {
  const names = input.states.map((one) => one.text);
  draw('term-chart', 'The values of this component as bars; the numbers are in the table below', () => ({
    height: 60 + 26 * cells.length,
    traces: [{
      type: 'bar',
      orientation: 'h',
      x: cells.map((c) => c.value),
      y: cells.map((_, k) => k),
      width: 0.62,
      marker: { color: cells.map((c) => (c.value < 0 ? colour('minus') : colour('plus'))) },
      text: cells.map((c, k) => plotText(`${short(names[k], 40)}: ${never(c.value)}`)),
      textposition: 'none',
      hoverinfo: 'text',
    }],
    layout: { xaxis: { title: titled('effect'), zeroline: true }, yaxis: labelled(names, true) },
  }));
}

function drawPair(inputs, cells) {
  const [down, across] = inputs;
  const n = across.states.length;
  const z = down.states.map((_, a) => cells.slice(a * n, (a + 1) * n).map((c) => (Number.isNaN(c.value) ? null : c.value)));
  const largest = Math.max(...z.flat().map((x) => Math.abs(x || 0))) || 1;
  const few = cells.length <= (narrow() ? 16 : 64);
  const names = [down, across].map((input) => input.states.map((one) => one.text));
  draw('term-chart', 'The values of this component as a map; the numbers are in the table below', () => ({
    height: 150 + 30 * down.states.length,
    traces: [{
      type: 'heatmap',
      x: names[1].map((_, k) => k),
      y: names[0].map((_, k) => k),
      z,
      zmin: -largest,
      zmax: largest,
      colorscale: divergingScale(),
      xgap: 1,
      ygap: 1,
      text: z.map((row, a) => row.map((x, b) => plotText(`${short(names[0][a], 30)}, ${short(names[1][b], 30)}: ${never(x === null ? NaN : x)}`))),
      hoverinfo: 'text',
      colorbar: { thickness: 10, outlinewidth: 0, len: 0.9 },
    }],
    layout: {
      xaxis: { ...labelled(names[1], false), title: titled(tick(across.name, 50)), tickangle: names[1].join('').length > 60 ? -45 : 0 },
      yaxis: { ...labelled(names[0], true), title: titled(tick(down.name, 30)) },
      annotations: few ? z.flatMap((row, a) => row.map((x, b) => ({
        x: b, y: a, text: x === null ? '·' : number(x, 2), showarrow: false, font: { size: 11, color: Math.abs(x || 0) > 0.6 * largest ? colour('on-strong') : colour('ink') },
      }))) : [],
    },
  }));
}
