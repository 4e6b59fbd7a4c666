// The what-if panel: a row, or any values set by hand, and what the components add up to there.

const TERMS_SHOWN = 12;

const whatIf = { states: null, start: null, row: null, by: 'terms', change: false, before: null };

function firstStates() {
  if (facts.rows !== null) return [...facts.rows.states[0]];
  return facts.inputs.map((input) => {
    const p = input.states.map((one) => one.probability || 0);
    return p.indexOf(Math.max(...p));
  });
}

// Values of components, or of features: each component equally between those it touches.
function partsAt(states, by) {
  const found = model.at(bitsOf(states), state.output);
  if (by === 'terms') {
    const players = model.terms.players;
    return { ...found, players, parts: found.values.map((value, t) => (players[t].length > 0 ? value : 0)) };
  }
  const sums = new Sums(playerNames.length);
  model.terms.players.forEach((players, t) => players.forEach((p) => sums.add(p, found.values[t] / players.length)));
  return { ...found, players: playerNames.map((_, p) => [p]), parts: sums.values };
}

// The same for the row that changes start from, which stays while values are set.
function partsAtStart() {
  const key = `${state.output} ${whatIf.by} ${whatIf.start.join(',')}`;
  if (whatIf.before === null || whatIf.before.key !== key) whatIf.before = { key, found: partsAt(whatIf.start, whatIf.by) };
  return whatIf.before.found;
}

function mean() {
  const t = model.terms.find([]);
  return t < 0 ? 0 : model.term(t, new Uint8Array(facts.features.length), state.output);
}

function buildWhatIf(panel) {
  if (model === null) {
    fill(panel, element('p', { class: 'note' }, `Not possible here: ${whyNoModel()}.`));
    return;
  }
  whatIf.row = facts.rows === null ? null : 0;
  whatIf.start = firstStates();
  whatIf.states = [...whatIf.start];
  const selects = [];
  facts.inputs.forEach((input, k) => selects.push(select(input, k, selects)));
  const controls = element('div', { class: 'controls' }, ...rowChooser(selects), ...featureList(selects));
  fill(panel, controls, element('div', { class: 'result' },
    element('p', { class: 'prediction', role: 'status', id: 'prediction' }),
    viewChooser(),
    element('div', { id: 'waterfall' }),
    element('p', { class: 'note', id: 'unseen' })));
  showStates(selects);
}

function select(input, k, selects) {
  const made = element('select', { id: `input-${k}` }, ...input.states.map((one, s) => element('option', { value: s }, one.text)));
  made.addEventListener('change', () => {
    whatIf.states = selects.map((one) => Number(one.value));
    selects.forEach(mark);
    showWhatIf();
  });
  return made;
}

function mark(made, k) {
  const changed = whatIf.states[k] !== whatIf.start[k];
  made.closest('.input').classList.toggle('changed', changed);
  made.nextElementSibling.textContent = changed ? `was ${facts.inputs[k].states[whatIf.start[k]].text}` : '';
}

function showStates(selects) {
  selects.forEach((made, k) => {
    made.value = String(whatIf.states[k]);
    mark(made, k);
  });
  showWhatIf();
}

function rowChooser(selects) {
  const reset = element('button', { type: 'button', id: 'reset' }, 'Undo changes');
  reset.addEventListener('click', () => {
    whatIf.states = [...whatIf.start];
    showStates(selects);
  });
  if (facts.rows === null) return [element('p', { class: 'buttons' }, reset)];
  const rows = facts.rows;
  const chosen = element('input', { type: 'number', id: 'row', min: 1, max: rows.shown, step: 1, value: 1 });
  const which = element('span', { id: 'row-number' });
  const go = (r) => {
    if (!Number.isInteger(r) || r < 0 || r >= rows.shown) {
      chosen.setCustomValidity(`a number from 1 to ${rows.shown}`);
      chosen.reportValidity();
      return;
    }
    chosen.setCustomValidity('');
    chosen.value = String(r + 1);
    which.textContent = ` of ${integer(rows.shown)}${rows.shown < rows.n ? ` shown (index ${integer(rows.numbers[r])} of ${integer(rows.n)})` : ''}`;
    whatIf.row = r;
    whatIf.start = [...rows.states[r]];
    whatIf.states = [...whatIf.start];
    showStates(selects);
  };
  chosen.addEventListener('change', () => go(Number(chosen.value) - 1));
  const step = (label, next) => {
    const button = element('button', { type: 'button' }, label);
    button.addEventListener('click', () => go(next()));
    return button;
  };
  queueMicrotask(() => go(0));
  return [
    element('p', {}, element('label', { for: 'row' }, 'Start from row '), chosen, which),
    element('p', { class: 'buttons' },
      step('Previous', () => (whatIf.row + rows.shown - 1) % rows.shown),
      step('Next', () => (whatIf.row + 1) % rows.shown),
      step('Any', () => Math.floor(Math.random() * rows.shown)),
      reset),
  ];
}

function featureList(selects) {
  const weights = weightOfPlayers();
  const order = facts.inputs.map((_, k) => k)
    .sort((a, b) => (weights[facts.inputs[b].player] || 0) - (weights[facts.inputs[a].player] || 0) || a - b);
  const list = element('div', { class: 'inputs', role: 'group', 'aria-label': 'Values of the features, the most important first' },
    ...order.map((k) => element('div', { class: 'input' },
      element('label', { for: `input-${k}` }, facts.inputs[k].name), selects[k], element('span', { class: 'was' }))));
  if (facts.inputs.length <= 8) return [list];
  const search = element('input', { type: 'search', id: 'find-feature', autocomplete: 'off', spellcheck: 'false' });
  search.addEventListener('input', () => {
    const words = search.value.trim().toLowerCase();
    order.forEach((k, at) => { list.children[at].hidden = !facts.inputs[k].name.toLowerCase().includes(words); });
  });
  return [element('p', { class: 'search' }, element('label', { for: 'find-feature' }, 'Find a feature'), ' ', search), list];
}

function viewChooser() {
  const choice = (id, label, options, chosen) => {
    const made = element('select', { id }, ...options.map(([value, text]) => element('option', { value }, text)));
    made.addEventListener('change', () => {
      chosen(made.value);
      showWhatIf();
    });
    return element('span', { class: 'choice' }, element('label', { for: id }, label), ' ', made);
  };
  return element('p', { class: 'views' },
    choice('view-by', 'Show', [['terms', 'components'], ['features', 'features (Shapley values)']], (value) => { whatIf.by = value; }),
    ' ',
    choice('view-what', 'as', [['value', 'parts of the prediction'], ['change', 'parts of the change']], (value) => { whatIf.change = value === 'change'; }));
}

function judged(total, unseen) {
  if (unseen === 0 || facts.decomposition.unseen === 'zero') return { value: total, text: number(total, 6) };
  return { value: NaN, text: facts.decomposition.unseen === 'nan' ? 'not defined' : 'refused' };
}

function showWhatIf() {
  if (model === null) return;
  const now = partsAt(whatIf.states, whatIf.by);
  const before = partsAtStart();
  const here = judged(now.total, now.unseen);
  const there = judged(before.total, before.unseen);
  const nChanged = whatIf.states.filter((s, k) => s !== whatIf.start[k]).length;
  const prediction = byId('prediction');
  prediction.dataset.value = String(here.value);
  prediction.dataset.start = String(there.value);
  fill(prediction, 'Prediction ', element('strong', {}, here.text));
  if (nChanged > 0) {
    prediction.append(element('span', { class: 'change' }, ` ${missing(here.value - there.value) ? '' : `${signed(here.value - there.value)} by ${count(nChanged, 'change')}`} (started from ${there.text})`));
  } else if (whatIf.row !== null && facts.rows.remainders !== null) {
    const rest = facts.rows.remainders[whatIf.row][state.output];
    prediction.append(element('span', { class: 'change' }, ` The model says ${number(here.value + rest, 6)}, the remainder is ${signed(rest)}.`));
  }
  byId('unseen').textContent = now.unseen === 0 ? '' : `${count(now.unseen, 'component')} ${now.unseen === 1 ? 'has' : 'have'} a combination of values here that was never observed, and ${{
    zero: 'say nothing there (they count as zero).', nan: 'are not defined there.', error: 'such rows are refused.' }[facts.decomposition.unseen]}`;
  showWaterfall(now, before);
}

// What a part is called at these states: the values of its features.
function partName(players, states) {
  return players.map((p) => {
    const mine = inputsOfPlayer[p];
    return mine.length === 1 ? valueText(mine[0], states[mine[0].k]) : playerNames[p];
  }).join(', ');
}

// A value such as "28 < age ≤ 37" already says of what it is.
function valueText(input, s) {
  const text = input.states[s].text;
  return text.includes(input.name) && /[<>≤]/.test(text) ? text : `${input.name} = ${text}`;
}

function showWaterfall(now, before) {
  const from = whatIf.change ? before.total : mean();
  const parts = whatIf.change ? now.parts.map((value, t) => value - before.parts[t]) : now.parts;
  const order = bySize(parts).filter((t) => parts[t] !== 0);
  const shown = order.slice(0, TERMS_SHOWN).map((t) => ({ name: partName(now.players[t], whatIf.states), value: parts[t] }));
  const rest = order.slice(TERMS_SHOWN).map((t) => parts[t]);
  if (rest.length > 0) shown.push({ name: `${count(rest.length, 'smaller part')} together`, value: rest.reduce((a, b) => a + b, 0) });
  let at = from;
  const steps = shown.map((part) => {
    const start = at;
    at += part.value;
    return { ...part, start, end: at };
  });
  const places = [from, now.total, ...steps.flatMap((step) => [step.start, step.end])];
  const low = Math.min(...places);
  const width = Math.max(...places) - low || 1;
  const where = (x) => `${(100 * (x - low)) / width}%`;
  const line = (name, value, start, end, kind) => {
    const bar = element('span', { class: `bar ${kind}` });
    bar.style.left = where(Math.min(start, end));
    bar.style.width = where(Math.abs(end - start) + low);
    return element('tr', { class: kind }, element('th', { scope: 'row' }, name), element('td', { class: 'numeric' }, value),
      element('td', { class: 'track', 'aria-hidden': 'true' }, element('span', { class: 'rail' }, bar)));
  };
  const level = (name, value) => line(name, number(value, 6), value, value, 'level');
  fill(byId('waterfall'), element('table', { class: 'waterfall' },
    element('caption', {}, whatIf.change ? 'From the starting row to the values set' : 'From the mean to the prediction'),
    element('colgroup', {}, element('col'), element('col', { class: 'value' }), element('col', { class: 'bars' })),
    element('thead', { class: 'hidden' }, element('tr', {}, ...['Part', 'Value', 'Bar'].map((head) => element('th', { scope: 'col' }, head)))),
    element('tbody', {},
      level(whatIf.change ? 'prediction at the start' : 'mean', from),
      ...steps.map((step) => line(step.name, signed(step.value), step.start, step.end, step.value < 0 ? 'minus' : 'plus')),
      level(whatIf.change ? 'prediction now' : 'prediction', now.total))));
}
