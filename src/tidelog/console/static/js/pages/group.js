// One group: how far it is behind and why, its members, and what can be changed.
import { html, useMemo, useState } from '../lib/html.js';
import { useLive } from '../lib/api.js';
import { count, duration, plural, rate } from '../lib/format.js';
import { path, setQuery } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Facts, Heading, NotTold, Plot, Problem, Table, Tabs, Tag, Time, Waiting } from '../lib/components.js';
import { ReadPart } from '../drawings/progress.js';
import { GroupChanges } from './group_changes.js';
import { GroupMembers } from './group_members.js';
import { Lag, PROTOCOLS, State, protocolOf, stateMeaning, trendText } from './group_words.js';

const VIEWS = { lag: 'Lag', members: 'Members', change: 'Reset and delete' };
// Of what was noted beside an offset; the rest unfolds.
const NOTED = 80;

const nameOf = (row) => `${row.topic}-${row.partition}`;

function LagNotes({ row }) {
  const { lag } = row;
  const notes = [
    lag.held > 0 && `${count(lag.held)} behind an open transaction`,
    lag.aborted > 0 && `${count(lag.aborted)} of them aborted`,
    lag.control > 0 && `${plural(lag.control, 'control record', 'control records')} not counted`,
    lag.gaps > 0 && `${plural(lag.gaps, 'offset', 'offsets')} without a record`,
  ].filter(Boolean);
  return html`${notes.length > 0 && html`<span class="lag-notes">${notes.join(', ')}</span>`}
    ${lag.lost > 0 && html`<span class="lag-notes"><${Tag} kind="bad">${plural(lag.lost, 'offset was', 'offsets were')} deleted before the group has read them<//></span>`}
    ${lag.beyond > 0 && html`<span class="lag-notes"><${Tag} kind="bad">${count(lag.beyond)} past the end of the log: it was cut, or the topic recreated<//></span>`}`;
}

function Noted({ text }) {
  const shown = visible(text);
  if (shown.length <= NOTED) return html`<span class="noted">${shown}</span>`;
  return html`<details class="noted"><summary>${shown.slice(0, NOTED)} … ${count(text.length)} characters</summary>${shown}</details>`;
}

const columns = (rows, nobody) => [
  {
    key: 'partition', label: 'Partition', value: nameOf,
    show: (row) => html`<div><a href=${`${path('topics', row.topic)}?partition=${row.partition}`}>${visible(nameOf(row))}</a>
      ${row.committed !== null && row.marks && html`<${ReadPart} committed=${row.committed} marks=${row.marks} held=${row.lag?.held ?? 0} />`}</div>`,
  },
  { key: 'committed', label: 'Committed', value: (row) => row.committed, show: (row) => (row.committed === null ? 'nothing' : count(row.committed)), number: true },
  { key: 'stable', label: 'Last stable', value: (row) => row.marks?.stable, show: (row) => count(row.marks?.stable), number: true },
  { key: 'end', label: 'Log end', value: (row) => row.marks?.end, show: (row) => count(row.marks?.end), number: true },
  {
    key: 'lag', label: 'Lag', value: (row) => row.lag?.records, number: true,
    show: (row) => (row.lag ? html`<div><${Lag} lag=${row.lag} /><${LagNotes} row=${row} /></div>`
      : row.committed === null ? '–' : html`<span class="lag-notes">not known: no leader answers</span>`),
  },
  { key: 'consumed', label: 'Read', value: (row) => row.consumed, show: (row) => rate(row.consumed), number: true },
  { key: 'produced', label: 'Written', value: (row) => row.produced, show: (row) => rate(row.produced), number: true },
  {
    key: 'trend', label: 'Catches up', value: (row) => row.trend && (row.trend.in_ms ?? trendText(row.trend, nobody)),
    show: (row) => (row.trend ? trendText(row.trend, nobody) : '–'),
  },
  { key: 'owner', label: 'Owner', value: (row) => row.owner?.client_id, show: (row) => (row.owner ? visible(row.owner.client_id || row.owner.id) : 'nobody') },
  ...(rows.some((row) => row.metadata) ? [{
    key: 'metadata', label: 'Commit metadata', value: (row) => row.metadata,
    show: (row) => (row.metadata ? html`<${Noted} text=${row.metadata} />` : '–'),
  }] : []),
];

// Each open transaction, and how many records of which partitions are behind it.
function Waits({ data }) {
  const held = new Map(data.partitions.filter((row) => row.lag?.held > 0).map((row) => [nameOf(row), row.lag]));
  if (data.holding === null) {
    return held.size > 0 && html`<${NotTold}>Whose open transactions hold records back may not be seen.<//>`;
  }
  return data.holding.map((holding) => {
    const theirs = holding.partitions.filter((each) => held.has(nameOf(each)));
    if (theirs.length === 0) return null;
    const lags = theirs.map((each) => held.get(nameOf(each)));
    const records = lags.reduce((sum, lag) => sum + lag.held, 0);
    const exact = lags.every((lag) => lag.exact);
    const more = theirs.length > 5 ? ` and ${plural(theirs.length - 5, 'more partition', 'more partitions')}` : '';
    const since = holding.start_ms === null ? '' : ` since ${duration(Math.max(0, data.now_ms - holding.start_ms))}`;
    const sentence = `${exact ? '' : 'At most '}${plural(records, 'record', 'records')} of ${
      visible(theirs.slice(0, 5).map(nameOf).join(', '))}${more} ${records === 1 ? 'is' : 'are'} behind an open transaction${since}`;
    const whose = holding.id === null ? html` of producer ${holding.producer_id}`
      : html`, of transactional id <a href=${path('transactions', holding.id)}>${visible(holding.id)}</a>`;
    return html`<p class="waits" key=${holding.producer_id}>${sentence}${whose}.${' '}
      ${holding.silent.length > 0 && html`Its transactional id may be one of a coordinator that does not answer: broker ${holding.silent.join(', ')}.${' '}`}
      ${holding.leaderless > 0 && html`Its transactional id may be one that nobody coordinates now: not all partitions of __transaction_state have a leader.${' '}`}
      ${holding.hidden && html`Its transactional id has expired, or the client of this console may not describe it.${' '}`}
      ${holding.hangs && html`No coordinator will end it there: it hangs. <a href="/transactions">Look for hanging transactions</a>.${' '}`}
      Readers with <code>isolation.level=read_committed</code> wait until it ends.</p>`;
  });
}

function LagView({ data, query }) {
  const all = query.show !== 'lag';
  const rows = useMemo(() => (all ? data.partitions : data.partitions.filter((row) => row.lag?.records > 0)), [data, all]);
  const nobody = data.members?.length === 0;
  const table = useMemo(() => columns(data.partitions, nobody), [data, nobody]);
  return html`
    <${Card} title="Lag" note=${`${count(rows.length)} of ${plural(data.partitions.length + data.partitions_left_out, 'partition', 'partitions')}`}
      actions=${html`<label>Show <select value=${all ? 'all' : 'lag'} onChange=${(event) => setQuery({ show: event.target.value === 'lag' ? 'lag' : null })}>
        <option value="all">all</option><option value="lag">with lag</option></select></label>`}>
      <${Waits} data=${data} />
      ${data.partitions_left_out > 0 && html`<${NotTold}>These are the partitions with the largest lags: ${count(data.partitions_left_out)} more are left out.<//>`}
      ${data.not_readable.length > 0 && html`<${NotTold}>This console may not read ${visible(data.not_readable.join(', '))}, so control records of it cannot be told from records.<//>`}
      <${Table} label="Lag" columns=${table} rows=${rows} rowKey=${nameOf} sorted=${{ key: 'partition', down: false }}
        empty=${all ? 'The group has committed no offsets, and no partitions are assigned.'
    : data.total?.unknown > 0 ? 'No partition whose leader answers has a lag.' : 'The group has read everything.'} />
      <ul class="legend" aria-hidden="true">
        <li><span class="swatch read-done"></span>read</li><li><span class="swatch read-left"></span>not read yet</li>
        <li><span class="swatch read-held"></span>behind an open transaction</li></ul>
      <p class="muted">Control records, such as the ends of transactions, and offsets without a record do not count as lag.
        More than ${count(data.counted_up_to)} offsets of a partition are not looked at: there the lag is an upper bound, with ≤.</p>
    <//>`;
}

function Summary({ data, withLag }) {
  const total = withLag ? data.total : null;
  const nobody = data.members?.length === 0;
  return html`<${Card} title="Group">
    <${Facts} rows=${[
    ['State', html`<${State} state=${data.state} />`],
    ['Protocol', html`<span title=${PROTOCOLS[data.kind]?.meaning}>${visible(protocolOf(data))}</span>`],
    ['Members', data.members === null ? 'not told' : count(data.members.length + data.members_left_out)],
    data.assignor !== undefined && ['Assignor', visible(data.assignor) || 'none'],
    data.kind === 'consumer' && ['Group epoch', count(data.epoch)],
    data.kind === 'consumer' && ['Epoch of the target assignment', count(data.target_epoch)],
    ['Coordinator', html`<a href=${path('brokers', data.coordinator)}>${data.coordinator}</a>${data.coordinator_address && html` <span class="muted">${data.coordinator_address}</span>`}`],
  ]} />
    ${data.kind !== 'share' && stateMeaning(data.state) && html`<p class="muted">${stateMeaning(data.state)}.</p>`}
    ${total && html`<div class="lag-facts"><${Facts} rows=${[
    ['Lag', html`<strong><${Lag} lag=${total} /></strong>`],
    total.held > 0 && ['Behind open transactions', count(total.held)],
    total.control > 0 && ['Control records, not counted', count(total.control)],
    ['Largest of one partition', total.known > 0 ? count(total.largest) : '–'],
    ['Catches up', trendText(total, nobody)],
    total.unknown > 0 && ['Partitions that do not tell', html`<${Tag} kind="warn">${count(total.unknown)}<//>`],
  ]} />
    <${Plot} label="Lag" show=${count} points=${data.points.map(({ at, lag }) => ({ at, value: lag }))} />
    <${Plot} label="Read" show=${rate} points=${data.points.map(({ at, consumed }) => ({ at, value: consumed }))} />
    <${Plot} label="Written" show=${rate} points=${data.points.map(({ at, produced }) => ({ at, value: produced }))} /></div>`}
    ${data.kind === 'share' && html`<${NotTold}>A share group has no committed offsets: its members acknowledge records one by one. How far it is behind is not told to this client.<//>`}
    ${data.members === null && html`<${NotTold}>Groups of this kind are not described to this client; their members are left out.<//>`}
  <//>`;
}

// What was changed, until somebody has read it.
function Done({ done, onClose }) {
  return html`<section class="done-note" role="status" aria-label="What was done">
    <h2>${done.title}</h2>
    <p class="muted"><${Time} ms=${done.at_ms} /></p>
    ${done.lines.length > 0 && html`<ul>${done.lines.slice(0, 20).map((line) => html`<li key=${line}>${line}</li>`)}
      ${done.lines.length > 20 && html`<li>and ${count(done.lines.length - 20)} more</li>`}</ul>`}
    <div class="actions"><button type="button" onClick=${onClose}>Dismiss</button></div>
  </section>`;
}

export function Group({ id, query, session }) {
  const { data, failure } = useLive('group/live', { id });
  const [done, setDone] = useState(null);
  const view = Object.hasOwn(VIEWS, query.view ?? '') ? query.view : 'lag';
  const here = path('groups', id);
  const gone = failure?.problem === 'missing';
  return html`
    <${Heading} back=${{ href: '/groups', label: 'Groups' }} kind="Group" name=${visible(id)} />
    ${done && html`<${Done} done=${done} onClose=${() => setDone(null)} />`}
    ${gone ? html`<p class="note" role="status">There is no group ${visible(id)}${done?.deleted ? ' any more' : ': nobody has joined it or committed offsets for it, or they have expired'}.</p>`
    : !data ? html`<${Waiting} failure=${failure} />` : html`
      <${Problem} failure=${failure} />
      <${Tabs} label="Views of this group" tabs=${Object.entries(VIEWS).map(([key, label]) => ({
    href: key === 'lag' ? here : `${here}${here.includes('?') ? '&' : '?'}view=${key}`, label, current: key === view,
  }))} />
      ${view !== 'change' && html`<${Summary} data=${data} withLag=${view === 'lag'} />`}
      ${view === 'lag' && data.kind !== 'share' && html`<${LagView} data=${data} query=${query} />`}
      ${view === 'members' && html`<${GroupMembers} data=${data} />`}
      ${view === 'change' && html`<${GroupChanges} data=${data} session=${session} onDone=${setDone} />`}`}`;
}
