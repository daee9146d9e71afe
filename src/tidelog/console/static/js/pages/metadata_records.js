// Records of the metadata log: the list, one of them with the image before and after, and what comes while one looks.
import { html, useCallback, useEffect, useId, useMemo, useRef, useState } from '../lib/html.js';
import { get, useGet } from '../lib/api.js';
import { bytes, count, duration, exactTime, plural, time } from '../lib/format.js';
import { Facts, Problem, Tag } from '../lib/components.js';
import { visible } from '../lib/visible.js';

// A page that is open for days does not grow without end.
const MOST_KEPT = 500;
// So many searches follow each other by themselves.
const SEARCHES = 4;

const MARKS = { '+': 'added', '-': 'removed', '→': 'changed', '=': 'unchanged' };

// Newest first. Rows that hold several records grow: a row replaces those that it overlaps.
function merged(known, rows) {
  const byOffset = new Map(known.map((row) => [row.offset, row]));
  rows.forEach((row) => {
    const same = byOffset.get(row.offset);
    if (same && same.end === row.end) return;
    const overlapping = [...byOffset.values()].filter((each) => each.offset <= row.end && each.end >= row.offset);
    overlapping.forEach((each) => byOffset.delete(each.offset));
    const first = Math.min(row.offset, ...overlapping.map((each) => each.offset));
    byOffset.set(first, { ...row, offset: first });
  });
  return [...byOffset.values()].sort((a, b) => b.offset - a.offset).slice(0, MOST_KEPT);
}

// All rows that the feed has shown since the page was opened.
export function useFollowed(log) {
  const kept = useRef([]);
  return useMemo(() => {
    if (!log) return kept.current;
    const behind = kept.current.length > 0 && kept.current[0].offset >= log.high_watermark;
    kept.current = merged(behind ? [] : kept.current, log.rows);
    return kept.current;
  }, [log]);
}

const accepts = ({ type, subject, name }) => (row) => (!type || row.type === type)
  && ((!subject && !name) || row.about.some(([kind, named]) => (!subject || kind === subject) && (!name || named === name)));

// Whether the feed has missed records since `offset`.
function hasHoles(followed, offset) {
  let next = null;
  for (const row of followed) {
    if (next !== null && row.end + 1 < next) return true;
    next = row.offset;
    if (next <= offset) return false;
  }
  return next !== null && next > offset;
}

export function useSearch(filter, followed) {
  const [found, setFound] = useState({ rows: [], from: null, to: null, start: 0 });
  const [turn, setTurn] = useState({ number: 0, before: null });
  const [busy, setBusy] = useState(true);
  const [failure, setFailure] = useState(null);
  useEffect(() => {
    const ending = new AbortController();
    const run = async () => {
      setBusy(true);
      setFailure(null);
      let { before } = turn;
      for (let search = 0; search < SEARCHES; search += 1) {
        const part = await get('metadata/search', { ...filter, before }, ending.signal);
        const first = before === null;
        setFound((known) => ({
          rows: merged(first ? [] : known.rows, part.rows),
          from: part.searched_from,
          to: first ? part.searched_to : known.to,
          start: part.start,
        }));
        before = part.searched_from;
        if (before <= part.start) break;
      }
      setBusy(false);
    };
    run().catch((problem) => {
      if (problem.name === 'AbortError') return;
      setFailure(problem);
      setBusy(false);
    });
    return () => ending.abort();
  }, [turn]);
  const later = found.to === null ? [] : followed.filter((row) => row.end >= found.to && accepts(filter)(row));
  const missed = found.to !== null && hasHoles(followed, found.to);
  return {
    rows: merged(found.rows, later),
    state: {
      from: found.from,
      to: Math.max(found.to ?? 0, missed ? 0 : (followed[0]?.end ?? -1) + 1),
      start: found.start,
      busy,
      failure,
      more: missed && (() => setTurn(({ number }) => ({ number: number + 1, before: null }))),
    },
    searchOn: useCallback(() => setTurn(({ number }) => ({ number: number + 1, before: found.from })), [found.from]),
  };
}

// -- one record ------------------------------------------------------------------------------------------------------

const Mark = ({ mark }) => html`<span class=${`mark ${MARKS[mark]}`} title=${MARKS[mark]}><span aria-hidden="true">${mark === '=' ? '' : mark}</span><span class="hidden">${MARKS[mark]}</span></span>`;

function Elements({ gone, come }) {
  if (gone.length + come.length === 0) return null;
  return html`<div class="elements">${gone.map((each) => html`<${Tag} key=${`-${each}`} kind="bad">− ${visible(each)}<//>`)} ${
    come.map((each) => html`<${Tag} key=${`+${each}`} kind="good">+ ${visible(each)}<//>`)}</div>`;
}

const LeftOut = ({ number, offset }) => (number > 0 ? html`<p class="muted">${plural(number, 'more field is', 'more fields are')} not shown here:
  <a href=${whole(offset)} target="_blank">everything as JSON</a>.</p>` : null);

const whole = (offset) => `/api/metadata/record?offset=${offset}&whole=true`;

const KINDS = {
  configs: 'the configuration of', quotas: 'the quotas of', 'scram credential': 'the SCRAM credential of', acl: 'the ACL',
};

function Image({ record }) {
  const [all, setAll] = useState(false);
  const { image, existed, exists, kind, name } = record;
  const entity = `${KINDS[kind] ?? kind}${name ? ` ${visible(name)}` : ''}`;
  if (!image) return html`<p class="muted">This record changes nothing in the image of the cluster.</p>`;
  const same = image.fields.filter(({ mark }) => mark === '=').length;
  const shown = all ? image.fields : image.fields.filter(({ mark }) => mark !== '=');
  return html`
    <h3>${existed && exists ? `What it changes of ${entity}` : exists ? `It adds ${entity}` : `It removes ${entity}`}</h3>
    ${!existed && html`<p class="muted">Before: none, it did not exist.</p>`}
    ${shown.length > 0 ? html`<table class="differences"><caption class="hidden">${`Image of ${entity} before and after record ${record.offset}`}</caption>
      <thead><tr><th scope="col"><span class="hidden">Change</span></th><th scope="col">Field</th>
        ${existed && html`<th scope="col">Before</th>`}${exists && html`<th scope="col">After</th>`}</tr></thead>
      <tbody>${shown.map((field) => html`<tr key=${field.name} class=${MARKS[field.mark]}>
        <td data-label="Change"><${Mark} mark=${field.mark} /></td>
        <th scope="row">${visible(field.name)}</th>
        ${existed && html`<td data-label="Before">${visible(field.before) ?? '–'}</td>`}
        ${exists && html`<td data-label="After">${visible(field.after) ?? '–'}<${Elements} ...${field} /></td>`}</tr>`)}</tbody></table>`
    : html`<p class="muted">Nothing is different afterwards.</p>`}
    ${!exists && html`<p class="muted">After: none, it no longer exists.</p>`}
    ${same > 0 && html`<button type="button" class="quiet" aria-expanded=${all} onClick=${() => setAll(!all)}>${
  all ? 'Only what is different' : `Show ${count(same)} unchanged ${same === 1 ? 'field' : 'fields'}`}</button>`}
    <${LeftOut} number=${image.left_out} offset=${record.offset} />`;
}

function Details({ offset }) {
  const { data, failure } = useGet('metadata/record', { offset });
  if (!data) return failure ? html`<${Problem} failure=${failure} />` : html`<p class="waiting" role="status">Reading record ${count(offset)} …</p>`;
  return html`
    ${data.problem && html`<p class="problem">This record could not be replayed, so the image stays as it was: ${visible(data.problem)}</p>`}
    <${Image} record=${data} />
    <h3>The record</h3>
    <${Facts} rows=${[
    ['Type', `${data.type}${data.type_number === null ? '' : ` (${data.type_number})`}`],
    ['Version', data.version],
    ['Epoch', count(data.epoch)],
    ['Written at', exactTime(data.at)],
    ['Size', bytes(data.size)],
  ]} />
    ${data.fields.fields.length > 0 && html`<${Facts} rows=${data.fields.fields.map((field) => [visible(field.name), visible(field.after)])} />`}
    <${LeftOut} number=${data.fields.left_out} offset=${offset} />
    <p><a href=${`/metadata?offset=${offset}`}>Link to this moment</a> · <a href=${whole(offset)} target="_blank">Everything as JSON</a></p>`;
}

function Several({ row }) {
  return html`<p>${count(row.end - row.offset + 1)} records of type ${row.type} from offset ${count(row.offset)} to
    ${' '}${count(row.end)}, written from ${exactTime(row.at)} to ${exactTime(row.until)}. The leader of the quorum writes
    them when nothing else happens.</p>`;
}

function RecordRow({ row, chosen }) {
  const [open, setOpen] = useState(chosen);
  const id = useId();
  const many = row.end - row.offset + 1;
  const address = many > 1 ? row.end : row.offset;
  return html`<li class=${`record ${chosen ? 'chosen' : ''} ${row.problem ? 'has-problem' : ''}`}>
    <a class="record-offset" href=${`/metadata?offset=${address}`} title=${`Link to offset ${count(address)}`}>${count(address)}</a>
    <button type="button" class="record-line" aria-expanded=${open} aria-controls=${id} onClick=${() => setOpen(!open)}>
      <span class="record-time" title=${exactTime(row.until)}>${time(row.until)}</span>
      <span class="record-type">${row.type}${many > 1 && html` <${Tag}>× ${count(many)}<//>`}${row.control && html` <${Tag} kind="held">quorum<//>`}</span>
      <span class="record-entity">${row.kind && html`<span class="kind">${row.kind}</span> ${visible(row.name)}`}</span>
      <span class="record-words">${row.problem ? html`<${Tag} kind="bad">not replayed<//>` : many > 1
    ? `nothing else happened for ${duration(row.until - row.at)}` : visible(row.words)}</span>
    </button>
    <div id=${id} class="record-details" hidden=${!open}>${open && (many > 1 ? html`<${Several} row=${row} />` : html`<${Details} offset=${row.offset} />`)}</div>
  </li>`;
}

const Gap = ({ from, to }) => html`<li class="record-gap">Records ${count(from)} to ${count(to)} came faster than this page looks.
  <a href=${`/metadata?offset=${to}`}>Show them</a></li>`;

// `rows` with the newest first. `older` and `newer`: { label, go }.
export function Records({ rows, chosen = null, gaps = true, empty, older, newer }) {
  if (rows.length === 0) return html`<p class="muted">${empty}</p>`;
  // One flat list: rows inside of lists of their own would be told apart by their places, which change.
  const items = rows.flatMap((row, index) => {
    const before = rows[index + 1];
    const missed = gaps && before && row.offset > before.end + 1;
    const item = html`<${RecordRow} key=${row.offset} row=${row} chosen=${chosen !== null && row.offset <= chosen && chosen <= row.end} />`;
    return missed ? [item, html`<${Gap} key=${`gap ${before.end}`} from=${before.end + 1} to=${row.offset - 1} />`] : [item];
  });
  return html`
    <ol class="records">${items}</ol>
    ${(older || newer) && html`<nav class="paging" aria-label="Pages of the log">
      ${newer && html`<button type="button" onClick=${newer.go}>${newer.label}</button>`}
      ${older && html`<button type="button" onClick=${older.go}>${older.label}</button>`}</nav>`}`;
}
