// What is said about an entry of a log: the outcome of its transaction, what a control record does, what a gap is.
import { html } from '../../lib/html.js';
import { count } from '../../lib/format.js';
import { Tag } from '../../lib/components.js';

const OUTCOMES = {
  committed: { kind: 'good', title: 'Its transaction was committed' },
  aborted: { kind: 'bad', title: 'Its transaction was aborted: readers of committed records never get it' },
  open: { kind: 'held', title: 'Its transaction is open: readers of committed records wait in front of it' },
  'ended later': { kind: '', title: 'Its transaction ends further on in the log' },
};

export const Outcome = ({ outcome }) => html`<${Tag} kind=${OUTCOMES[outcome]?.kind ?? ''} title=${OUTCOMES[outcome]?.title}>${outcome}<//>`;

const MARKERS = { COMMIT: 'ends a transaction: it is committed', ABORT: 'ends a transaction: it is aborted' };

export const Control = ({ row }) => html`<${Tag} kind=${row.type === 'ABORT' ? 'bad' : row.type === 'COMMIT' ? 'good' : ''}>${row.type}<//>${' '}
  ${MARKERS[row.type] ?? 'is a control record'}${row.producer_id !== null
  && ` (producer ${row.producer_id}, epoch ${row.producer_epoch}${row.coordinator_epoch !== null ? `, coordinator epoch ${row.coordinator_epoch}` : ''})`}.${' '}
  <span class="muted">No consumer gets it.</span>`;

export function gapText({ offset, last_offset: last }) {
  return offset === last ? `Offset ${count(offset)} was removed by compaction, or never used.`
    : `Offsets ${count(offset)} to ${count(last)} were removed by compaction, or never used.`;
}
