// What pages are made of.
import { Component, html, useEffect, useId, useMemo, useRef, useState } from './html.js';
import { NOTHING, count, exactTime, time } from './format.js';
import { setQuery } from './router.js';

// A failure as a sentence. `kind` "unsupported" is what this cluster cannot tell: a word, not an error.
export function Problem({ failure }) {
  if (!failure) return null;
  const calm = failure.problem === 'unsupported';
  return html`<p class=${calm ? 'note' : 'problem'} role=${calm ? undefined : 'alert'}>${failure.message}</p>`;
}

export class ErrorBoundary extends Component {
  constructor() {
    super();
    this.state = { failure: null };
  }

  static getDerivedStateFromError(failure) {
    return { failure };
  }

  componentDidCatch(failure) {
    console.error(failure);
  }

  // Another query may be one that the page can show.
  componentDidUpdate(before) {
    if (this.state.failure && before.of !== this.props.of) this.setState({ failure: null });
  }

  render({ children }, { failure }) {
    if (!failure) return children;
    return html`<p class="problem" role="alert">This page has failed: ${failure.message}. Please report it.</p>`;
  }
}

// Until the first reading has come.
export function Waiting({ failure, what = 'the cluster' }) {
  return failure ? html`<${Problem} failure=${failure} />` : html`<p class="waiting" role="status">Asking ${what} …</p>`;
}

// What this cluster does not tell: `what` is left out with a word.
export const NotTold = ({ children }) => html`<p class="note">${children}</p>`;

// Brokers that have not answered in time: `what` they coordinate is not on the page.
export const Silent = ({ brokers, what }) => brokers.length > 0 && html`<${NotTold}>${
  brokers.length === 1 ? `Broker ${brokers[0]} does not answer: the ${what} that it coordinates are left out.`
    : `Brokers ${brokers.join(', ')} do not answer: the ${what} that they coordinate are left out.`}<//>`;

// Partitions of a log of coordinators that have no leader, so that nobody coordinates what is in them.
export const Leaderless = ({ partitions, log, what }) => partitions > 0 && html`<${NotTold}>${
  partitions === 1 ? `1 partition of ${log} has no leader: the ${what} that its leader would coordinate are left out.`
    : `${count(partitions)} partitions of ${log} have no leader: the ${what} that their leaders would coordinate are left out.`}<//>`;

export const Tag = ({ kind = '', title, children }) => html`<span class=${`tag ${kind}`} title=${title}>${children}</span>`;

export const Time = ({ ms }) => (ms === null || ms === undefined || ms < 0
  ? html`<span>–</span>`
  : html`<time dateTime=${exactTime(ms)} title=${exactTime(ms)}>${time(ms)}</time>`);

export function Card({ title, note, actions, children, class: kind = '' }) {
  const id = useId();
  return html`<section class=${`card ${kind}`} aria-labelledby=${id}>
    <div class="card-head"><h2 id=${id}>${title}</h2>${note && html`<span class="muted">${note}</span>`}
      ${actions && html`<div class="actions">${actions}</div>`}</div>
    ${children}
  </section>`;
}

// Names and values: [[name, value], ...].
export const Facts = ({ rows }) => html`<dl class="facts">${rows.filter(Boolean).map(([name, value]) => html`
  <div key=${name}><dt>${name}</dt><dd>${value ?? '–'}</dd></div>`)}</dl>`;

// Made once: a list of a thousand names is sorted with each reading.
const names = new Intl.Collator('en', { numeric: true });
// What is missing comes first, then numbers, then words.
const rank = (value) => (value === null || value === undefined || value === '' ? 0 : typeof value === 'string' ? 2 : 1);

function compare(a, b) {
  const kind = rank(a);
  if (kind !== rank(b)) return kind - rank(b);
  if (kind === 2) return names.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

// Columns: { key, label, value(row) for sorting and filtering, show(row) if it is not the value, number: aligned right }.
// On narrow screens each row is a block with the labels beside the values.
export function Table({
  label, columns, rows, rowKey, filter = true, pageSize = 50, empty = 'There is nothing here.', sorted = null, rowClass,
}) {
  const [order, setOrder] = useState(sorted ?? { key: null, down: false });
  const [text, setText] = useState('');
  const [page, setPage] = useState(0);
  const wanted = text.trim().toLowerCase();
  const found = useMemo(() => {
    const matching = wanted
      ? rows.filter((row) => columns.some((column) => String(column.value(row) ?? '').toLowerCase().includes(wanted)))
      : [...rows];
    const column = columns.find(({ key }) => key === order.key);
    if (column) {
      matching.sort((a, b) => compare(column.value(a), column.value(b)) * (order.down ? -1 : 1));
    }
    return matching;
  }, [rows, columns, wanted, order]);
  const pages = Math.max(1, Math.ceil(found.length / pageSize));
  const shown = Math.min(page, pages - 1);
  const part = found.slice(shown * pageSize, (shown + 1) * pageSize);
  const sortBy = (key) => setOrder((before) => ({ key, down: before.key === key ? !before.down : false }));
  const many = rows.length > 8;
  return html`<div class="table">
    ${filter && (many || text !== '') && html`<label class="filter">Filter
      <input type="search" value=${text} onInput=${(event) => { setText(event.target.value); setPage(0); }} /></label>`}
    <table><caption class="hidden">${label}</caption>
      <thead><tr>${columns.map((column) => html`
        <th key=${column.key} scope="col" class=${column.number ? 'number' : ''}
            aria-sort=${order.key === column.key ? (order.down ? 'descending' : 'ascending') : undefined}>
          <button type="button" onClick=${() => sortBy(column.key)}>${column.label}<span class="order" aria-hidden="true">${
  order.key === column.key ? (order.down ? '▾' : '▴') : ''}</span></button></th>`)}</tr></thead>
      <tbody>${part.map((row) => html`<tr key=${rowKey(row)} class=${rowClass?.(row) ?? ''}>${columns.map((column) => html`
        <td key=${column.key} class=${column.number ? 'number' : ''} data-label=${column.label}>${
  column.show ? column.show(row) : column.value(row) ?? '–'}</td>`)}</tr>`)}</tbody>
    </table>
    ${found.length === 0 && html`<p class="muted">${wanted ? `Nothing contains “${text.trim()}”.` : empty}</p>`}
    ${pages > 1 && html`<nav class="paging" aria-label=${`Pages of ${label}`}>
      <button type="button" disabled=${shown === 0} onClick=${() => setPage(shown - 1)}>Previous</button>
      <span>${count(shown * pageSize + 1)} to ${count(Math.min(found.length, (shown + 1) * pageSize))} of ${count(found.length)}</span>
      <button type="button" disabled=${shown === pages - 1} onClick=${() => setPage(shown + 1)}>Next</button></nav>`}
  </div>`;
}

// A small plot of points [{at (seconds), value}]; what is null leaves a hole.
export function Plot({ label, points, show, height = 56 }) {
  const width = 240;
  const isKnown = ({ value }) => value !== null && value !== undefined;
  const known = points.filter(isKnown);
  const last = points.at(-1);
  const now = last && isKnown(last) ? show(last.value) : NOTHING;
  const top = Math.max(...known.map(({ value }) => value), 0);
  const begin = points[0]?.at ?? 0;
  const span = Math.max((points.at(-1)?.at ?? 0) - begin, 1);
  const x = (at) => (((at - begin) / span) * width).toFixed(1);
  const y = (value) => (height - 3 - (top ? (value / top) * (height - 8) : 0)).toFixed(1);
  const parts = [];
  points.forEach((point, index) => {
    if (!isKnown(point)) return;
    if (index === 0 || !isKnown(points[index - 1])) parts.push([]);
    parts.at(-1).push(point);
  });
  const lineOf = (part) => part.map(({ at, value }, index) => `${index ? 'L' : 'M'}${x(at)} ${y(value)}`).join('');
  const line = parts.map(lineOf).join('');
  const area = parts.filter((part) => part.length > 1)
    .map((part) => `${lineOf(part)}L${x(part.at(-1).at)} ${height}L${x(part[0].at)} ${height}Z`).join('');
  const text = known.length ? `${label}: now ${now}, at most ${show(top)}` : `${label}: ${points.length ? 'not known' : 'no reading yet'}`;
  return html`<figure class="plot">
    <figcaption>${label} <strong>${points.length ? now : '…'}</strong></figcaption>
    <svg viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label=${text}>
      <path class="plot-area" d=${area} /><path class="plot-line" d=${line} />
    </svg>
    <span class="muted">at most ${known.length ? show(top) : '…'} in ${Math.round(span)} s</span>
  </figure>`;
}

// A dialog before a change: `lines` say what will change. `onConfirm` may be asynchronous; what it throws is shown.
export function Confirm({ title, confirm, danger = true, onConfirm, onClose, children, ready = true }) {
  const dialog = useRef(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState(null);
  const id = useId();
  useEffect(() => { dialog.current.showModal(); }, []);
  const act = async (event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      await onConfirm();
      dialog.current?.close();
    } catch (problem) {
      setFailure(problem);
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} aria-labelledby=${id} onClose=${onClose}>
    <form onSubmit=${act}>
      <h2 id=${id}>${title}</h2>
      ${children}
      <${Problem} failure=${failure} />
      <div class="actions">
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button type="submit" class=${danger ? 'danger' : 'primary'} disabled=${busy || !ready}>${busy ? 'Working …' : confirm}</button>
      </div>
    </form>
  </dialog>`;
}

// Views of one page that have addresses of their own: [{ href, label, current }].
export const Tabs = ({ label, tabs }) => html`<nav class="tabs" aria-label=${label}><ul>${tabs.map((tab) => html`
  <li key=${tab.href}><a href=${tab.href} aria-current=${tab.current ? 'page' : undefined}>${tab.label}</a></li>`)}</ul></nav>`;

// A way back, and the name of what is shown. `kind` stands before it.
export const Heading = ({ back, kind, name, children }) => html`<div class="heading">
  ${back && html`<a class="back" href=${back.href}>${back.label}</a>`}
  <h1>${kind && html`<span class="kind">${kind} </span>`}${name}</h1>${children}</div>`;

// For lists that are too long for a page: a part of the names, which the console looks for.
export const NameSearch = ({ label = 'Name contains', named }) => html`
  <form class="controls" onSubmit=${(event) => { event.preventDefault(); setQuery({ named: event.target.elements.named.value }); }}>
    <label>${label} <input type="search" name="named" defaultValue=${named} /></label><button type="submit">Search</button></form>`;
