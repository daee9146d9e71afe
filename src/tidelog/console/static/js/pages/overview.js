// Overview: what needs attention, brokers, the metadata quorum, rates and latencies.
import { html } from '../lib/html.js';
import { useLive } from '../lib/api.js';
import { bytes, compact, count, duration, plural, rate } from '../lib/format.js';
import { visible } from '../lib/visible.js';
import { Card, Facts, NotTold, Plot, Problem, Table, Tag, Waiting } from '../lib/components.js';

export const title = () => 'Overview';

const BROKERS = [
  { key: 'id', label: 'Broker', value: (row) => row.id, show: (row) => html`<a href=${`/brokers/${row.id}`}>${row.id}</a>` },
  { key: 'address', label: 'Address', value: (row) => row.address },
  {
    key: 'state',
    label: 'State',
    value: (row) => (row.fenced ? 'fenced' : row.latency_ms === null ? 'does not answer' : 'answers'),
    show: (row) => html`${row.fenced ? html`<${Tag} kind="warn">fenced<//>`
    : row.latency_ms === null ? html`<${Tag} kind="bad">does not answer<//>` : html`<${Tag} kind="good">answers<//>`}
      ${row.controller && html` <${Tag}>controller<//>`}`,
  },
  { key: 'leads', label: 'Leads', value: (row) => row.leads, show: (row) => count(row.leads), number: true },
  { key: 'holds', label: 'Replicas', value: (row) => row.holds, show: (row) => count(row.holds), number: true },
  {
    key: 'latency', label: 'Answers in', value: (row) => row.latency_ms, number: true,
    show: (row) => (row.latency_ms === null ? '–' : `${row.latency_ms} ms`),
  },
];

const VOTERS = [
  { key: 'id', label: 'Voter', value: (row) => row.id },
  { key: 'role', label: 'Role', value: (row) => row.role },
  { key: 'log_end', label: 'Log end', value: (row) => row.log_end, show: (row) => count(row.log_end), number: true },
  { key: 'lag', label: 'Lag', value: (row) => row.lag, show: (row) => count(row.lag), number: true },
  {
    key: 'fetched', label: 'Last fetch', value: (row) => row.fetched_ms_ago, number: true,
    show: (row) => (row.role === 'leader' || row.fetched_ms_ago === null ? '–' : `${duration(row.fetched_ms_ago)} ago`),
  },
];

function Attention({ findings }) {
  if (findings.length === 0) return html`<p class="all-good">Nothing needs attention.</p>`;
  return html`<ul class="findings">${findings.map(({ severity, text, link }) => html`
    <li key=${text} class=${severity === 'broken' ? 'bad' : 'warn'}>
      <${Tag} kind=${severity === 'broken' ? 'bad' : 'warn'}>${severity}<//> <span>${visible(text)}</span> <a href=${link}>Show</a>
    </li>`)}</ul>`;
}

function Quorum({ quorum, silent }) {
  if (silent) return html`<${NotTold}>No controller has answered in time.<//>`;
  if (!quorum) return html`<${NotTold}>This cluster does not tell about its metadata quorum.<//>`;
  const voters = quorum.voters.map((voter) => ({ ...voter, role: voter.id === quorum.leader ? 'leader' : 'follower' }));
  return html`
    <${Facts} rows=${[
    ['Leader', quorum.leader ?? 'none'],
    ['Epoch', count(quorum.epoch)],
    ['High watermark', html`<a href="/metadata">${count(quorum.high_watermark)}</a>`],
    ['Observers', quorum.observers.length ? quorum.observers.map(({ id }) => id).join(', ') : 'none'],
  ]} />
    <${Table} label="Voters" columns=${VOTERS} rows=${voters} rowKey=${(row) => row.id} />`;
}

export default function Overview() {
  const { data, failure } = useLive('overview/live');
  if (!data) return html`<h1>Overview</h1><${Waiting} failure=${failure} />`;
  const { partitions, points } = data;
  return html`
    <h1>Overview</h1>
    <${Problem} failure=${failure} />
    <${Card} title="Attention"><${Attention} findings=${data.attention} /><//>
    <div class="columns">
      <${Card} title="Cluster">
        <${Facts} rows=${[
    ['Id', html`<code>${data.cluster_id}</code>`],
    ['Brokers', count(data.brokers.length)],
    ['Topics', html`<a href="/topics">${count(partitions.topics)}</a>`],
    ['Partitions', count(partitions.count)],
    ['Under-replicated', count(partitions.under_replicated)],
    ['Without a leader', count(partitions.offline)],
  ]} />
      <//>
      <${Card} title="Rates and latencies" note=${plural(points.length, 'reading', 'readings')}>
        <${Plot} label="Records written" show=${(value) => rate(value)}
          points=${points.map((point) => ({ at: point.at, value: point.records_per_second }))} />
        ${data.sizes_told
    ? html`<${Plot} label="Logs of leaders grow by" show=${(value) => `${bytes(value)}/s`}
          points=${points.map((point) => ({ at: point.at, value: point.bytes_per_second }))} />`
    : html`<${NotTold}>The sizes of logs may not be seen.<//>`}
        <${Plot} label="Slowest broker answers in" show=${(value) => `${compact(value)} ms`}
          points=${points.map((point) => ({ at: point.at, value: point.latency_ms }))} />
      <//>
    </div>
    <${Card} title="Brokers"><${Table} label="Brokers" columns=${BROKERS} rows=${data.brokers} rowKey=${(row) => row.id} /><//>
    <${Card} title="Metadata quorum"><${Quorum} quorum=${data.quorum} silent=${data.quorum_silent} /><//>`;
}
