// What all parts of the page share: the facts, making elements, and writing numbers.
// Text from the data reaches the page as text nodes only.

const facts = JSON.parse(document.getElementById('facts').textContent);
const playerNames = facts.players.map((player) => player.name);
const byId = (id) => document.getElementById(id);
const state = { output: 0 };
const outputFacts = () => facts.outputs[state.output];

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

function fill(target, ...children) {
  target.replaceChildren(...children);
}

function missing(x) {
  return x === null || x === undefined || Number.isNaN(x);
}

// Three digits, or more where asked; a true minus sign.
function number(x, digits = 3) {
  if (missing(x)) return 'not defined';
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size >= 1e-4 && size < 1e9) {
    return Number(x.toPrecision(digits)).toLocaleString('en', { maximumSignificantDigits: Math.max(digits, 9) }).replace('-', '−');
  }
  const [mantissa, exponent] = x.toExponential(Math.max(digits - 2, 1)).split('e');
  return `${mantissa.replace('-', '−')} × 10${raised(Number(exponent))}`;
}

const raised = (n) => Array.from(String(n), (sign) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(sign)]).join('');

function signed(x, digits = 3) {
  return x > 0 ? `+${number(x, digits)}` : number(x, digits);
}

function percent(x) {
  if (missing(x)) return 'not defined';
  const small = Math.abs(x) >= 1e-5 && Math.abs(x) < 1e-3;
  const text = small ? String(Number((100 * x).toPrecision(2))) : (100 * x).toFixed(1);
  return `${Number(text) === 0 ? '0.0' : text.replace('-', '−')} %`;
}

const integer = (n) => n.toLocaleString('en');
const count = (n, what) => `${integer(n)} ${n === 1 ? what : `${what}s`}`;

function short(text, longest) {
  const letters = Array.from(text);
  return letters.length <= longest ? text : `${letters.slice(0, longest - 1).join('')}…`;
}

const termName = (players) => players.map((p) => playerNames[p]).join(' × ');

// Positions of numbers, the largest absolute one first.
function bySize(values) {
  const size = (i) => (missing(values[i]) ? -1 : Math.abs(values[i]));
  return Array.from(values, (_, i) => i).sort((a, b) => size(b) - size(a) || a - b);
}

// The order in which players are listed: by importance, or by Shapley effect where there are no rows.
function weightOfPlayers() {
  const found = outputFacts();
  return found.importance === null ? found.sensitivity.shapley_effect : found.importance.value;
}
