// Putting the page together, and drawing it again when the output, the colours or the width change.

const INTERVAL = facts.intervals;

function showImportance() {
  const found = outputFacts();
  const values = weightOfPlayers();
  const bounds = found.importance && found.importance.low ? found.importance : null;
  byId('importance-words').textContent = found.importance === null
    ? 'There are no rows to average over, so features are ranked by their Shapley effects: the shares of variance of all components, each divided equally between its features.'
    : `The mean absolute Shapley value of each feature over ${facts.rows.words} (${integer(facts.rows.n)}), as a share of the sum over all features.`;
  const drawn = drawImportance();
  byId('importance-caption').textContent = [
    drawn.drawn < drawn.all ? `The ${drawn.drawn} largest of ${integer(drawn.all)}.` : '',
    bounds ? `Lines are ${Math.round(100 * INTERVAL.level)} % intervals from ${integer(INTERVAL.resamples)} resamples of the rows; the components are kept.` : '',
  ].join(' ').trim();
  showTable(byId('importance-table'), {
    caption: found.importance === null ? 'Shapley effects' : 'Importance',
    rows: bySize(values),
    columns: [
      { label: 'feature', text: (p) => playerNames[p] },
      { label: found.importance === null ? 'Shapley effect' : 'importance', text: (p) => percent(values[p]), value: (p) => values[p] },
      ...(bounds ? [
        { label: 'from', text: (p) => percent(bounds.low[p]), value: (p) => bounds.low[p] },
        { label: 'to', text: (p) => percent(bounds.high[p]), value: (p) => bounds.high[p] },
      ] : []),
    ],
  });
}

function showSwarm() {
  if (facts.rows === null || outputFacts().importance === null) {
    fill(byId('swarm-caption'), 'There are no rows to show.');
    return;
  }
  const drawn = drawSwarm();
  const rows = drawn.rows < facts.rows.n ? `${integer(drawn.rows)} rows, evenly spaced among ${integer(facts.rows.n)}` : `all ${integer(drawn.rows)} rows`;
  byId('swarm-caption').textContent = `Each point is a row: what the feature adds to the prediction there (its Shapley value). Shown are ${rows}, and ${count(drawn.players, 'feature')}. Colour goes from low (light) to high (dark) values; missing values, and those of features without an order, are grey.`;
}

function showOrders() {
  const found = outputFacts();
  drawOrders();
  byId('orders-caption').textContent = `Mean ${number(found.mean)}, variance ${number(found.variance)}. ${found.share_by_order.map((s, k) => `Order ${k + 1}: ${percent(s)}`).join('; ')}.`;
}

function showInteractions() {
  const found = outputFacts().interactions;
  byId('interactions-words').textContent = found.n === 0
    ? 'No component has more than one feature: the function is additive.'
    : `For each of ${count(found.n, 'pair')}: the share of variance of all components with both features.`;
  byId('interactions-chart').parentElement.hidden = found.n === 0;
  byId('interactions-numbers').hidden = found.n === 0;
  if (found.n === 0) {
    forget('interactions-chart');
    return;
  }
  drawInteractions();
  showTable(byId('interactions-table'), {
    caption: 'Interactions of pairs',
    rows: found.listed,
    note: found.listed.length < found.n ? `The ${integer(found.listed.length)} largest of ${integer(found.n)} are listed.` : '',
    columns: [
      { label: 'pair', text: (pair) => termName(pair.players) },
      { label: 'share', text: (pair) => percent(pair.share), value: (pair) => pair.share },
      { label: 'structural', text: (pair) => percent(pair.structural), value: (pair) => pair.structural },
    ],
  });
}

function showTerms() {
  const found = outputFacts().terms;
  const grouped = facts.players.length < facts.features.length;
  byId('terms-words').textContent = `${grouped ? 'Components of the same columns are added up. ' : ''}There ${found.n === 1 ? 'is' : 'are'} ${integer(found.n)}, the largest first.`;
  const choice = byId('term');
  fill(choice, ...found.listed.map((term, k) => element('option', { value: k }, `${short(termName(term.players), 80)} (${percent(term.share)})`)));
  byId('term-choice').hidden = found.n === 0;
  if (found.n > 0) showTerm(0);
  showTable(byId('terms-table'), {
    caption: 'Shares of variance',
    rows: found.listed,
    note: found.listed.length < found.n ? `The ${integer(found.listed.length)} largest of ${integer(found.n)} are listed; the what-if panel computes with all of them.` : '',
    columns: [
      { label: grouped ? 'columns' : 'component', text: (term) => termName(term.players) },
      { label: 'order', text: (term) => `${term.players.length}`, value: (term) => term.players.length },
      ...(grouped ? [{ label: 'components', text: (term) => integer(term.components), value: (term) => term.components }] : []),
      { label: 'share', text: (term) => percent(term.share), value: (term) => term.share },
      { label: 'structural', text: (term) => percent(term.structural), value: (term) => term.structural },
      { label: 'correlative', text: (term) => percent(term.correlative), value: (term) => term.correlative },
    ],
  });
}

function showTerm(k) {
  byId('term-caption').textContent = drawTerm(outputFacts().terms.listed[k].players);
}

function showSensitivity() {
  const found = outputFacts().sensitivity;
  const column = (label, values) => ({ label, text: (p) => percent(values[p]), value: (p) => values[p] });
  showTable(byId('sensitivity-table'), {
    caption: 'Sensitivity indices',
    rows: bySize(found.total),
    columns: [
      { label: 'feature', text: (p) => playerNames[p] },
      column('first order', found.first),
      column('total', found.total),
      column('first, structural', found.first_structural),
      column('total, structural', found.total_structural),
      column('Shapley effect', found.shapley_effect),
    ],
  });
}

function showEncoding() {
  if (facts.encoding === null) return;
  showTable(byId('encoding-table'), {
    caption: 'Columns and their bits',
    rows: facts.encoding.columns,
    columns: [
      { label: 'column', text: (column) => column.name },
      { label: 'bits', text: (column) => integer(column.bits), value: (column) => column.bits },
      { label: 'what the bits ask', text: (column) => column.asked },
    ],
  });
}

function showOutput() {
  showImportance();
  showSwarm();
  showOrders();
  showInteractions();
  showTerms();
  showSensitivity();
  showWhatIf();
}

// The library that draws is kept compressed; its script runs under the checksum that the page's policy names.
async function loadLibrary() {
  const packed = byId('library');
  if (packed === null) return window.Plotly !== undefined;
  if (typeof DecompressionStream === 'undefined') return false;
  const stream = new Blob([bytes(packed.textContent)]).stream().pipeThrough(new DecompressionStream('deflate'));
  const script = element('script');
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  return window.Plotly !== undefined;
}

async function start() {
  byId('term').addEventListener('change', (event) => showTerm(Number(event.target.value)));
  byId('what-if-words').textContent = model === null ? '' : 'Set values by hand and see what the components add up to there. This is computed here, from all components, and equals the sum of components that the decomposition predicts. Whether such a row can occur is for you to judge.';
  buildWhatIf(byId('what-if-panel'));
  showEncoding();
  if (byId('output')) {
    byId('output').addEventListener('change', (event) => {
      state.output = Number(event.target.value);
      showOutput();
    });
  }
  showOutput();
  if (await loadLibrary()) {
    redrawAll();
  } else {
    document.querySelectorAll('.chart').forEach((chart) => fill(chart, element('p', { class: 'note' }, byId('library') === null
      ? 'The picture cannot be drawn without a network connection; the numbers are in the tables.'
      : 'This browser is too old to draw the picture; the numbers are in the tables.')));
  }
  document.documentElement.dataset.ready = 'yes';
}

window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
window.matchMedia('(max-width: 600px)').addEventListener('change', redrawAll);
window.addEventListener('beforeprint', () => {
  document.documentElement.classList.add('printing');
  document.querySelectorAll('details').forEach((one) => { one.open = true; });
  redrawAll();
});
window.addEventListener('afterprint', () => {
  document.documentElement.classList.remove('printing');
  redrawAll();
});
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
else start();
