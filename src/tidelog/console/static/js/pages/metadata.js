// Metadata: who leads the quorum, and the metadata log as it grows, at an offset, or about one thing.
import { html, useState } from '../lib/html.js';
import { get, useGet, useLive } from '../lib/api.js';
import { count, duration } from '../lib/format.js';
import { setQuery } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Facts, NotTold, Problem, Table, Waiting } from '../lib/components.js';
import { Records, useFollowed, useSearch } from './metadata_records.js';

export const title = ({ query }) => (query.offset ? `Metadata at offset ${query.offset}` : 'Metadata');

const REPLICAS = [
  { key: 'id', label: 'Node', value: (row) => row.id },
  { key: 'role', label: 'Role', value: (row) => row.role },
  { key: 'address', label: 'Listens at', value: (row) => row.address },
  { key: 'log_end', label: 'Log end', value: (row) => row.log_end, show: (row) => count(row.log_end), number: true },
  { key: 'lag', label: 'Lag', value: (row) => row.lag, show: (row) => count(row.lag), number: true },
  {
    key: 'fetched', label: 'Last fetch', value: (row) => row.fetched_ms_ago, number: true,
    show: (row) => (row.role === 'leader' || row.fetched_ms_ago === null || row.fetched_ms_ago === undefined
      ? '–' : `${duration(row.fetched_ms_ago)} ago`),
  },
];

function replicasOf({ leader, voters, observers }) {
  return [
    ...voters.map((voter) => ({ ...voter, role: voter.id === leader ? 'leader' : 'follower' })),
    ...observers.map((observer) => ({ ...observer, role: 'observer' })),
  ];
}

function Quorum({ quorum, silent, log }) {
  const begins = log && (log.start === 0 ? '0, its beginning'
    : `${count(log.start)}; what was before is only in a snapshot`);
  return html`<${Card} title="Metadata quorum">
    <${Facts} rows=${[
    ['Leader', quorum ? quorum.leader ?? 'none' : log?.leader ?? '–'],
    ['Epoch', count(quorum?.epoch ?? log?.epoch)],
    ['High watermark', count(log?.high_watermark ?? quorum?.high_watermark)],
    log && ['The log begins at', begins],
    log && ['Read from', log.source],
  ]} />
    ${quorum
    ? html`<${Table} label="Nodes of the metadata quorum" columns=${REPLICAS} rows=${replicasOf(quorum)} rowKey=${(row) => row.id} />`
    : html`<${NotTold}>${silent ? 'No controller has answered in time.'
      : 'This cluster does not tell about its metadata quorum, or this client may not see it.'}<//>`}
  <//>`;
}

const offsetOf = (text) => (/^\d{1,18}$/.test(text ?? '') ? Number(text) : null);

function Controls({ query, types }) {
  const filter = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    setQuery({ type: given.get('type'), about: given.get('about'), name: given.get('name'), offset: null }, { replace: false });
  };
  const jump = (event) => {
    event.preventDefault();
    setQuery({ offset: new FormData(event.target).get('offset'), type: null, about: null, name: null }, { replace: false });
  };
  const filtered = query.type || query.about || query.name;
  return html`<div class="metadata-controls">
    <form class="controls" key=${`filter ${query.type} ${query.about} ${query.name} ${types !== null}`} onSubmit=${filter} aria-label="Filter">
      <label>Type <select name="type">
        <option value="">all types</option>
        ${(types ? [...types.records, ...types.control] : []).map((type) => html`
          <option key=${type} value=${type} selected=${type === query.type}>${type}</option>`)}</select></label>
      <label>About <select name="about">
        <option value="">anything</option>
        ${(types?.subjects ?? []).map((subject) => html`
          <option key=${subject} value=${subject} selected=${subject === query.about}>${subject}</option>`)}</select></label>
      <label>Named <input name="name" type="text" autocomplete="off" spellcheck=${false} defaultValue=${query.name ?? ''} placeholder="such as orders" /></label>
      <button type="submit">Filter</button>
      ${filtered && html`<button type="button" class="quiet" onClick=${() => setQuery({ type: null, about: null, name: null }, { replace: false })}>Show all</button>`}
    </form>
    <form class="controls" key=${`jump ${query.offset}`} onSubmit=${jump} aria-label="Jump to an offset">
      <label>Offset <input name="offset" type="number" min="0" step="1" required defaultValue=${query.offset ?? ''} /></label>
      <button type="submit">Go</button>
    </form>
  </div>`;
}

// The newest records, as long as nobody holds them.
function Following({ log, followed }) {
  const [held, setHeld] = useState(null);
  const rows = held ?? followed;
  const waiting = held && followed.length ? followed[0].end - (held[0]?.end ?? -1) : 0;
  const oldest = rows.at(-1)?.offset ?? 0;
  const older = oldest > log.start && { label: 'Older', go: () => setQuery({ offset: oldest - 1 }, { replace: false }) };
  return html`<${Card} title="Records" note=${held ? 'held' : 'new ones appear on top'} actions=${html`
      <button type="button" onClick=${() => setHeld(held ? null : followed)}>${held ? 'Follow' : 'Pause'}</button>`}>
    ${held && html`<p class="note" role="status">${waiting > 0
    ? `${count(waiting)} new ${waiting === 1 ? 'record waits' : 'records wait'}.` : 'Nothing new yet.'}</p>`}
    <${Records} rows=${rows} empty="The log has no records." older=${older} />
  <//>`;
}

function AtOffset({ offset, log }) {
  const { data, failure } = useGet('metadata/page', { until: offset });
  const [problem, setProblem] = useState(null);
  if (!data) return html`<${Card} title=${`Records up to offset ${count(offset)}`}><${Waiting} failure=${failure} what="for the records" /><//>`;
  const rows = [...data.rows].reverse();
  const end = data.high_watermark;
  const go = (to) => setQuery({ offset: to }, { replace: false });
  const older = rows.length > 0 && rows.at(-1).offset > data.start && { label: 'Older', go: () => go(rows.at(-1).offset - 1) };
  const newer = offset < end - 1 && {
    label: 'Newer',
    go: () => get('metadata/after', { offset }).then(
      (found) => go(found.rows.length ? found.rows.at(-1).end : null), setProblem,
    ),
  };
  const missing = offset >= end ? `There is no record ${count(offset)} yet: the log ends at ${count(end)}. These are the last ones.`
    : offset < data.start ? `Record ${count(offset)} is no longer in the log, which begins at ${count(data.start)}. What it did is part of the snapshot.`
      : null;
  return html`<${Card} title=${`Records up to offset ${count(offset)}`}
      note=${log && `of ${count(log.high_watermark)}`}
      actions=${html`<a class="button" href="/metadata">Follow the log</a>`}>
    <${Problem} failure=${failure ?? problem} />
    ${missing && html`<p class="note">${missing}</p>`}
    <${Records} rows=${rows} chosen=${offset} empty="There are no records here." older=${older} newer=${newer} />
  <//>`;
}

function Filtered({ query, followed }) {
  const { type, about, name } = query;
  const { rows, state, searchOn } = useSearch({ type, subject: about, name }, followed);
  const what = visible([about, name].filter(Boolean).join(' '));
  const { from, to, start, busy, failure, more } = state;
  const range = from === null ? 'Searching …'
    : `${count(rows.length)} found in the records from offset ${count(from)} to ${count(Math.max(to - 1, from))}${
      from <= start ? ', which is the whole log' : ''}${busy ? ', searching on …' : '.'}`;
  return html`<${Card} title=${`Records${what && ` about ${what}`}${type ? ` of type ${type}` : ''}`} note="new ones appear on top">
    <p class="note" role="status">${range} ${!busy && from > start && html`<button type="button" onClick=${searchOn}>Search older records</button>`}</p>
    ${more && html`<p class="note">More was written than this page has seen. <button type="button" onClick=${more}>Search again</button></p>`}
    <${Problem} failure=${failure} />
    <${Records} rows=${rows} gaps=${false} empty=${busy ? 'Nothing found yet.' : 'Nothing found.'} />
  <//>`;
}

export default function Metadata({ query }) {
  const { data, failure } = useLive('metadata/live');
  const { data: types } = useGet('metadata/types');
  const followed = useFollowed(data?.log);
  const offset = offsetOf(query.offset);
  if (!data) return html`<h1>Metadata</h1><${Waiting} failure=${failure} />`;
  const { quorum, log, unavailable } = data;
  return html`<h1>Metadata</h1>
    <${Problem} failure=${failure} />
    <${Quorum} quorum=${quorum} silent=${data.quorum_silent} log=${log} />
    ${unavailable ? html`<${Card} title="Records"><${NotTold}>${unavailable}<//><//>` : html`
      <${Controls} query=${query} types=${types} />
      ${offset !== null ? html`<${AtOffset} key=${offset} offset=${offset} log=${log} />`
    : query.type || query.about || query.name
      ? html`<${Filtered} key=${`${query.type} ${query.about} ${query.name}`} query=${query} followed=${followed} />`
      : html`<${Following} log=${log} followed=${followed} />`}`}`;
}
