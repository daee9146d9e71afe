// The members of a group: who they are, what they have, and what they are to have.
import { html } from '../lib/html.js';
import { count, plural } from '../lib/format.js';
import { path } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, NotTold, Table, Tag } from '../lib/components.js';
import { howMany, partitionsText, ranges } from './group_words.js';

function Assigned({ topics, problem = null }) {
  if (problem !== null) return html`<${Tag} kind="warn" title=${problem}>cannot be read<//>`;
  if (topics.length === 0) return html`<span class="muted">none</span>`;
  return html`<ul class="assigned">${topics.map(({ topic, partitions }) => html`
    <li key=${topic}><a href=${path('topics', topic)}>${visible(topic)}</a> ${ranges(partitions)}</li>`)}</ul>`;
}

// What a member gets and gives up until it has its target assignment.
function Target({ row }) {
  if (partitionsText(row.target) === partitionsText(row.assignment)) return html`<span class="muted">the same</span>`;
  return html`<div><${Assigned} topics=${row.target} /><${Tag} kind="warn">not there yet<//></div>`;
}

const epochText = (row, groupEpoch) => (row.epoch === groupEpoch ? count(row.epoch)
  : html`<span>${count(row.epoch)} <${Tag} kind="warn">behind<//></span>`);

const columns = ({ kind, epoch }) => [
  {
    key: 'client', label: 'Client id', value: (row) => row.client_id,
    show: (row) => html`<div>${visible(row.client_id) || '–'}<div class="member-id">${visible(row.id)}</div></div>`,
  },
  { key: 'host', label: 'Host', value: (row) => row.host, show: (row) => visible(row.host) },
  { key: 'instance', label: 'Instance id', value: (row) => row.instance_id, show: (row) => (row.instance_id === null ? '–' : visible(row.instance_id)) },
  ...(kind === 'consumer' ? [{ key: 'epoch', label: 'Epoch', value: (row) => row.epoch, show: (row) => epochText(row, epoch), number: true }] : []),
  { key: 'count', label: 'Has', value: (row) => row.assignment.reduce((sum, { partitions }) => sum + partitions.length, 0), show: (row) => (row.assignment_problem === null ? howMany(row.assignment) : 'not known'), number: true },
  { key: 'assignment', label: 'Assignment', value: (row) => partitionsText(row.assignment), show: (row) => html`<${Assigned} topics=${row.assignment} problem=${row.assignment_problem} />` },
  ...(kind === 'consumer' ? [{ key: 'target', label: 'Target assignment', value: (row) => partitionsText(row.target), show: (row) => html`<${Target} row=${row} />` }] : []),
];

export function GroupMembers({ data }) {
  if (data.members === null) return html`<${NotTold}>The members of groups of this kind are not told to this client.<//>`;
  return html`<${Card} title="Members" note=${count(data.members.length + data.members_left_out)}>
    ${data.members_left_out > 0 && html`<${NotTold}>${plural(data.members_left_out, 'more member is', 'more members are')} left out.<//>`}
    <${Table} label="Members" columns=${columns(data)} rows=${data.members} rowKey=${(row) => row.id}
      empty="The group has no members: nobody reads with it now." />
    ${data.kind === 'classic' && data.members.length > 0 && html`<${NotTold}>Coordinators do not tell the generation and the target assignment of classic groups.<//>`}
  <//>`;
}
