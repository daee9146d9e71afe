// Segments of a log as blocks: their size, their time, and what compaction has done with them.
import { html } from '../lib/html.js';
import { bytes, count, plural, time } from '../lib/format.js';
import { NotTold, Table, Time } from '../lib/components.js';

// Older ones are in the table only.
const MOST_BLOCKS = 80;

const STATES = {
  active: 'active: is written to',
  clean: 'compacted',
  dirty: 'waits for compaction',
  not_compacted: 'sealed',
};
// In a block, where there is little room.
const SHORT = { active: 'active', clean: 'compacted', dirty: 'not compacted', not_compacted: 'sealed' };
const word = (state) => STATES[state] ?? state;

const COLUMNS = [
  { key: 'base', label: 'Base offset', value: (row) => row.base, show: (row) => html`<code>${String(row.base).padStart(20, '0')}.log</code>` },
  { key: 'next', label: 'To offset', value: (row) => row.next - 1, show: (row) => (row.next > row.base ? count(row.next - 1) : 'empty'), number: true },
  { key: 'size', label: 'Size', value: (row) => row.size, show: (row) => bytes(row.size), number: true },
  { key: 'newest', label: 'Newest record', value: (row) => row.newest_ms, show: (row) => html`<${Time} ms=${row.newest_ms} />` },
  { key: 'state', label: 'State', value: (row) => word(row.state) },
];

function summary(segments, omitted) {
  const size = bytes(segments.reduce((sum, each) => sum + each.size, 0));
  const total = plural(segments.length + omitted, 'segment', 'segments');
  return omitted > 0 ? `${total}; the newest ${count(segments.length)} have ${size}` : `${total}, ${size}`;
}

function Blocks({ segments, broker }) {
  const shown = segments.slice(-MOST_BLOCKS);
  const most = Math.max(...shown.map((each) => each.size), 1);
  return html`<div class="blocks" role="img" aria-label=${`${plural(segments.length, 'segment', 'segments')} on broker ${broker}`}>
    ${shown.map((each) => html`<div key=${each.base} class=${`block ${each.state}`} style=${{ flexGrow: String(Math.max(each.size / most, 0.02)) }}
      title=${`${String(each.base).padStart(20, '0')}.log: ${bytes(each.size)}, offsets ${count(each.base)} to ${count(each.next - 1)}, newest ${time(each.newest_ms)}, ${word(each.state)}`}>
      <span>${count(each.base)}</span><span>${bytes(each.size)}, ${SHORT[each.state] ?? each.state}</span>
      <span>${time(each.newest_ms)}</span></div>`)}
  </div>`;
}

export function Segments({ replicas }) {
  const told = replicas.filter((replica) => replica.segments);
  if (told.length === 0) {
    const problem = replicas.find((replica) => replica.problem)?.problem;
    return html`<${NotTold}>${problem ?? 'The brokers of this cluster do not tell their segments; tidelog does.'}<//>`;
  }
  const states = [...new Set(told.flatMap((replica) => replica.segments.map((each) => each.state)))];
  return html`
    ${told.map(({ broker, segments, omitted }) => html`<div key=${broker}>
      <h3>Broker ${broker} <span class="muted">${summary(segments, omitted)}</span></h3>
      <${Blocks} segments=${segments} broker=${broker} />
      <details><summary>Segments of broker ${broker} as a table</summary>
        <${Table} label=${`Segments of broker ${broker}`} columns=${COLUMNS} rows=${segments} rowKey=${(row) => row.base}
          sorted=${{ key: 'base', down: true }} pageSize=${20} /></details></div>`)}
    <ul class="legend" aria-label="What the colours mean">${states.map((state) => html`
      <li key=${state}><span class=${`swatch block ${state}`} />${word(state)}</li>`)}</ul>`;
}
