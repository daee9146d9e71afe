// Brokers: where they are, what they hold, their directories and versions.
import { html, useMemo } from '../lib/html.js';
import { useGet, useLive } from '../lib/api.js';
import { bytes, count } from '../lib/format.js';
import { Card, Facts, Heading, NotTold, Problem, Table, Tag, Waiting } from '../lib/components.js';

export const title = ({ rest }) => (rest ? `Broker ${rest}` : 'Brokers');

const used = (row) => (row.directories ? row.directories.reduce((sum, each) => sum + each.size, 0) : null);

const COLUMNS = [
  { key: 'id', label: 'Broker', value: (row) => row.id, show: (row) => html`<a href=${`/brokers/${row.id}`}>${row.id}</a>` },
  { key: 'address', label: 'Address', value: (row) => row.address },
  { key: 'rack', label: 'Rack', value: (row) => row.rack },
  { key: 'state', label: 'State', value: (row) => (row.fenced ? 'fenced' : row.latency_ms === null ? 'does not answer' : 'answers'), show: (row) => html`<${State} broker=${row} />` },
  { key: 'leads', label: 'Leads', value: (row) => row.leads, show: (row) => count(row.leads), number: true },
  { key: 'holds', label: 'Replicas', value: (row) => row.holds, show: (row) => count(row.holds), number: true },
  { key: 'size', label: 'Size of logs', value: used, show: (row) => bytes(used(row)), number: true },
  { key: 'latency', label: 'Answers in', value: (row) => row.latency_ms, show: (row) => (row.latency_ms === null ? '–' : `${row.latency_ms} ms`), number: true },
];

const DIRECTORIES = [
  { key: 'path', label: 'Directory', value: (row) => row.path, show: (row) => html`<code>${row.path}</code>${row.problem && html` <${Tag} kind="bad">${row.problem}<//>`}` },
  { key: 'replicas', label: 'Replicas', value: (row) => row.replicas, show: (row) => count(row.replicas), number: true },
  { key: 'size', label: 'Size of logs', value: (row) => row.size, show: (row) => bytes(row.size), number: true },
  { key: 'usable', label: 'Free', value: (row) => row.usable, show: (row) => bytes(row.usable), number: true },
  { key: 'total', label: 'Disk', value: (row) => row.total, show: (row) => bytes(row.total), number: true },
];

const APIS = [
  { key: 'name', label: 'API', value: (row) => row.name },
  { key: 'key', label: 'Key', value: (row) => row.key, number: true },
  { key: 'versions', label: 'Versions', value: (row) => `${row.min} to ${row.max}` },
];

function State({ broker }) {
  return html`${broker.fenced ? html`<${Tag} kind="warn">fenced<//>`
    : broker.latency_ms === null ? html`<${Tag} kind="bad">does not answer<//>` : html`<${Tag} kind="good">answers<//>`}
    ${broker.controller && html` <${Tag}>controller<//>`}`;
}

function Versions({ id }) {
  const { data, failure } = useGet('brokers/versions');
  if (!data) return html`<${Waiting} failure=${failure} />`;
  const broker = data.brokers.find((each) => String(each.id) === id);
  if (!broker) return html`<${NotTold}>This broker is not among those that answer.<//>`;
  if (broker.problem) return html`<${NotTold}>${broker.problem}<//>`;
  return html`
    ${broker.features && html`<h3>Features</h3><${Facts} rows=${Object.entries(broker.features)} />`}
    <details><summary>The ${count(broker.apis.length)} APIs that it serves</summary>
      <${Table} label="APIs" columns=${APIS} rows=${broker.apis} rowKey=${(row) => row.key} pageSize=${100} /></details>`;
}

function Broker({ id, broker }) {
  return html`
    <${Heading} back=${{ href: '/brokers', label: 'Brokers' }} kind="Broker" name=${id} />
    ${!broker ? html`<p class="problem" role="alert">There is no broker ${id} in this cluster.</p>` : html`
    <${Card} title="Broker" actions=${html`<a class="button" href=${`/configs/broker/${id}`}>Configuration</a>`}>
      <${Facts} rows=${[
    ['Address', broker.address], ['Rack', broker.rack ?? 'none'], ['State', html`<${State} broker=${broker} />`],
    ['Leads', count(broker.leads)], ['Replicas', count(broker.holds)],
    ['Answers in', broker.latency_ms === null ? '–' : `${broker.latency_ms} ms`],
  ]} /><//>
    <${Card} title="Log directories">${broker.directories
    ? html`<${Table} label="Log directories" columns=${DIRECTORIES} rows=${broker.directories} rowKey=${(row) => row.path} />`
    : html`<${NotTold}>The directories of this broker are not told, or may not be seen.<//>`}<//>
    <${Card} title="Versions"><${Versions} id=${id} /><//>`}`;
}

export default function BrokersPage({ rest }) {
  const { data, failure } = useLive('brokers/live');
  const broker = useMemo(() => data?.brokers.find((each) => String(each.id) === rest), [data, rest]);
  if (!data) return html`<h1>${title({ rest })}</h1><${Waiting} failure=${failure} />`;
  if (rest) return html`<${Problem} failure=${failure} /><${Broker} id=${rest} broker=${broker} />`;
  return html`<h1>Brokers</h1><${Problem} failure=${failure} />
    <${Card} title="All brokers" note=${count(data.brokers.length)}>
      <${Table} label="Brokers" columns=${COLUMNS} rows=${data.brokers} rowKey=${(row) => row.id} /><//>`;
}
