// Transactions: all transactional ids, which of them hold readers back, and those that hang. One of them in transaction.js.
import { html, useMemo } from '../lib/html.js';
import { useLive } from '../lib/api.js';
import { count, duration, plural } from '../lib/format.js';
import { path, setQuery } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Leaderless, NameSearch, NotTold, Problem, Silent, Table, Tag, Waiting } from '../lib/components.js';
import { Hanging } from './hanging.js';
import { HoldingBack } from './holding_back.js';
import { Transaction } from './transaction.js';
import { OPEN, stateKind } from './transaction_states.js';

export const title = ({ rest }) => (rest ? `Transaction ${visible(rest)}` : 'Transactions');

const SHOWN = {
  all: { label: 'all', keep: () => true },
  open: { label: 'open', keep: (row) => OPEN.includes(row.state) },
  idle: { label: 'without an open transaction', keep: (row) => !OPEN.includes(row.state) },
};

const columns = (nowMs) => [
  {
    key: 'id', label: 'Transactional id', value: (row) => row.id,
    show: (row) => html`<a href=${path('transactions', row.id)}>${visible(row.id)}</a>`,
  },
  { key: 'state', label: 'State', value: (row) => row.state, show: (row) => html`<${Tag} kind=${stateKind(row.state)}>${row.state}<//>` },
  {
    key: 'open', label: 'Open for', value: (row) => (row.start_ms === null ? null : nowMs - row.start_ms), number: true,
    show: (row) => (row.start_ms === null ? '–' : duration(Math.max(0, nowMs - row.start_ms))),
  },
  {
    key: 'partitions', label: 'Partitions', value: (row) => row.names.join(' '),
    show: (row) => (row.partitions === 0 ? '–' : html`${row.names.map(visible).join(', ')}${
      row.partitions > row.names.length ? ` and ${count(row.partitions - row.names.length)} more` : ''}`),
  },
  { key: 'producer', label: 'Producer id', value: (row) => row.producer_id, number: true },
  { key: 'epoch', label: 'Epoch', value: (row) => row.producer_epoch, number: true },
  { key: 'timeout', label: 'Timeout', value: (row) => row.timeout_ms, show: (row) => timeout(row.timeout_ms), number: true },
  {
    key: 'coordinator', label: 'Coordinator', value: (row) => row.coordinator, number: true,
    show: (row) => html`<a href=${path('brokers', row.coordinator)}>${row.coordinator}</a>`,
  },
];

// A participant of a two-phase commit has the largest number instead of a timeout (KIP-939).
const timeout = (ms) => (ms === 2147483647 ? 'none' : duration(ms));

function Holding({ data }) {
  return html`
    ${data.holding.length === 0
    ? html`<p class="all-good">No open transaction holds readers of committed records back.</p>`
    : html`<ul class="holding">${data.holding.map((holding) => html`
      <li key=${holding.producer_id}><${HoldingBack} holding=${holding} nowMs=${data.now_ms} /></li>`)}</ul>`}
    ${data.holding_left_out > 0 && html`<${NotTold}>${plural(data.holding_left_out, 'more transaction holds', 'more transactions hold')} partitions back, for a shorter time.<//>`}
    ${!data.groups_told && html`<${NotTold}>Not all groups are told to this client, so more of them may wait.<//>`}
    ${data.partitions_left_out > 0 && html`<${NotTold}>${plural(data.partitions_left_out, 'partition', 'partitions')} of open transactions are not looked at.<//>`}
    ${data.partitions_unknown.length > 0 && html`<${NotTold}>These partitions do not tell about their producers: ${data.partitions_unknown.slice(0, 10).map(visible).join(', ')}${
  data.partitions_unknown.length > 10 ? ` and ${count(data.partitions_unknown.length - 10)} more` : ''}.<//>`}`;
}

function Transactions({ query, session }) {
  const { data, failure } = useLive('transactions/live', { named: query.named });
  const shown = Object.hasOwn(SHOWN, query.show ?? '') ? query.show : 'all';
  const rows = useMemo(() => (data ? data.transactions.filter(SHOWN[shown].keep) : []), [data, shown]);
  const table = useMemo(() => columns(data?.now_ms ?? 0), [data]);
  return html`<h1>Transactions</h1>
    ${!data ? html`<${Waiting} failure=${failure} />` : html`
    <${Problem} failure=${failure} />
    <${Card} title="Held back"><${Holding} data=${data} /><//>
    <${Card} title="Transactional ids" note=${`${count(rows.length)} of ${count(data.transactions.length + data.left_out)}`}
      actions=${html`<label>Show <select value=${shown} onChange=${(event) => setQuery({ show: event.target.value })}>
        ${Object.entries(SHOWN).map(([key, { label }]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>`}>
      ${(data.left_out > 0 || query.named) && html`<${NameSearch} label="Id contains" named=${query.named ?? ''} />`}
      ${data.left_out > 0 && html`<${NotTold}>There are more transactional ids than this page shows: ${plural(data.left_out, 'is', 'are')} left out, those with an open transaction last. Search for a part of their names.<//>`}
      <${Silent} brokers=${data.silent} what="transactional ids" />
      <${Leaderless} partitions=${data.leaderless} log="__transaction_state" what="transactional ids" />
      <${Table} label="Transactional ids" columns=${table} rows=${rows} rowKey=${(row) => row.id}
        empty="There are no transactional ids of this kind: nobody uses transactions, or their ids have expired." />
    <//>`}
    <${Hanging} session=${session} />`;
}

export default function TransactionsPage({ rest, query, session }) {
  return rest ? html`<${Transaction} id=${rest} session=${session} />` : html`<${Transactions} query=${query} session=${session} />`;
}
