// Looking for hanging transactions, and ending them one by one.
import { html, useEffect, useMemo, useState } from '../lib/html.js';
import { post, useLive } from '../lib/api.js';
import { count, plural } from '../lib/format.js';
import { path } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Confirm, NotTold, Problem, Table, Time } from '../lib/components.js';

const DEFAULT_MINUTES = 15;
let searches = 0;

const place = (row) => `${visible(row.topic)}-${row.partition}`;

const columns = (abort) => [
  {
    key: 'partition', label: 'Partition', value: place,
    show: (row) => html`<a href=${`${path('topics', row.topic)}?view=messages&partition=${row.partition}&offset=${row.start_offset}`}>${place(row)}</a>`,
  },
  { key: 'start', label: 'Begins at offset', value: (row) => row.start_offset, show: (row) => count(row.start_offset), number: true },
  {
    key: 'producer', label: 'Producer id', value: (row) => row.producer_id, number: true,
    show: (row) => html`<a href=${`${path('topics', row.topic)}?view=producers&partition=${row.partition}`}>${row.producer_id}</a>`,
  },
  { key: 'epoch', label: 'Epoch', value: (row) => row.producer_epoch, number: true },
  { key: 'last', label: 'Last write', value: (row) => row.last_ms, show: (row) => html`<${Time} ms=${row.last_ms} />` },
  { key: 'why', label: 'Why nobody ends it', value: (row) => visible(row.why) },
  ...(abort ? [{
    key: 'abort', label: 'End it', value: () => '',
    show: (row) => html`<button type="button" class="danger" aria-label=${`Abort in ${place(row)}`} onClick=${() => abort(row)}>Abort</button>`,
  }] : []),
];

function AbortHanging({ row, onClose, onDone }) {
  const [sure, setSure] = useState(false);
  const act = async () => {
    await post('transactions/hanging/abort', {
      topic: row.topic, partition: row.partition, producer_id: row.producer_id, producer_epoch: row.producer_epoch,
      start_offset: row.start_offset, may_go_on: sure,
    });
    onDone(row);
  };
  return html`<${Confirm} title=${`Abort the hanging transaction in ${place(row)}?`} confirm="Abort it" ready=${sure || !row.may_go_on}
      onConfirm=${act} onClose=${onClose}>
    <ul>
      <li>The leader of ${place(row)} writes an abort marker for producer id ${row.producer_id}, epoch ${row.producer_epoch}.</li>
      <li>What this producer has written from offset ${count(row.start_offset)} on stays invisible to readers of committed records, for ever.</li>
      <li>The last stable offset moves on, and groups that wait there get what is behind it.</li>
      <li>Only this partition is changed; no coordinator is asked. The console looks once more whether the transaction still
        hangs, and refuses if a coordinator would end it.</li>
    </ul>
    ${row.may_go_on && html`<p class="problem">Nobody can tell whether this transaction hangs: this console's client may not see its
      transactional id. If it goes on, and is committed elsewhere, what it has written here is lost.</p>
      <p><label><input type="checkbox" checked=${sure} onChange=${(event) => setSure(event.target.checked)} /> I know that its
        producer has ended</label></p>`}
  <//>`;
}

function Result({ result, ended, onAbort }) {
  const rows = result.found.filter((row) => !ended.includes(keyOf(row)));
  const certain = rows.filter((row) => !row.may_go_on).length;
  const perhaps = rows.length - certain + result.undecided;
  const table = useMemo(() => columns(onAbort), [onAbort]);
  return html`
    <p role="status">${result.done ? `All ${plural(result.asked, 'partition', 'partitions')} asked: ` : `${count(result.asked)} of ${plural(result.partitions, 'partition', 'partitions')} asked: `}
      <strong>${rows.length + result.undecided === 0 && result.done ? (result.unknown > 0 ? 'no transaction is known to hang' : 'no transaction hangs') : plural(certain, 'transaction hangs', 'transactions hang')}${
  perhaps > 0 ? `, ${plural(perhaps, 'more may hang', 'more may hang')}` : ''}</strong>,
      as far as they have been silent for more than ${plural(result.minutes, 'minute', 'minutes')}.</p>
    ${!result.done && html`<progress max=${Math.max(1, result.partitions)} value=${result.asked} aria-label="Partitions asked">${result.asked}</progress>`}
    ${result.unknown > 0 && html`<${NotTold}>${plural(result.unknown, 'partition does', 'partitions do')} not tell about ${result.unknown === 1 ? 'its' : 'their'} producers: ${result.unknown_names.map(visible).join(', ')}.<//>`}
    ${result.undecided > 0 && html`<${NotTold}>Of ${plural(result.undecided, 'open transaction', 'open transactions')} nobody can tell whether ${
  result.undecided === 1 ? 'it hangs' : 'they hang'}, because the coordinator that knows the transactional id may be away, and may still commit. ${
  sentence(result.away)} and look again.<//>`}
    ${result.is_cut && html`<${NotTold}>There may be more: end some of these and look again.<//>`}
    ${rows.length > 0 && html`<${Table} label="Hanging transactions" columns=${table} rows=${rows} rowKey=${keyOf} />`}`;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const keyOf = (row) => `${row.topic}-${row.partition} ${row.producer_id} ${row.start_offset}`;

export function Hanging({ session }) {
  const [minutes, setMinutes] = useState(DEFAULT_MINUTES);
  const [search, setSearch] = useState(null);
  const [result, setResult] = useState(null);
  const [aborting, setAborting] = useState(null);
  const [ended, setEnded] = useState([]);
  const { data, failure } = useLive(search && 'transactions/hanging/live', search ?? {});
  useEffect(() => {
    if (!data) return;
    setResult(data);
    // The feed has no more to tell.
    if (data.done) setSearch(null);
  }, [data]);
  const look = (event) => {
    event.preventDefault();
    searches += 1;
    setResult(null);
    setEnded([]);
    setSearch({ search: `${Date.now()}-${searches}`, minutes });
  };
  return html`<${Card} title="Hanging transactions">
    <p>A transaction hangs if it is open in a partition, but no coordinator will ever end it, because the producer wrote
      there without telling its coordinator, or after the transaction had ended. It holds back readers of committed records
      until somebody aborts it. To find them, the leaders of all partitions are asked for their producers.</p>
    <form class="controls" onSubmit=${look}>
      <label>Silent for more than, in minutes
        <input type="number" min="0" max="100000" required value=${minutes} onInput=${(event) => setMinutes(event.target.valueAsNumber)} /></label>
      <button type="submit" disabled=${search !== null || !Number.isInteger(minutes)}>${search ? 'Looking …' : 'Look for hanging transactions'}</button>
    </form>
    <p class="muted">Choose no less than the longest transaction timeout of your producers
      (<code>transaction.max.timeout.ms</code> is 15 minutes by default): one that is still being written to does not hang.</p>
    <${Problem} failure=${search && failure} />
    ${result && html`<${Result} result=${result} ended=${ended} onAbort=${session.read_only ? null : setAborting} />`}
    ${result?.found.length > 0 && session.read_only && html`<${NotTold}>This console was started with --read-only: it aborts nothing.<//>`}
    ${aborting && html`<${AbortHanging} row=${aborting} onClose=${() => setAborting(null)}
      onDone=${(row) => setEnded((before) => [...before, keyOf(row)])} />`}
  <//>`;
}
