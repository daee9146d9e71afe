// Pipelines: jobs on Spark that run, or have ended badly, and what exactly-once queries have published.
import { html } from '../lib/html.js';
import { useLive } from '../lib/api.js';
import { count, duration, plural, rate } from '../lib/format.js';
import { path } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import {
  Card, Facts, Heading, Leaderless, NotTold, Plot, Problem, Silent, Table, Tag, Time, Waiting,
} from '../lib/components.js';

export const title = ({ rest }) => (rest ? `Pipeline ${visible(rest)}` : 'Pipelines');

const KINDS = {
  running: 'good', starting: '', retrying: 'warn', stalled: 'warn', stopping: '', silent: 'warn', ended: 'bad', 'does not answer': 'bad',
};

const Status = ({ row }) => html`<${Tag} kind=${KINDS[row.status] ?? ''}>${visible(row.status)}<//>`;

// Topics of the cluster of this page are links.
function End({ end, servers, other }) {
  if (!end) return html`<span class="muted">not told</span>`;
  const here = end.place === servers;
  const place = end.place && !here && html`<span class="muted"> ${end.table ? 'in' : 'of'} ${visible(end.place)}</span>`;
  if (end.table) return html`<span>table ${visible(end.table)}${place}</span>`;
  if (end.topics.length) {
    return html`<span>${end.topics.map((topic, index) => html`<span key=${topic}>${index > 0 && ', '}${
  here ? html`<a href=${path('topics', topic)}>${visible(topic)}</a>` : visible(topic)}</span>`)}${place}</span>`;
  }
  return html`<span>${end.pattern ? html`topics <code>${visible(end.pattern)}</code>` : other}${place}</span>`;
}

const Way = ({ row, servers }) => (!row.source && !row.target ? html`<span class="muted">not told</span>` : html`<span class="way"><${End} end=${row.source} servers=${servers} other="topics" />
  <span aria-hidden="true"> → </span><span class="hidden">to </span><${End} end=${row.target} servers=${servers} other="topics that the rows name" /></span>`);

// A file of a pipeline is a few seconds old, and by then the try may be under way.
const nextTry = ({ next_attempt_s: seconds }) => (seconds >= 1 ? `in ${duration(1000 * seconds)}` : 'now');

const lives = (row) => row.status !== 'ended' && row.status !== 'does not answer';

function columns(servers) {
  return [
    {
      key: 'name', label: 'Pipeline', value: (row) => row.name,
      show: (row) => html`<div><a href=${path('pipelines', row.name)}>${visible(row.name)}</a>${
  row.kind && html` <span class="muted">${visible(row.kind)}</span>`}</div>`,
    },
    {
      key: 'way', label: 'From → to', value: (row) => JSON.stringify([row.source, row.target]),
      show: (row) => html`<${Way} row=${row} servers=${servers} />`,
    },
    {
      key: 'status', label: 'Status', value: (row) => `${row.status} ${row.reason}`,
      show: (row) => html`<div><${Status} row=${row} />${row.reason && html`<div class="reason">${visible(row.reason)}</div>`}${
  row.next_attempt_s !== null && html`<div class="muted">next try ${nextTry(row)}</div>`}</div>`,
    },
    { key: 'batch', label: 'Batch', value: (row) => row.batch, show: (row) => count(row.batch), number: true },
    { key: 'rows', label: 'Rows', value: (row) => row.rows, show: (row) => count(row.rows), number: true },
    {
      key: 'rate', label: 'Rows/s', value: (row) => row.rows_per_second, number: true,
      show: (row) => (lives(row) ? rate(row.rows_per_second, '') : '–'),
    },
    { key: 'lag', label: 'Lag', value: (row) => row.lag, show: (row) => count(row.lag), number: true },
    { key: 'retries', label: 'Retries', value: (row) => row.retries, show: (row) => count(row.retries), number: true },
  ];
}

const QUERIES = [
  {
    key: 'name', label: 'Query', value: (row) => row.name,
    show: (row) => html`<div>${row.pipeline
      ? html`<a href=${path('pipelines', row.pipeline)}>${visible(row.pipeline)}</a> <code class="muted">${visible(row.name)}</code>`
      : html`<code>${visible(row.name)}</code>`} <span class="muted">${row.kind === 'query' ? '' : row.kind}</span></div>`,
  },
  { key: 'batch', label: 'Last batch', value: (row) => row.batch, show: (row) => (row.kind === 'job' ? '–' : count(row.batch)), number: true },
  { key: 'rows', label: 'Rows in it', value: (row) => row.rows, show: (row) => count(row.rows), number: true },
  { key: 'last', label: 'Published', value: (row) => row.last_ms, show: (row) => html`<${Time} ms=${row.last_ms} />` },
  { key: 'atomicity', label: 'Atomicity', value: (row) => row.atomicity, show: (row) => row.atomicity || '–' },
  {
    key: 'until', label: 'Read up to', value: (row) => row.until,
    show: (row) => (row.until ? html`<code class="until">${visible(row.until)}</code>` : '–'),
  },
  {
    key: 'group', label: 'See', value: (row) => row.group,
    show: (row) => html`<div><a href=${path('transactions', row.transactional_id)}>transactions</a>${', '}
      <a href=${path('groups', row.group)}>note</a></div>`,
  },
];

function Published({ published, pipelines }) {
  if (!published) return html`<${Waiting} />`;
  const byQuery = new Map(pipelines.filter(({ query }) => query).map(({ query, name }) => [query, name]));
  const rows = published.queries.map((query) => ({
    ...query, pipeline: byQuery.get(query.name) ?? (query.kind === 'mirror' && pipelines.find(({ name }) => name === query.name)?.name),
  }));
  return html`
    <${Problem} failure=${published.failure} />
    <${Silent} brokers=${published.silent} what="groups with notes" />
    <${Leaderless} partitions=${published.leaderless} log="__consumer_offsets" what="groups with notes" />
    ${published.left_out > 0 && html`<${NotTold}>${plural(published.left_out, 'query is', 'queries are')} left out here.<//>`}
    ${!published.failure && html`<${Table} label="Published by exactly-once queries" columns=${QUERIES} rows=${rows} rowKey=${(row) => row.group}
      empty="No exactly-once query has left a note on this cluster." />`}
    <p class="muted">A query writes the number of its micro-batch into the transaction with the rows, whatever machine it runs on.
      Notes on another topic than <code>tidelog-spark-markers</code> (option <code>markerTopic</code>) are not found.</p>`;
}

function HowTo({ services }) {
  return html`<p>No pipeline runs on this machine${services ? '' : ', and no other one is known'}.</p>
    <p>A pipeline is a job on Spark that is described by options. The one below copies a topic exactly once;${' '}
      <code>tidelog pipeline --help</code> lists all kinds:</p>
    <pre>tidelog pipeline transform --name copy --topic orders --to copied --sql "SELECT key, value FROM records"</pre>
    <p>Those of this machine’s user show themselves here. For one of another machine start it with${' '}
      <code>--service-port 9464 --service-host 0.0.0.0</code>, and this console with <code>--pipeline ITS-NAME:9464</code>.</p>`;
}

function Pipeline({ row, servers }) {
  const { points } = row;
  return html`<${Card} title=${row.found}>
    <p><${Status} row=${row} /> ${row.reason && html`<span class="wrap">${visible(row.reason)}</span>`}</p>
    <p><${Way} row=${row} servers=${servers} /></p>
    <${Facts} rows=${[
    row.kind && ['Kind', visible(row.kind)],
    ['Micro-batch', count(row.batch)],
    ['Rows since its start', count(row.rows)],
    ['Lag', row.lag === null ? 'not told' : plural(row.lag, 'record waits', 'records wait')],
    lives(row) && ['Last progress', row.since_progress_s === null ? 'none yet' : `${duration(1000 * row.since_progress_s)} ago`],
    ['Retries', count(row.retries)],
    ['Restarts of the query', count(row.restarts)],
    row.next_attempt_s !== null && ['Next try', nextTry(row)],
    row.started_ms && ['Started', html`<${Time} ms=${row.started_ms} />`],
    !lives(row) && row.written_ms && ['Last heard of', html`<${Time} ms=${row.written_ms} />`],
    row.query && ['Query', html`<code>${visible(row.query)}</code>`],
  ]} />
    ${row.last_error && html`<h3>Last error</h3><p class="wrap">${visible(row.last_error)}</p>`}
    ${points.length > 1 && html`<h3>Last minutes</h3>
      <${Plot} label="Rows per second" show=${(value) => rate(value)} points=${points.map(({ at, rows_per_second: value }) => ({ at, value }))} />
      <${Plot} label="Lag" show=${(value) => count(value)} points=${points.map(({ at, lag: value }) => ({ at, value }))} />`}
  <//>`;
}

function OnePipeline({ name, data, failure, servers }) {
  const back = { href: '/pipelines', label: 'Pipelines' };
  const found = data?.pipelines.filter((row) => row.name === name) ?? [];
  return html`<${Heading} back=${back} kind="Pipeline" name=${visible(name)} />
    ${!data ? html`<${Waiting} failure=${failure} what="the pipelines" />` : html`<${Problem} failure=${failure} />
      ${found.map((row) => html`<${Pipeline} key=${row.key} row=${row} servers=${servers} />`)}
      ${found.length === 0 && html`<p>No pipeline with this name is known here: it has ended well, or runs on another machine.</p>`}`}`;
}

export default function Pipelines({ rest, session }) {
  const { data, failure } = useLive('pipelines/live');
  if (rest) return html`<${OnePipeline} name=${rest} data=${data} failure=${failure} servers=${session.servers} />`;
  if (!data) return html`<h1>Pipelines</h1><${Waiting} failure=${failure} what="the pipelines" />`;
  const healthy = data.pipelines.filter((row) => row.healthy).length;
  return html`<h1>Pipelines</h1>
    <${Problem} failure=${failure} />
    <${Card} title="Pipelines" note=${data.pipelines.length > 0 && `${count(healthy)} of ${count(data.pipelines.length)} work`}>
      ${data.pipelines.length === 0 ? html`<${HowTo} services=${data.services} />` : html`
        <${Table} label="Pipelines" columns=${columns(session.servers)} rows=${data.pipelines} rowKey=${(row) => row.key} />`}
    <//>
    <${Card} title="Published by exactly-once queries">
      <${Published} published=${data.published} pipelines=${data.pipelines} /><//>`;
}
