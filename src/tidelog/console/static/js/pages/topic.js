// One topic: its partitions, and of one of them the gauges, leader epochs and segments.
import { html, useEffect, useMemo, useState } from '../lib/html.js';
import { useGet, useLive } from '../lib/api.js';
import { bytes, count, duration, rate } from '../lib/format.js';
import { path, setQuery } from '../lib/router.js';
import { Card, Facts, Heading, Problem, Table, Tabs, Tag, Waiting } from '../lib/components.js';
import { EpochTable, epochsUpTo } from '../drawings/epochs.js';
import { Gauges } from '../drawings/gauge.js';
import { Segments } from '../drawings/segments.js';
import { AddPartitions, DeleteTopic } from './topic_changes.js';

const UNLIMITED = '-1';

const leaderOf = (row) => row.replicas.find((replica) => replica.leader)?.offsets;

const columns = (name, shown) => [
  {
    key: 'partition', label: 'Partition', value: (row) => row.partition,
    show: (row) => html`<a href=${`${path('topics', name)}?partition=${row.partition}`}
      aria-current=${row.partition === shown ? 'true' : undefined}>${row.partition}</a>`,
  },
  {
    key: 'leader', label: 'Leader', value: (row) => row.leader,
    show: (row) => (row.leader === null ? html`<${Tag} kind="bad">none<//>` : row.leader), number: true,
  },
  { key: 'epoch', label: 'Leader epoch', value: (row) => row.leader_epoch, number: true },
  {
    key: 'in_sync', label: 'In sync', value: (row) => row.replicas.filter((replica) => replica.in_sync).map(({ broker }) => broker).join(', '),
    show: (row) => html`${row.replicas.filter((replica) => replica.in_sync).map(({ broker }) => broker).join(', ') || 'none'}
      ${row.replicas.some((replica) => !replica.in_sync) && html` <${Tag} kind="warn">without ${
  row.replicas.filter((replica) => !replica.in_sync).map(({ broker }) => broker).join(', ')}<//>`}`,
  },
  { key: 'start', label: 'Log start', value: (row) => leaderOf(row)?.start, show: (row) => count(leaderOf(row)?.start), number: true },
  { key: 'watermark', label: 'High watermark', value: (row) => leaderOf(row)?.watermark, show: (row) => count(leaderOf(row)?.watermark), number: true },
  { key: 'end', label: 'Log end', value: (row) => leaderOf(row)?.end, show: (row) => count(leaderOf(row)?.end), number: true },
  { key: 'rate', label: 'Written', value: (row) => row.rate, show: (row) => rate(row.rate), number: true },
];

function Settings({ settings, name }) {
  if (!settings) return html`<p class="note">The configuration of this topic may not be seen.</p>`;
  const limit = (value, show) => (value === UNLIMITED || value === undefined ? 'unlimited' : show(Number(value)));
  return html`<${Facts} rows=${[
    ['Clean-up', settings['cleanup.policy']],
    ['Retention', limit(settings['retention.ms'], duration)],
    ['Retention by size', limit(settings['retention.bytes'], bytes)],
    ['Segments of', limit(settings['segment.bytes'], bytes)],
    ['min.insync.replicas', settings['min.insync.replicas']],
    ['All settings', html`<a href=${path('configs', 'topic', name)}>Show</a>`],
  ]} />`;
}

function Partition({ partition, details }) {
  const leader = leaderOf(partition);
  const epochs = details?.epochs && epochsUpTo(details.epochs, leader ? leader.end : null);
  return html`
    <${Card} title=${`Partition ${partition.partition}: how far each replica is`}>
      <${Gauges} partition=${partition} epochs=${epochs} />
      <${EpochTable} epochs=${epochs} logStart=${leader ? leader.start : null} /><//>
    <${Card} title="Segments"><${Segments} replicas=${details?.segments ?? []} /><//>`;
}

function Log({ data, shown, name, session }) {
  const [dialog, setDialog] = useState(null);
  const close = () => setDialog(null);
  const mayChange = !session.read_only && !data.internal;
  const partition = data.partitions.find((each) => each.partition === shown);
  const table = useMemo(() => columns(name, shown), [name, shown]);
  return html`
    <${Card} title="Topic" actions=${mayChange && html`
      <button type="button" class="quiet" onClick=${() => setDialog('partitions')}>Add partitions …</button>
      <button type="button" class="quiet" onClick=${() => setDialog('delete')}>Delete …</button>`}><${Facts} rows=${[
    ['Id', html`<code>${data.id}</code>`], ['Partitions', count(data.partitions.length)],
    ['Written', rate(data.partitions.reduce((sum, each) => (each.rate === null ? sum : (sum ?? 0) + each.rate), null))],
  ]} /><${Settings} settings=${data.settings} name=${name} /><//>
    ${dialog === 'partitions' && html`<${AddPartitions} name=${name} before=${data.partitions.length} onClose=${close} />`}
    ${dialog === 'delete' && html`<${DeleteTopic} name=${name} id=${data.id} onClose=${close} />`}
    <${Card} title="Partitions" note=${data.left_out > 0 ? 'Offsets are asked for only of the partition that is shown.' : ''}>
      <${Table} label="Partitions" columns=${table} rows=${data.partitions} rowKey=${(row) => row.partition}
        rowClass=${(row) => (row.partition === shown ? 'chosen' : '')} /><//>
    ${partition ? html`<${Partition} partition=${partition} details=${data.shown} />`
    : html`<p class="problem" role="alert">This topic has no partition ${shown}.</p>`}`;
}

// Modules of the other views are loaded when they are looked at.
function Loaded({ load, name, ...properties }) {
  const [loaded, setLoaded] = useState({ component: null, failure: null });
  useEffect(() => {
    load().then((module) => setLoaded({ component: module[name], failure: null }),
      (failure) => setLoaded({ component: null, failure }));
  }, [name]);
  if (!loaded.component) return html`<${Waiting} failure=${loaded.failure} what="the console" />`;
  return html`<${loaded.component} ...${properties} />`;
}

function LogView({ name, shown, session }) {
  const { data, failure } = useLive('topic/live', { name, partition: shown });
  return html`<${Problem} failure=${data && failure} />
    ${!data ? html`<${Waiting} failure=${failure} />` : html`<${Log} data=${data} shown=${shown} name=${name} session=${session} />`}`;
}

// The number of partitions, for the views that let choose one.
function WithPartitions({ name, children }) {
  const { data, failure } = useGet('topic', { name });
  return data ? children(data.partitions) : html`<${Waiting} failure=${failure} />`;
}

export function Topic({ name, query, session }) {
  const shown = /^\d+$/.test(query.partition ?? '') ? Number(query.partition) : 0;
  const here = path('topics', name);
  const view = ['messages', 'producers'].includes(query.view) ? query.view : 'log';
  return html`
    <${Heading} back=${{ href: '/topics', label: 'Topics' }} kind="Topic" name=${name} />
    <${Tabs} label="Views of this topic" tabs=${[
    { href: `${here}?partition=${shown}`, label: 'Log', current: view === 'log' },
    { href: `${here}?view=messages`, label: 'Messages', current: view === 'messages' },
    { href: `${here}?view=producers&partition=${shown}`, label: 'Producers', current: view === 'producers' },
  ]} />
    ${view === 'log' && html`<${LogView} name=${name} shown=${shown} session=${session} />`}
    ${view === 'messages' && html`<${WithPartitions} name=${name}>${(partitions) => html`
      <${Loaded} load=${() => import('./messages.js')} name="Messages" topic=${name} partitions=${partitions} query=${query} session=${session} />`}<//>`}
    ${view === 'producers' && html`<${WithPartitions} name=${name}>${(partitions) => html`
      <div class="controls"><label>Partition
        <select value=${shown} onChange=${(event) => setQuery({ partition: event.target.value })}>${partitions.map((each) => html`
          <option key=${each} value=${each}>${each}</option>`)}</select></label></div>
      <${Loaded} load=${() => import('./producers.js')} name="Producers" topic=${name} partition=${shown} />`}<//>`}`;
}
