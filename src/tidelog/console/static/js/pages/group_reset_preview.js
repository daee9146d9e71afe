// What a reset would change: partition by partition, now → then.
import { html } from '../lib/html.js';
import { count, plural } from '../lib/format.js';
import { visible } from '../lib/visible.js';
import { Table, Tag } from '../lib/components.js';

const KEPT = {
  'nothing committed': 'stays: nothing is committed that could be shifted',
  'not in other group': 'stays: the other group has no offset of it',
  'no leader': 'stays: the partition has no leader that answers',
  'not told': 'stays: its leader has not told the offset of that time; preview again',
};

const CLAMPED = {
  start: (row) => `${count(row.wanted)} is before the log: the earliest offset`,
  end: (row) => `${count(row.wanted)} is past the end: the end of the log`,
  'none so late': () => 'no record is that late: the end of the log',
};

export const offsetText = (offset) => (offset === null ? 'nothing' : count(offset));

const difference = (row) => (row.now === null || row.then === null ? null : row.then - row.now);
const differenceText = (row) => {
  const number = difference(row);
  return number === null ? '–' : number > 0 ? `+${count(number)}` : count(number);
};

const COLUMNS = [
  { key: 'partition', label: 'Partition', value: (row) => `${row.topic}-${row.partition}`, show: (row) => visible(`${row.topic}-${row.partition}`) },
  { key: 'now', label: 'Now', value: (row) => row.now, show: (row) => offsetText(row.now), number: true },
  {
    key: 'then', label: 'Then', value: (row) => row.then, number: true,
    show: (row) => html`<span class=${row.changes ? 'change' : ''}>${row.changes ? '→ ' : ''}${offsetText(row.then)}</span>`,
  },
  { key: 'difference', label: 'Difference', value: difference, show: differenceText, number: true },
  {
    key: 'note', label: 'Note', value: (row) => row.kept ?? row.clamp ?? '',
    show: (row) => html`<span class="reset-note">${row.kept ? html`<${Tag}>${KEPT[row.kept]}<//>` : row.clamp ? html`<${Tag} kind="warn">${CLAMPED[row.clamp](row)}<//>`
      : row.changes ? '' : html`<span class="muted">stays</span>`}</span>`,
  },
];

export function ResetPreview({ rows }) {
  const clamped = rows.filter((row) => row.clamp && row.changes).length;
  return html`
    ${clamped > 0 && html`<p>${plural(clamped, 'offset is', 'offsets are')} not in the log: the nearest one takes its place.</p>`}
    <${Table} label="What would change" columns=${COLUMNS} rows=${rows} rowKey=${(row) => `${row.topic}-${row.partition}`} />`;
}
