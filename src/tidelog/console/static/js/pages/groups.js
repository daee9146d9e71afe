// Groups: all of them with their lag. One of them is in group.js.
import { html, useMemo } from '../lib/html.js';
import { useLive } from '../lib/api.js';
import { count, plural } from '../lib/format.js';
import { path, setQuery } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Leaderless, NameSearch, NotTold, Problem, Silent, Table, Tag, Waiting } from '../lib/components.js';
import { Group } from './group.js';
import { Lag, State, knownLag, protocolOf } from './group_words.js';

export const title = ({ rest }) => (rest ? `Group ${visible(rest)}` : 'Groups');

const SHOWN = {
  all: { label: 'all', keep: () => true },
  lag: { label: 'with lag', keep: (row) => row.lag?.records > 0 },
  waiting: { label: 'that wait for a transaction', keep: (row) => row.lag?.waits },
  members: { label: 'with members', keep: (row) => row.members > 0 },
  empty: { label: 'without members', keep: (row) => row.members === 0 },
};

const Notes = ({ row }) => html`
  ${row.lag?.waits && html` <${Tag} kind="held" title="All that is left to read is behind an open transaction">waits for a transaction<//>`}
  ${row.lost > 0 && html` <${Tag} kind="bad" title="Records were deleted before the group has read them">missed records in ${plural(row.lost, 'partition', 'partitions')}<//>`}
  ${row.beyond > 0 && html` <${Tag} kind="bad" title="The committed offset is past the end of the log: it was cut, or the topic recreated">past the end in ${plural(row.beyond, 'partition', 'partitions')}<//>`}
  ${row.lag?.unknown > 0 && html` <${Tag} kind="warn" title="Partitions without a leader that answers, or that are not there any more">lag of ${plural(row.lag.unknown, 'partition', 'partitions')} not known<//>`}
  ${row.problem && html` <${Tag} kind="warn" title=${row.problem}>offsets not told<//>`}`;

const COLUMNS = [
  {
    key: 'id', label: 'Group', value: (row) => row.id,
    show: (row) => html`<div><a href=${path('groups', row.id)}>${visible(row.id)}</a><${Notes} row=${row} /></div>`,
  },
  { key: 'state', label: 'State', value: (row) => row.state, show: (row) => html`<${State} state=${row.state} />` },
  { key: 'protocol', label: 'Protocol', value: protocolOf, show: (row) => visible(protocolOf(row)) },
  { key: 'members', label: 'Members', value: (row) => row.members, show: (row) => count(row.members), number: true },
  { key: 'topics', label: 'Topics', value: (row) => row.topics, show: (row) => count(row.topics), number: true },
  { key: 'partitions', label: 'Partitions', value: (row) => row.partitions, show: (row) => count(row.partitions), number: true },
  { key: 'lag', label: 'Lag', value: (row) => knownLag(row.lag), show: (row) => html`<${Lag} lag=${row.lag} />`, number: true },
  {
    key: 'coordinator', label: 'Coordinator', value: (row) => row.coordinator, number: true,
    show: (row) => html`<a href=${path('brokers', row.coordinator)}>${row.coordinator}</a>`,
  },
];

function Groups({ query }) {
  const { data, failure } = useLive('groups/live', { named: query.named });
  const shown = Object.hasOwn(SHOWN, query.show ?? '') ? query.show : 'all';
  const rows = useMemo(() => (data ? data.groups.filter(SHOWN[shown].keep) : []), [data, shown]);
  if (!data) return html`<h1>Groups</h1><${Waiting} failure=${failure} />`;
  const bounded = rows.some((row) => row.lag && !row.lag.exact);
  return html`<h1>Groups</h1>
    <${Problem} failure=${failure} />
    <${Card} title="All groups" note=${`${count(rows.length)} of ${count(data.groups.length + data.left_out)}`}
      actions=${html`<label>Show <select value=${shown} onChange=${(event) => setQuery({ show: event.target.value })}>
        ${Object.entries(SHOWN).map(([key, { label }]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>`}>
      ${(data.left_out > 0 || query.named) && html`<${NameSearch} named=${query.named ?? ''} />`}
      ${data.left_out > 0 && html`<${NotTold}>There are more groups than this page shows: ${plural(data.left_out, 'is', 'are')} left out. Search for a part of their names.<//>`}
      <${Silent} brokers=${data.silent} what="groups" />
      <${Leaderless} partitions=${data.leaderless} log="__consumer_offsets" what="groups" />
      <${Table} label="Groups" columns=${COLUMNS} rows=${rows} rowKey=${(row) => row.id}
        sorted=${{ key: 'id', down: false }} empty=${shown === 'all' ? 'There are no groups: nobody has joined one or committed offsets.' : 'There are no groups of this kind.'} />
      <p class="muted">The lag is the number of records that a group has not read yet. Control records, such as the ends of transactions, do not count.${
  bounded ? ` ≤ is an upper bound: more than ${count(data.counted_up_to)} offsets of a partition are not looked at for control records in this list; the page of a group looks further.` : ''}</p>
    <//>`;
}

export default function GroupsPage({ rest, query, session }) {
  return rest ? html`<${Group} id=${rest} query=${query} session=${session} />` : html`<${Groups} query=${query} />`;
}
