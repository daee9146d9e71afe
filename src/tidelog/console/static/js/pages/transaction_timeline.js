// What has become of a transactional id, record by record. Live records come from outside; older ones on demand.
import { html, useEffect, useMemo, useState } from '../lib/html.js';
import { count, duration } from '../lib/format.js';
import { path } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { NotTold, Problem, Table, Tag, Time } from '../lib/components.js';
import { stateKind } from './transaction_states.js';

// The page keeps no more; older ones are in the log.
const MOST_ENTRIES = 1000;

const columns = (log) => [
  { key: 'at', label: 'Time', value: (row) => row.at_ms, show: (row) => html`<${Time} ms=${row.at_ms} />` },
  {
    key: 'state', label: 'State', value: (row) => row.state,
    show: (row) => html`<${Tag} kind=${stateKind(row.state)}>${row.state}<//>`,
  },
  {
    key: 'step', label: 'What has happened', value: (row) => row.step ?? '',
    show: (row) => html`<span>${row.step ?? (row.before === null ? 'the first record that is known' : '')}${
      row.note && html`<span class="muted">${row.step ? ': ' : ''}${row.note}</span>`}</span>`,
  },
  {
    key: 'since', label: 'After', value: (row) => row.since_previous_ms, number: true,
    show: (row) => duration(row.since_previous_ms),
  },
  { key: 'epoch', label: 'Epoch', value: (row) => row.producer_epoch, number: true },
  {
    key: 'added', label: 'Partitions added', value: (row) => row.added.join(' '),
    show: (row) => (row.added_count === 0 ? '–' : `${row.added.map(visible).join(', ')}${
      row.added_count > row.added.length ? ` and ${count(row.added_count - row.added.length)} more` : ''}`),
  },
  {
    key: 'offset', label: 'Offset', value: (row) => row.offset, number: true,
    show: (row) => html`<a href=${`${path('topics', log.topic)}?view=messages&partition=${log.partition}&offset=${row.offset}`}>${count(row.offset)}</a>`,
  },
];

// By offset. What was seen before stays; of the same record the reading that knows the record before it is kept.
function merged(known, entries) {
  const found = new Map(known.map((entry) => [entry.offset, entry]));
  entries.forEach((entry) => {
    const before = found.get(entry.offset);
    if (!before || before.before === null) found.set(entry.offset, entry);
  });
  return [...found.values()].sort((a, b) => b.offset - a.offset).slice(0, MOST_ENTRIES);
}

export function Timeline({ live, problem, load }) {
  const [entries, setEntries] = useState([]);
  // Where the next older page begins, once one was asked for; until then the live reading tells.
  const [place, setPlace] = useState({ asked: false, before: null });
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState(null);
  useEffect(() => {
    if (live) setEntries((known) => merged(known, live.entries));
  }, [live]);
  const table = useMemo(() => live && columns(live.log), [live?.log.topic, live?.log.partition]);
  const before = place.asked ? place.before : live?.older_before ?? null;
  const older = async () => {
    setBusy(true);
    setFailure(null);
    try {
      const page = await load(before);
      setEntries((known) => merged(known, page.entries));
      setPlace({ asked: true, before: page.older_before });
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  return html`
    <${Problem} failure=${problem} />
    ${live && html`
    <${Table} label="Timeline" columns=${table} rows=${entries} rowKey=${(row) => row.offset} filter=${false}
      empty=${before === null ? 'The log has no record of this id.' : 'The newest records of the log have none of this id.'} />
    <${Problem} failure=${failure} />
    ${before !== null && entries.length < MOST_ENTRIES && html`<p><button type="button" disabled=${busy} onClick=${older}>${busy ? 'Reading …' : 'Older'}</button>
      <span class="muted"> Records before offset ${count(before)} of ${live.log.topic}-${live.log.partition}.</span></p>`}
    ${entries.length >= MOST_ENTRIES && html`<${NotTold}>This page shows no more than ${count(MOST_ENTRIES)} records.<//>`}
    ${before === null && entries.length > 0 && html`<p class="muted">There are no older records: the log is read to its beginning, and compaction keeps only the last record of an id.</p>`}`}`;
}
