// Leader epochs as bands on the offset axis: which leader's term has written which offsets.
import { html } from '../lib/html.js';
import { count } from '../lib/format.js';
import { Table } from '../lib/components.js';

// An epoch with few records still has a band that can be seen.
const LEAST = 0.015;

const COLUMNS = [
  { key: 'epoch', label: 'Epoch', value: (row) => row.epoch, number: true },
  { key: 'start', label: 'From offset', value: (row) => row.start, show: (row) => count(row.start), number: true },
  { key: 'end', label: 'To offset', value: (row) => row.end - 1, show: (row) => count(row.end - 1), number: true },
  { key: 'count', label: 'Offsets', value: (row) => row.end - row.start, show: (row) => count(row.end - row.start), number: true },
];

export function Epochs({ epochs, logEnd }) {
  if (!epochs) return html`<p class="muted">The leader has not told its epochs.</p>`;
  // The reading of the epochs may be older than that of the log end.
  const rows = epochs.map((each, index) => (
    index === epochs.length - 1 && logEnd !== null ? { ...each, end: Math.max(each.end, logEnd) } : each));
  if (rows.length === 0) return html`<p class="muted">Nothing has been written yet.</p>`;
  const total = rows.at(-1).end - rows[0].start;
  const sizes = rows.map((each) => Math.max((each.end - each.start) / total, LEAST));
  return html`
    <div class="bands" role="img" aria-label=${`Leader epochs: ${rows.map((each) => `epoch ${each.epoch} from ${each.start} to ${each.end - 1}`).join(', ')}`}>
      ${rows.map((each, index) => html`<div key=${each.epoch} class="band" style=${{ flexGrow: String(sizes[index]) }}
        title=${`epoch ${each.epoch}: offsets ${count(each.start)} to ${count(each.end - 1)}`}>
        <span>${each.epoch}</span></div>`)}
    </div>
    <details><summary>Epochs as a table</summary>
      <${Table} label="Leader epochs" columns=${COLUMNS} rows=${rows} rowKey=${(row) => row.epoch} /></details>`;
}
