// What is read: partitions, from where, how it is shown, and the filter. All of it is in the address.
import { html, useEffect, useId, useState } from '../../lib/html.js';
import { plural } from '../../lib/format.js';
import { setQuery } from '../../lib/router.js';
import { FILTERS, MOST_TOGETHER } from './asking.js';
import { FORMS } from './record.js';

const STARTS = {
  end: 'the newest', live: 'live', beginning: 'the oldest', offset: 'an offset', time: 'a time',
};
const COMPARISONS = { contains: 'contains', equals: 'is', pattern: 'matches (regular expression)', null: 'is null' };
const OUTCOMES = {
  '': 'everything', committed: 'committed', aborted: 'aborted', open: 'in open transactions', outside: 'outside of transactions', control: 'control records',
};
const ROWS = [25, 50, 100, 200, 500];

// A place in the log is left when something else is to be read.
const PLACE = { at: '', older: '', open: '', order: '' };

// As `datetime-local` has it: the time of this browser, without a zone.
function localTime(ms) {
  const at = new Date(Number(ms));
  if (!ms || Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 23);
}

function Partitions({ value, partitions, start }) {
  const count = partitions.length;
  // An offset and a place that paging has come to are of one partition; all else is wanted of the next one as well.
  const elsewhere = start === 'offset' || start === 'at' ? { start: 'end', offset: '' } : {};
  const ranges = [];
  for (let first = 0; count > MOST_TOGETHER && first < count; first += MOST_TOGETHER) {
    ranges.push(`${first}-${Math.min(first + MOST_TOGETHER, count) - 1}`);
  }
  return html`<label>Partitions
    <select value=${value} onChange=${(event) => setQuery({ ...PLACE, partition: event.target.value, ...elsewhere })}>
      ${count > 1 && count <= MOST_TOGETHER && html`<option value="all">all ${plural(count, 'partition', 'partitions')}</option>`}
      ${count === 1 && html`<option value="all">0</option>`}
      ${ranges.map((range) => html`<option key=${range} value=${range}>${range.replace('-', ' to ')}</option>`)}
      ${count > 1 && partitions.map((each) => html`<option key=${each} value=${String(each)}>${each}</option>`)}
      ${!['all', ...ranges, ...partitions.map(String)].includes(value) && html`<option value=${value}>${value}</option>`}
    </select></label>`;
}

export function Place({ query, asked, partitions }) {
  // "at" is where paging has come to; the box shows where it began.
  const from = asked.start === 'at' ? '' : asked.start;
  const [offset, setOffset] = useState(query.offset ?? '');
  const [time, setTime] = useState(localTime(query.time));
  useEffect(() => { setOffset(query.offset ?? ''); }, [query.offset]);
  useEffect(() => { setTime(localTime(query.time)); }, [query.time]);
  const choose = (start) => {
    // An offset or a time has to be written first.
    const written = { offset, time: time && new Date(time).getTime() };
    setQuery({ ...PLACE, start, ...(start === 'offset' && { offset: written.offset || 0 }), ...(start === 'time' && { time: written.time || Date.now() - 3600000 }) });
  };
  const submit = (event) => {
    event.preventDefault();
    if (asked.start === 'offset') setQuery({ ...PLACE, start: 'offset', offset: String(offset).replace(/\D/g, '') || 0 });
    else setQuery({ ...PLACE, start: 'time', time: new Date(time).getTime() || '' });
  };
  const set = (name) => (event) => setQuery({ [name]: event.target.value });
  return html`<form class="controls" onSubmit=${submit} aria-label="What is shown">
    <${Partitions} value=${asked.partitions} partitions=${partitions} start=${asked.start} />
    <label>From <select value=${from} onChange=${(event) => choose(event.target.value)}>
      ${asked.start === 'at' && html`<option value="">this place</option>`}
      ${Object.entries(STARTS).map(([key, label]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>
    ${asked.start === 'offset' && html`<label>Offset
      <input type="text" inputmode="numeric" pattern="[0-9]{1,18}" title="A number from 0 on" size="12" value=${offset} onInput=${(event) => setOffset(event.target.value)} /></label>
      <button type="submit">Show</button>`}
    ${asked.start === 'time' && html`<label>Time (of this browser)
      <input type="datetime-local" step="0.001" value=${time} onInput=${(event) => setTime(event.target.value)} /></label>
      <button type="submit">Show</button>`}
    ${asked.start !== 'live' && html`<label>Rows <select value=${asked.rows} onChange=${set('rows')}>
      ${ROWS.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>`}
    <label>Order <select value=${asked.newestFirst ? 'newest' : 'oldest'} onChange=${set('order')}>
      <option value="newest">newest first</option><option value="oldest">oldest first</option></select></label>
    <label>Shown as <select value=${asked.form} onChange=${set('form')}>
      ${Object.entries(FORMS).map(([key, label]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>
  </form>`;
}

function Compared({ name, draft, change, label, required = false }) {
  const how = draft[`${name}_how`] || 'contains';
  return html`
    <select aria-label=${`How the ${label} is compared`} value=${how} onChange=${(event) => change({ [`${name}_how`]: event.target.value })}>
      ${Object.entries(COMPARISONS).map(([key, words]) => html`<option key=${key} value=${key}>${words}</option>`)}</select>
    ${how !== 'null' && html`<input type="text" class="msg-wanted" maxlength="1000" spellcheck="false" aria-label=${`Text of the ${label}`} required=${required}
      value=${draft[name] ?? ''} onInput=${(event) => change({ [name]: event.target.value })} />`}`;
}

export function Filter({ query, isFiltered }) {
  const id = useId();
  const given = Object.fromEntries(FILTERS.map((name) => [name, query[name] ?? '']));
  const [draft, setDraft] = useState(given);
  // Whoever has opened it decides when it closes; what filters is always seen.
  const [shown, setShown] = useState(isFiltered);
  useEffect(() => { if (isFiltered) setShown(true); }, [isFiltered]);
  useEffect(() => { setDraft(given); }, [JSON.stringify(given)]);
  const change = (changes) => setDraft((before) => ({ ...before, ...changes }));
  const apply = (changes) => setQuery({ ...PLACE, ...changes, at: query.at, older: query.older, order: query.order }, { replace: false });
  const submit = (event) => {
    event.preventDefault();
    // What is usual is left out of the address.
    const isUsual = (name) => name.endsWith('_how') && draft[name] === 'contains';
    apply(Object.fromEntries(FILTERS.map((name) => [name, isUsual(name) ? '' : draft[name]])));
  };
  const clear = () => apply(Object.fromEntries(FILTERS.map((name) => [name, ''])));
  return html`<details class="msg-filter" open=${shown} onToggle=${(event) => setShown(event.currentTarget.open)}><summary>Filter${isFiltered && ' (set)'}</summary>
    <form onSubmit=${submit} aria-label="Filter">
      <div role="group" aria-labelledby=${`${id}-key`}><span id=${`${id}-key`}>Key</span>
        <${Compared} name="key" draft=${draft} change=${change} label="key" /></div>
      <div role="group" aria-labelledby=${`${id}-value`}><span id=${`${id}-value`}>Value</span>
        <input type="text" class="msg-where" maxlength="1000" spellcheck="false" placeholder="all of it, or a JSON path" aria-label="JSON path in the value"
          title='such as total.amount, items[0].article or ["unit price"]' value=${draft.value_path} onInput=${(event) => change({ value_path: event.target.value })} />
        <${Compared} name="value" draft=${draft} change=${change} label="value" required=${Boolean(draft.value_path)} /></div>
      <div role="group" aria-labelledby=${`${id}-header`}><span id=${`${id}-header`}>Header</span>
        <input type="text" class="msg-where" maxlength="1000" spellcheck="false" placeholder="any, or its name" aria-label="Name of the header"
          value=${draft.header_name} onInput=${(event) => change({ header_name: event.target.value })} />
        <${Compared} name="header" draft=${draft} change=${change} label="header" /></div>
      <div class="msg-filter-end">
        <label>Transactions <select value=${draft.only} onChange=${(event) => change({ only: event.target.value })}>
          ${Object.entries(OUTCOMES).map(([key, words]) => html`<option key=${key} value=${key}>${words}</option>`)}</select></label>
        <label><input type="checkbox" checked=${draft.case === 'ignore'} onChange=${(event) => change({ case: event.target.checked ? 'ignore' : '' })} /> Ignore case</label>
        <span class="msg-filter-buttons"><button type="submit" class="primary">Search</button>
        <button type="button" onClick=${clear} disabled=${!isFiltered}>Clear</button></span>
      </div>
    </form></details>`;
}
