// One transactional id: its state in the state machine, its timeline, the partitions that it holds, and an end to it.
import { html, useMemo, useState } from '../lib/html.js';
import { get, post, useGet, useLive } from '../lib/api.js';
import { count, duration, plural } from '../lib/format.js';
import { path } from '../lib/router.js';
import { visible } from '../lib/visible.js';
import { Card, Confirm, Facts, Heading, NotTold, Problem, Table, Tag, Time, Waiting } from '../lib/components.js';
import { StateMachine } from '../drawings/state_machine.js';
import { HoldingBack } from './holding_back.js';
import { Timeline } from './transaction_timeline.js';

const place = (row) => `${visible(row.topic)}-${row.partition}`;

const PARTITIONS = [
  {
    key: 'partition', label: 'Partition', value: place,
    show: (row) => html`<span><a href=${`${path('topics', row.topic)}?view=producers&partition=${row.partition}`}>${place(row)}</a>${
      !row.held && html` <${Tag}>ended<//>`}</span>`,
  },
  {
    key: 'first', label: 'First offset', value: (row) => row.producer?.first_offset, number: true,
    show: (row) => ((row.producer?.first_offset ?? null) === null ? '–' : html`<a href=${
      `${path('topics', row.topic)}?view=messages&partition=${row.partition}&offset=${row.producer.first_offset}`}>${
      count(row.producer.first_offset)}</a>`),
  },
  { key: 'stable', label: 'Last stable offset', value: (row) => row.last_stable_offset, show: (row) => count(row.last_stable_offset), number: true },
  { key: 'watermark', label: 'High watermark', value: (row) => row.high_watermark, show: (row) => count(row.high_watermark), number: true },
  { key: 'epoch', label: 'Producer’s epoch', value: (row) => row.producer?.epoch, number: true },
  {
    key: 'sequence', label: 'Last sequence', value: (row) => row.producer?.last_sequence, number: true,
    show: (row) => ((row.producer?.last_sequence ?? -1) < 0 ? '–' : count(row.producer.last_sequence)),
  },
  { key: 'last', label: 'Last write', value: (row) => row.producer?.last_ms, show: (row) => html`<${Time} ms=${row.producer?.last_ms} />` },
  { key: 'coordinator', label: 'Coordinator epoch', value: (row) => row.producer?.coordinator_epoch, number: true },
];

function Partitions({ data }) {
  const problems = data.partitions.filter((row) => row.problem !== null);
  const held = data.partitions.some((row) => row.held);
  return html`
    ${!held && data.partitions.length > 0 && html`<p class="muted">The last transaction has ended; it was in these partitions.</p>`}
    <${Table} label="Partitions" columns=${PARTITIONS} rows=${data.partitions} rowKey=${(row) => `${row.topic}-${row.partition}`}
      empty="It holds no partition." />
    ${data.partitions_left_out > 0 && html`<${NotTold}>${plural(data.partitions_left_out, 'partition is', 'partitions are')} left out.<//>`}
    ${problems.length > 0 && html`<${NotTold}>${problems.length === 1 ? 'One partition does' : `${count(problems.length)} partitions do`} not tell about its producers: ${problems[0].problem}.<//>`}`;
}

function State({ described, nowMs }) {
  const open = described.start_ms === null ? null : Math.max(0, nowMs - described.start_ms);
  const left = open === null || described.two_phase ? null : described.timeout_ms - open;
  return html`<${Facts} rows=${[
    ['State', html`<${Tag} kind=${open === null ? '' : 'warn'}>${described.state}<//>`],
    ['Producer id', described.producer_id],
    ['Epoch', described.producer_epoch],
    ['Open since', open === null ? 'not open' : html`<${Time} ms=${described.start_ms} />`],
    ['Open for', open === null ? '–' : duration(open)],
    ['Timeout', described.two_phase ? 'none: two-phase commit' : duration(described.timeout_ms)],
    left !== null && described.can_abort && ['Aborted by its timeout', left > 0 ? `in ${duration(left)}` : 'any moment'],
    ['Coordinator', html`<a href=${path('brokers', described.coordinator)}>broker ${described.coordinator}</a>`],
  ]} />`;
}

// `asked` is what the page has shown when the button was pressed: the transaction that is meant.
function Abort({ id, asked, partitions, onClose }) {
  const act = async () => {
    await post('transaction/abort', {
      id, producer_id: asked.producer_id, producer_epoch: asked.producer_epoch, start_ms: asked.start_ms,
    });
  };
  const names = partitions.slice(0, 5).map(place).join(', ') + (partitions.length > 5 ? ` and ${count(partitions.length - 5)} more` : '');
  return html`<${Confirm} title=${`Abort the transaction of ${visible(id)}?`} confirm="Abort the transaction" onConfirm=${act} onClose=${onClose}>
    <ul>
      <li>The producer with id ${asked.producer_id} and epoch ${asked.producer_epoch} is fenced: its next send, or its commit,
        fails with <code>PRODUCER_FENCED</code> or <code>INVALID_PRODUCER_EPOCH</code>. It can only be closed, and a new one
        has to begin again.</li>
      <li>${partitions.length === 0 ? 'Its partitions get' : `${names} ${partitions.length === 1 ? 'gets' : 'get'}`} an abort marker:
        what the transaction has written stays invisible to readers of committed records, for ever, and offsets that it has
        sent are not committed.</li>
      <li>Readers that wait for it go on.</li>
      ${asked.two_phase && html`<li><strong>It takes part in a two-phase commit.</strong> If another system has decided to commit it,
        an abort loses its records: look there first.</li>`}
    </ul>
    <p class="muted">The console comes as another producer with this transactional id, as Kafka’s <code>kafka-transactions
      forceTerminateTransaction</code> does. If the transaction has ended in the meantime, nothing is changed.</p>
  <//>`;
}

export function Transaction({ id, session }) {
  const { data, failure } = useLive('transaction/live', { id });
  const machine = useGet('transactions/machine');
  const [aborting, setAborting] = useState(null);
  const older = useMemo(() => (before) => get('transaction/timeline', { id, before }), [id]);
  const described = data?.described ?? null;
  const name = visible(id);
  const canAbort = described?.can_abort && !session.read_only;
  const lastState = data?.timeline?.entries[0]?.state ?? null;
  return html`<${Heading} back=${{ href: '/transactions', label: 'Transactions' }} kind="Transactional id" name=${name} />
    ${!data ? html`<${Waiting} failure=${failure} />` : html`
    <${Problem} failure=${failure} />
    ${!described && html`<p class="note">No coordinator knows this transactional id: nobody has used it, or it has expired.</p>`}
    ${described && html`<${Card} title="State" actions=${canAbort && html`
        <button type="button" class="danger" onClick=${() => setAborting(described)}>Abort the transaction</button>`}>
      ${data.holding.map((holding) => html`<div class="holding-one" key=${holding.producer_id}><${HoldingBack} holding=${holding} nowMs=${data.now_ms} linked=${false} /></div>`)}
      <${State} described=${described} nowMs=${data.now_ms} />
      ${!described.can_abort && described.start_ms !== null && html`<p class="muted">Its end is decided: the coordinator writes the markers, and nobody can change the outcome.</p>`}
      ${described.can_abort && session.read_only && html`<${NotTold}>This console was started with --read-only: it aborts nothing.<//>`}
      ${!data.groups_told && html`<${NotTold}>Not all groups may be seen by this client, so more of them may wait.<//>`}
    <//>`}
    <${Card} title="State machine" note="of each transactional id, as its coordinator runs it">
      <${Problem} failure=${machine.failure} />
      ${machine.data && html`<${StateMachine} machine=${machine.data} current=${described ? described.state : lastState} last=${data.last_step} />`}
    <//>
    <${Card} title="Partitions"><${Partitions} data=${data} /><//>
    <${Card} title="Timeline" note="from the records of __transaction_state, newest first">
      <${Timeline} key=${id} live=${data.timeline} problem=${data.timeline_problem} load=${older} />
    <//>`}
    ${aborting && html`<${Abort} id=${id} asked=${aborting} partitions=${data.partitions.filter((row) => row.held)} onClose=${() => setAborting(null)} />`}`;
}
