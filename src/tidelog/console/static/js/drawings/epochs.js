// Leader epochs as bands on the offset axis: which leader's term has written which offsets.
import { html } from '../lib/html.js';
import { count } from '../lib/format.js';
import { Table } from '../lib/components.js';
import { WIDTH } from './offset_axis.js';

const COLUMNS = [
  { key: 'epoch', label: 'Epoch', value: (row) => row.epoch, number: true },
  { key: 'start', label: 'From offset', value: (row) => row.start, show: (row) => count(row.start), number: true },
  { key: 'end', label: 'To offset', value: (row) => row.end - 1, show: (row) => count(row.end - 1), number: true },
  { key: 'count', label: 'Offsets', value: (row) => row.end - row.start, show: (row) => count(row.end - row.start), number: true },
];

// The epochs and the log end are of two readings: the last epoch reaches to whatever end is the larger one.
export function epochsUpTo(epochs, logEnd) {
  return epochs.map((each, index) => (
    index === epochs.length - 1 && logEnd !== null ? { ...each, end: Math.max(each.end, logEnd) } : each));
}

const percent = (position) => `${((position / WIDTH) * 100).toFixed(2)}%`;

function Band({ epoch, scale }) {
  const from = scale.at(Math.max(epoch.start, scale.start));
  const to = scale.at(Math.min(epoch.end, scale.end));
  return html`<div class="band" style=${{ left: percent(from), width: percent(to - from) }}
    title=${`epoch ${epoch.epoch}: offsets ${count(epoch.start)} to ${count(epoch.end - 1)}`}>
    <span><b>${epoch.epoch}</b> <span class="from">from ${count(epoch.start)}</span></span></div>`;
}

// Below the gauges, on their axis.
export function EpochBands({ epochs, scale }) {
  const shown = scale && (epochs ?? []).filter((each) => each.end > scale.start && each.start < scale.end);
  if (!shown?.length) return null;
  const told = shown.map((each) => `epoch ${each.epoch} from ${each.start} to ${each.end - 1}`).join(', ');
  return html`<div class="gauge-name">Leader epochs <span class="muted">which leader's term has written which offsets</span></div>
    <div class="bands" role="img" aria-label=${`Leader epochs: ${told}`}>
      ${shown.map((each) => html`<${Band} key=${each.epoch} epoch=${each} scale=${scale} />`)}</div>`;
}

export function EpochTable({ epochs, logStart }) {
  if (!epochs) return html`<p class="muted">The leader has not told its epochs.</p>`;
  if (epochs.length === 0) return html`<p class="muted">Nothing has been written yet.</p>`;
  return html`
    <details><summary>Leader epochs as a table</summary>
      <${Table} label="Leader epochs" columns=${COLUMNS} rows=${epochs} rowKey=${(row) => row.epoch} /></details>
    ${logStart !== null && epochs[0].start > logStart && html`
      <p class="note">Only the last ${count(epochs.length)} leader epochs are shown: those before offset ${count(epochs[0].start)} are left out.</p>`}`;
}
