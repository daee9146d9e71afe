// Who holds back whom, as a sentence with links.
import { html } from '../lib/html.js';
import { count, duration, plural } from '../lib/format.js';
import { path } from '../lib/router.js';
import { visible } from '../lib/visible.js';

const NAMED = 5;

// [a, b, c] as "a, b and c"; of many, so many and how many more. `others` are not among the items.
function listed(items, others = 0) {
  const shown = items.slice(0, NAMED);
  const more = items.length - shown.length + others;
  const parts = more > 0 ? [...shown, `${count(more)} more`] : shown;
  return parts.map((part, index) => html`${index === 0 ? '' : index === parts.length - 1 ? ' and ' : ', '}${part}`);
}

const partitionLink = ({ topic, partition, offset }) => html`<a href=${
  `${path('topics', topic)}?view=messages&partition=${partition}&offset=${offset}`}>${visible(topic)}-${partition}</a>`;
const groupLink = ({ id }) => html`<a href=${path('groups', id)}>${visible(id)}</a>`;

export function HoldingBack({ holding, nowMs, linked = true }) {
  const { partitions, waiting } = holding;
  const offsets = partitions.reduce((sum, each) => sum + each.high_watermark - each.offset, 0);
  const queue = partitions.filter((each) => each.queue > 0).length;
  const waiters = waiting.filter((group) => group.has_members);
  const absent = waiting.filter((group) => !group.has_members);
  const name = holding.id === null
    ? html`A transaction of producer id ${holding.producer_id}, which no transactional id ${holding.hidden || holding.silent.length > 0 || holding.leaderless > 0 ? 'that this client sees ' : ''}has,`
    : html`Transaction ${linked ? html`<a href=${path('transactions', holding.id)}>${visible(holding.id)}</a>` : visible(holding.id)}`;
  return html`<p>
    <strong>${name} holds back the last stable offset of ${listed(partitions.map(partitionLink), holding.partitions_left_out)}${
  holding.start_ms === null ? '' : html` since ${duration(Math.max(0, nowMs - holding.start_ms))}`}</strong>.
    Readers of committed records stop there, ${plural(offsets, 'offset', 'offsets')} before the high watermark${partitions.length > 1 ? ', all partitions together' : ''}.${' '}
    ${waiters.length > 0 && html`${waiters.length === 1 ? 'Group' : 'Groups'} ${listed(waiters.map(groupLink), holding.waiting_left_out)} ${waiters.length === 1 ? 'waits' : 'wait'}.${' '}`}
    ${absent.length > 0 && html`${absent.length === 1 ? 'Group' : 'Groups'} ${listed(absent.map(groupLink))} would wait, but ${absent.length === 1 ? 'has' : 'have'} no members.${' '}`}
    ${waiting.length === 0 && html`No group is known to wait: none has committed the offset at which readers stop.${' '}`}
    ${queue > 0 && html`When it ends, other open transactions hold back ${partitions.length === 1 ? 'this partition' : `${count(queue)} of these partitions`}.${' '}`}
    ${holding.silent.length > 0 && html`Its transactional id may be one that ${holding.silent.length === 1
    ? `broker ${holding.silent[0]} coordinates, which does` : `brokers ${holding.silent.join(', ')} coordinate, which do`} not answer.${' '}`}
    ${holding.leaderless > 0 && html`Its transactional id may be one that nobody coordinates now, because ${plural(holding.leaderless, 'partition', 'partitions')} of __transaction_state ${
  holding.leaderless === 1 ? 'has' : 'have'} no leader.${' '}`}
    ${holding.hidden && html`Its transactional id has expired, and then it hangs, or the client of this console may not describe it.${' '}`}
    ${holding.hangs && html`<strong>It hangs:</strong> no coordinator is going to end it${holding.partitions.length > 1 ? ' in all of these partitions' : ''}. ${linked
    ? 'Look for hanging transactions below to abort it.' : html`<a href="/transactions">Look for hanging transactions</a> to abort it.`}`}
  </p>`;
}
