// Topics: all of them with their rates, and one of them.
import { html, useMemo, useState } from '../lib/html.js';
import { useLive } from '../lib/api.js';
import { NOTHING, bytes, count, rate } from '../lib/format.js';
import { path, setQuery } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Problem, Table, Tag, Waiting } from '../lib/components.js';
import { Lag, knownLag } from './group_words.js';
import { Topic } from './topic.js';
import { CreateTopic } from './topic_changes.js';

export const title = ({ rest }) => (rest ? `Topic ${rest}` : 'Topics');

const SHOWN = {
  own: { label: 'without internal topics', keep: (row) => !row.internal },
  all: { label: 'all', keep: () => true },
  'under-replicated': { label: 'under-replicated', keep: (row) => row.under_replicated > 0 || row.offline > 0 },
  offline: { label: 'with partitions without a leader', keep: (row) => row.offline > 0 },
};

// Of a topic with partitions whose leader does not answer, only the others are counted.
const atLeast = (row, text) => (row.silent > 0 && text !== NOTHING ? `≥ ${text}` : text);

const COLUMNS = [
  {
    key: 'name', label: 'Topic', value: (row) => row.name,
    show: (row) => html`<a href=${path('topics', row.name)}>${row.name}</a>
      ${row.internal && html` <${Tag}>internal<//>`}
      ${row.offline > 0 && html` <${Tag} kind="bad">${count(row.offline)} without leader<//>`}
      ${row.silent > 0 && html` <${Tag} kind="bad" title="Their leader does not answer, so offsets and sizes are those of the others">${count(row.silent)} silent<//>`}
      ${row.under_replicated > 0 && html` <${Tag} kind="warn">${count(row.under_replicated)} under-replicated<//>`}`,
  },
  { key: 'partitions', label: 'Partitions', value: (row) => row.partitions, show: (row) => count(row.partitions), number: true },
  { key: 'replication', label: 'Replicas', value: (row) => row.replication, number: true },
  { key: 'offsets', label: 'Offsets', value: (row) => row.offsets, show: (row) => atLeast(row, count(row.offsets)), number: true },
  { key: 'rate', label: 'Written', value: (row) => row.rate, show: (row) => rate(row.rate), number: true },
  { key: 'size', label: 'Size', value: (row) => row.size, show: (row) => atLeast(row, bytes(row.size)), number: true },
  {
    key: 'lag', label: 'Lag', value: (row) => knownLag(row.lag), number: true,
    show: (row) => (row.lag ? html`<div><${Lag} lag=${row.lag} /><span class="lag-notes">
      <a href=${path('groups', row.lag.group)} title="The group that is furthest behind">${visible(row.lag.group)}</a></span></div>` : '–'),
  },
];

function Topics({ query, session }) {
  const [creating, setCreating] = useState(false);
  const { data, failure } = useLive('topics/live');
  const shown = Object.hasOwn(SHOWN, query.show ?? '') ? query.show : 'own';
  const rows = useMemo(() => (data ? data.topics.filter(SHOWN[shown].keep) : []), [data, shown]);
  return html`<h1>Topics</h1>
    ${!data ? html`<${Waiting} failure=${failure} />` : html`
    <${Problem} failure=${failure} />
    <${Card} title="All topics" note=${`${count(rows.length)} of ${count(data.topics.length)}`}
      actions=${html`<label>Show <select value=${shown} onChange=${(event) => setQuery({ show: event.target.value })}>
        ${Object.entries(SHOWN).map(([key, { label }]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>
        ${!session.read_only && html` <button type="button" onClick=${() => setCreating(true)}>Create …</button>`}`}>
      <${Table} label="Topics" columns=${COLUMNS} rows=${rows} rowKey=${(row) => row.name}
        sorted=${{ key: 'name', down: false }} empty="There are no topics of this kind." />
      <p class="muted">${data.lags_told === null ? 'Lags are being read …'
    : data.lags_told ? 'The lag is that of the group which is furthest behind; ≤ is an upper bound, with control records in it.'
    : 'Lags are left out: groups may not be seen.'}</p>
    <//>
    ${creating && html`<${CreateTopic} onClose=${() => setCreating(false)} />`}`}`;
}

export default function TopicsPage({ rest, query, session }) {
  return rest ? html`<${Topic} name=${rest} query=${query} session=${session} />` : html`<${Topics} query=${query} session=${session} />`;
}
