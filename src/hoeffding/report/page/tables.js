// Tables that sort by a click on a head and search by text.

const ROWS_AT_FIRST = 15;
let tablesMade = 0;

// columns: [{ label, text(row), value(row) }]; a column with `value` is numeric and sorts by it.
function showTable(target, { caption, columns, rows, note = '' }) {
  tablesMade += 1;
  const view = { by: null, down: true, words: '', all: false };
  const status = element('p', { class: 'status', role: 'status' });
  const body = element('tbody');
  const heads = columns.map((column, k) => {
    const button = element('button', { type: 'button' }, column.label);
    const head = element('th', { scope: 'col', class: column.value ? 'numeric' : null }, button);
    button.addEventListener('click', () => {
      view.down = view.by === k ? !view.down : Boolean(column.value);
      view.by = k;
      heads.forEach((other, j) => {
        if (j === k) other.setAttribute('aria-sort', view.down ? 'descending' : 'ascending');
        else other.removeAttribute('aria-sort');
      });
      refresh();
    });
    return head;
  });
  const search = element('input', { type: 'search', id: `search-${tablesMade}`, autocomplete: 'off', spellcheck: 'false' });
  search.addEventListener('input', () => {
    view.words = search.value.trim().toLowerCase();
    refresh();
  });
  const more = element('button', { type: 'button', class: 'more' });
  more.addEventListener('click', () => {
    view.all = !view.all;
    refresh();
  });

  function refresh() {
    const found = sorted(rows.filter((row) => matches(row, view.words)), columns, view);
    const shown = view.all ? found : found.slice(0, ROWS_AT_FIRST);
    fill(body, ...shown.map((row) => element('tr', {}, ...columns.map((column, k) => cell(column, row, k)))));
    const all = found.length === rows.length ? '' : ` of ${integer(rows.length)}`;
    status.textContent = `${count(found.length, 'row')}${all}${shown.length < found.length ? `, ${integer(shown.length)} shown` : ''}`;
    more.textContent = view.all ? 'Show fewer' : `Show all ${integer(found.length)}`;
    more.hidden = found.length <= ROWS_AT_FIRST;
  }

  function matches(row, words) {
    return words === '' || columns.some((column) => !column.value && column.text(row).toLowerCase().includes(words));
  }

  const searching = element('p', { class: 'search' }, element('label', { for: search.id }, 'Search'), ' ', search);
  searching.hidden = rows.length <= ROWS_AT_FIRST;
  const table = element(
    'table', {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...heads)),
    body,
  );
  const scroller = element('div', { class: 'scroller', role: 'region', 'aria-label': caption, tabindex: '0' }, table);
  fill(target, searching, scroller, element('p', { class: 'below' }, more), status);
  if (note) target.append(element('p', { class: 'note' }, note));
  refresh();
}

function sorted(rows, columns, view) {
  if (view.by === null) return rows;
  const column = columns[view.by];
  const sign = view.down ? -1 : 1;
  const compare = column.value
    ? (a, b) => order(column.value(a), column.value(b), sign)
    : (a, b) => sign * column.text(a).localeCompare(column.text(b), 'en', { numeric: true });
  return [...rows].sort(compare);
}

// Numbers that are not defined go last in both directions.
function order(a, b, sign) {
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  return sign * (a - b);
}

function cell(column, row, k) {
  const tag = k === 0 ? 'th' : 'td';
  const attributes = { class: column.value ? 'numeric' : null, scope: k === 0 ? 'row' : null };
  return element(tag, attributes, column.text(row));
}
