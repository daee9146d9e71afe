// The producers that the leader of a partition remembers: for the page of a topic.
import { html, useMemo } from '../lib/html.js';
import { useLive } from '../lib/api.js';
import { count, plural } from '../lib/format.js';
import { path } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Facts, Leaderless, NotTold, Problem, Silent, Table, Tag, Time, Waiting } from '../lib/components.js';

const sequences = ({ base_sequence: base, last_sequence: last }) => (
  base === null ? 'marker' : base === last ? count(base) : `${count(base)} to ${count(last)}`);

// Oldest first, as the leader keeps them: by these it knows a batch that is sent twice.
function Batches({ batches }) {
  if (!batches) return '–';
  if (batches.length === 0) return html`<span class="muted">none of this epoch</span>`;
  return html`<ol class="batches">${batches.map((batch) => html`
    <li key=${batch.last_offset} title=${`up to offset ${count(batch.last_offset)}`}><span class="sequences">${sequences(batch)}</span>${' '}
      <span class="muted">offset ${count(batch.last_offset)}</span></li>`)}</ol>`;
}

const columns = (data) => [
  { key: 'id', label: 'Producer id', value: (row) => row.id, number: true },
  { key: 'epoch', label: 'Epoch', value: (row) => row.epoch, number: true },
  {
    key: 'transactional', label: 'Transactional id', value: (row) => row.transactional_id ?? '',
    show: (row) => (row.transactional_id === null ? '–'
      : html`<a href=${path('transactions', row.transactional_id)}>${visible(row.transactional_id)}</a>`),
  },
  {
    key: 'open', label: 'Open transaction', value: (row) => row.open_since,
    show: (row) => (row.open_since === null ? '–' : html`<span><${Tag} kind="warn">since offset ${count(row.open_since)}<//>${
      row.open_since === data.last_stable_offset && html` <${Tag} kind="held">holds readers back<//>`}</span>`),
  },
  { key: 'sequence', label: 'Last sequence', value: (row) => row.last_sequence, show: (row) => count(row.last_sequence), number: true },
  { key: 'last', label: 'Last write', value: (row) => row.last_ms, show: (row) => html`<${Time} ms=${row.last_ms} />` },
  { key: 'coordinator', label: 'Coordinator epoch', value: (row) => row.coordinator_epoch, number: true },
  ...(data.batches_told ? [{
    key: 'batches', label: 'Last batches', value: (row) => (row.batches ?? []).map(sequences).join(' '),
    show: (row) => html`<${Batches} batches=${row.batches} />`,
  }] : []),
];

export function Producers({ topic, partition }) {
  const { data, failure } = useLive('producers/live', { topic, partition });
  const table = useMemo(() => (data ? columns(data) : []), [data]);
  if (!data) return html`<${Waiting} failure=${failure} />`;
  const open = data.producers.filter((row) => row.open_since !== null).length;
  return html`<${Problem} failure=${failure} />
    <${Card} title=${`Producers of partition ${partition}`} note="idempotent and transactional ones, as the leader remembers them">
      <${Facts} rows=${[
    ['Producers', count(data.producers.length + data.left_out)],
    ['Open transactions', count(open)],
    ['Last stable offset', count(data.last_stable_offset)],
    ['High watermark', count(data.high_watermark)],
  ]} />
      <${Table} label="Producers" columns=${table} rows=${data.producers} rowKey=${(row) => row.id}
        empty="No idempotent producer has written to this partition lately. Producers without idempotence have no id." />
      ${data.batches_told && html`<p class="muted">The last batches of a producer: their sequences, and the offset of the last record, oldest first. By these the leader knows a batch that is sent twice.</p>`}
      ${data.left_out > 0 && html`<${NotTold}>${plural(data.left_out, 'producer that wrote longer ago is', 'producers that wrote longer ago are')} left out.<//>`}
      ${data.producers.length > 0 && !data.batches_told && html`<${NotTold}>Which batches a broker remembers of each producer only tidelog tells; this one tells the last sequence.<//>`}
      <${Silent} brokers=${data.ids_silent} what="transactional ids" />
      <${Leaderless} partitions=${data.ids_leaderless} log="__transaction_state" what="transactional ids" />
      ${!data.ids_told && html`<${NotTold}>Transactional ids are left out: this client may not list transactions, or the brokers cannot.<//>`}
    <//>`;
}
