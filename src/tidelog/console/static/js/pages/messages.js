// Messages of a topic: a view of the page of the topic. What is shown is in the address.
import { html, useRef, useState } from '../lib/html.js';
import { bytes, count, plural } from '../lib/format.js';
import { setQuery } from '../lib/router.js';
import { Card, NotTold, Problem, Waiting } from '../lib/components.js';
import { linkTo, parametersOf, readQuery, usePortions } from './messages/asking.js';
import { Filter, Place } from './messages/controls.js';
import { Download } from './messages/download.js';
import { Elsewhere, Entries } from './messages/entries.js';
import { Live } from './messages/live.js';
import { Produce } from './messages/produce.js';

const ENDS = {
  records: 'The search has stopped at its limit of records for one go.',
  bytes: 'The search has stopped at its limit of bytes for one go.',
  time: 'The search has stopped at its limit of time for one go.',
};

function rangesText(ranges) {
  if (ranges.length === 0) return 'nothing';
  if (ranges.length > 3) return `${ranges.length} partitions`;
  return ranges.map(([partition, first, last]) => `partition ${partition}, offsets ${count(first)} to ${count(last)}`).join('; ');
}

// Of all portions of a search together: what was read, in the order of partitions.
function together(portions) {
  const ranges = new Map();
  let [records, size] = [0, 0];
  portions.forEach(({ scan }) => {
    records += scan.records;
    size += scan.bytes;
    scan.ranges.forEach(([partition, first, last]) => {
      const [before, after] = ranges.get(partition) ?? [first, last];
      ranges.set(partition, [Math.min(before, first), Math.max(after, last)]);
    });
  });
  return { records, size, ranges: [...ranges].sort(([a], [b]) => a - b).map(([partition, [first, last]]) => [partition, first, last]) };
}

function SearchStatus({ portions, found, older, loading, goOn }) {
  const last = portions.at(-1);
  const { records, size, ranges } = together(portions);
  const isOver = older ? last.at_start : last.at_end;
  const { ended, problem } = last.scan;
  return html`<div role="status">
    <p class="msg-status"><strong>${count(found)} of ${plural(records, 'record', 'records')} ${found === 1 ? 'matches' : 'match'}.</strong>${' '}
      Read: ${rangesText(ranges)} (${bytes(size)}). ${isOver ? `That is everything up to the ${older ? 'beginning' : 'end'}.` : ENDS[ended] ?? ''}</p>
    ${problem && html`<p class="problem" role="alert">The search has stopped: ${problem}.</p>`}
    ${!isOver && html`<p><button type="button" onClick=${goOn} disabled=${loading}>${
      loading ? 'Searching …' : `Search on in ${older ? 'older' : 'newer'} records`}</button></p>`}</div>`;
}

function Paging({ data, asked, loading, again }) {
  const go = (older) => loading || setQuery({
    start: 'at', at: older ? data.before : data.after, older: older ? 1 : '', order: asked.newestFirst ? 'newest' : 'oldest',
    open: '', offset: '', time: '',
  }, { replace: false });
  return html`<nav class="paging" aria-label="Paging">
    <button type="button" onClick=${() => go(true)} disabled=${data.at_start}>Older</button>
    <button type="button" onClick=${() => go(false)} disabled=${data.at_end}>Newer</button>
    <button type="button" class="quiet" onClick=${again}>Read again</button>
    <span class="muted">${loading ? 'Reading …' : html`${plural(data.rows.length, 'row', 'rows')}: ${rangesText(data.scan.ranges)}${
  data.at_start && data.at_end ? ', which is all there is' : data.at_end ? ', up to the end' : data.at_start ? ', from the beginning on' : ''}`}</span></nav>`;
}

// `begin` gets the positions of the oldest row.
function Log({ topic, query, asked, begin, onOpen }) {
  const parameters = parametersOf(topic, query, asked);
  const { portions, failure, loading, goOn, again } = usePortions(parameters, asked);
  const last = portions.at(-1);
  begin.current = '';
  if (!last) return html`<${Waiting} failure=${failure} what=${asked.isFiltered ? 'the cluster; a search may take some seconds' : 'the cluster'} />`;
  if (!loading) begin.current = (asked.older ? last : portions[0]).before;
  const inOrder = asked.older ? [...portions].reverse() : portions;
  const oldestFirst = inOrder.flatMap(({ rows }) => rows);
  const rows = asked.newestFirst ? [...oldestFirst].reverse() : oldestFirst;
  return html`
    <${Problem} failure=${failure} />
    ${Object.entries(last.silent).map(([each, reason]) => html`<${NotTold} key=${each}>Partition ${each} is left out: ${reason}.<//>`)}
    ${asked.isFiltered ? html`<${SearchStatus} portions=${portions} found=${rows.length} older=${asked.older} loading=${loading} goOn=${goOn} />`
    : html`<${Paging} data=${last} asked=${asked} loading=${loading} again=${again} />`}
    ${!asked.isFiltered && last.scan.ended === 'bytes' && html`<${NotTold}>These are fewer rows than wanted: more would be over the limit of bytes for one page.<//>`}
    <${Elsewhere} topic=${topic} rows=${rows} open=${asked.open} form=${asked.form} onOpen=${onOpen} />
    ${rows.length > 0 ? html`<${Entries} topic=${topic} rows=${rows} open=${asked.open} form=${asked.form} onOpen=${onOpen} />`
    : !asked.isFiltered && html`<p class="muted">${last.at_start && last.at_end ? 'There are no records.' : 'There are no records here.'}</p>`}
    ${!asked.isFiltered && rows.length > 25 && html`<${Paging} data=${last} asked=${asked} loading=${loading} again=${again} />`}`;
}

function Produced({ topic, record }) {
  return html`<p class="note" role="status">The record is in partition ${record.partition} at offset ${record.offset}.${' '}
    <a href=${linkTo(topic, record.partition, record.offset)}>Show it</a></p>`;
}

export function Messages({ topic, partitions, query, session }) {
  const numbers = Array.isArray(partitions) ? partitions : Array.from({ length: partitions }, (_, index) => index);
  const asked = readQuery(query, numbers);
  const [dialog, setDialog] = useState(null);
  const [produced, setProduced] = useState(null);
  const begin = useRef('');
  const close = () => setDialog(null);
  const open = (id) => setQuery({ open: id });
  const isInternal = topic.startsWith('__');
  const cannot = session.read_only ? 'This console is read-only' : isInternal ? 'Only brokers write to an internal topic' : '';
  const actions = html`<button type="button" onClick=${() => setDialog('download')}>Download …</button>
    <button type="button" onClick=${() => setDialog('produce')} disabled=${Boolean(cannot)} title=${cannot || undefined}>Produce …</button>`;
  const single = /^\d+$/.test(asked.partitions) ? asked.partitions : '';
  return html`<${Card} title="Messages" class="messages" actions=${actions}>
    <${Place} query=${query} asked=${asked} partitions=${numbers} />
    <${Filter} query=${query} isFiltered=${asked.isFiltered} />
    ${produced && html`<${Produced} topic=${topic} record=${produced} />`}
    ${asked.start === 'live' ? html`<${Live} topic=${topic} query=${query} asked=${asked} onOpen=${open} />`
    : html`<${Log} topic=${topic} query=${query} asked=${asked} begin=${begin} onOpen=${open} />`}
    ${dialog === 'download' && html`<${Download} topic=${topic} query=${query} asked=${asked} before=${asked.start === 'live' ? '' : begin.current} onClose=${close} />`}
    ${dialog === 'produce' && html`<${Produce} topic=${topic} partitions=${numbers} chosen=${single} onProduced=${setProduced} onClose=${close} />`}
  <//>`;
}
