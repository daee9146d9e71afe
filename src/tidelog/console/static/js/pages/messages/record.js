// All that is known of one record.
import { html, useState } from '../../lib/html.js';
import { address, useGet } from '../../lib/api.js';
import { bytes, count, exactTime } from '../../lib/format.js';
import { path } from '../../lib/router.js';
import { Facts, NotTold, Problem, Waiting } from '../../lib/components.js';
import { linkTo } from './asking.js';
import { InFull, Pieces } from './payload.js';
import { Control, Outcome, gapText } from './marks.js';

// The last moment that a browser knows.
const LAST_MS = 8.64e15;

export const FORMS = { auto: 'automatic', json: 'JSON', text: 'text', hex: 'hex' };

function Headers({ record, topic }) {
  if (record.header_count === 0) return html`<p class="muted">No headers.</p>`;
  const { partition, offset } = record;
  return html`<h3>Headers <span class="muted">${count(record.header_count)}</span></h3>
    <table class="msg-headers"><caption class="hidden">Headers</caption>
      <thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead>
      <tbody>${record.headers.map(({ name, name_cut: nameCut, value }, index) => html`<tr key=${index}>
        <td data-label="Name"><span class="msg-text"><${Pieces} pieces=${name} />${nameCut && ' …'}</span></td>
        <td data-label="Value">${value.form === 'null' || value.form === 'empty' ? html`<span class="muted">${value.form}</span>` : html`
          <span class="msg-text msg-block"><${Pieces} pieces=${value.pieces} /></span>
          ${value.shown < value.size && html` <a href=${address('messages/payload', { topic, partition, offset, part: 'header', index })} download>
            … download all ${bytes(value.size)}</a>`}`}</td></tr>`)}</tbody></table>
    ${record.header_count > record.headers.length && html`<${NotTold}>Only the first ${record.headers.length} headers are shown.<//>`}`;
}

function Readable({ readable }) {
  if (!readable) return null;
  if (!readable.type) {
    return html`<p class="note">This record cannot be read: <${Pieces} pieces=${readable.summary} />. It is shown as bytes.</p>`;
  }
  return html`
    <p><strong><${Pieces} pieces=${readable.summary} /></strong>
      ${readable.group !== null && html` <a href=${path('groups', readable.group)}>Show the group</a>`}
      ${readable.transactional_id !== null && html` <a href=${path('transactions', readable.transactional_id)}>Show the transactional id</a>`}</p>
    <${InFull} payload=${readable.key} label=${`Key: ${readable.type}`} sized=${false} />
    <${InFull} payload=${readable.value} label="Value" sized=${false} />`;
}

// Producers may have written any number.
const timeText = ({ time_ms: ms, timestamp }) => (ms < 0 ? `none (${timestamp})` : Math.abs(ms) > LAST_MS ? timestamp : exactTime(ms));

function Body({ record, topic }) {
  const { partition, offset } = record;
  const href = (part) => address('messages/payload', { topic, partition, offset, part });
  const bytesOf = html`<${InFull} payload=${record.key} label="Key" href=${href('key')} />
    <${InFull} payload=${record.value} label="Value" href=${href('value')} />`;
  return html`
    <${Readable} readable=${record.readable} />
    ${record.readable?.type ? html`<details><summary>The bytes of key and value</summary>${bytesOf}</details>` : bytesOf}
    <${Headers} record=${record} topic=${topic} />
    <${Facts} rows=${[
    ['Partition', record.partition],
    ['Offset', count(record.offset)],
    [record.append_time ? 'Append time' : 'Create time', html`<span title=${record.timestamp}>${timeText(record)}</span>`],
    ['Transaction', record.outcome ? html`<${Outcome} outcome=${record.outcome} />` : 'none'],
    ['Leader epoch', record.leader_epoch],
    ['Batch begins at', html`<a href=${linkTo(topic, partition, record.batch_offset)}>${count(record.batch_offset)}</a>`],
    ['Compression', record.compression],
    ['Producer id', record.producer_id],
    ['Producer epoch', record.producer_epoch],
    ['Sequence', record.sequence],
    ['Size of key', bytes(record.sizes.key)],
    ['Size of value', bytes(record.sizes.value)],
    ['Size of headers', bytes(record.sizes.headers)],
  ]} />`;
}

// `onClose` is left out where the record is not part of a list.
export function Details({ topic, partition, offset, form, onClose }) {
  const [chosen, setChosen] = useState(form);
  const { data, failure } = useGet('messages/record', { topic, partition, offset, form: chosen });
  return html`<section class="msg-details" aria-label=${`Offset ${offset} of partition ${partition}`}>
    <div class="msg-bar">
      <label>Show as <select value=${chosen} onChange=${(event) => setChosen(event.target.value)}>
        ${Object.entries(FORMS).map(([key, label]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>
      <a href=${linkTo(topic, partition, offset)}>Link to this record</a>
      ${onClose && html`<button type="button" class="quiet" onClick=${onClose}>Close</button>`}
    </div>
    ${!data ? html`<${Waiting} failure=${failure} />`
    : html`<${Problem} failure=${failure} />
      ${data.kind === 'record' && html`<${Body} record=${data} topic=${topic} />`}
      ${data.kind === 'control' && html`<p><${Control} row=${data} /></p>`}
      ${data.kind === 'gap' && html`<p>${gapText(data)}</p>`}
      ${data.kind === 'unreadable' && html`<p class="problem">The batch at this offset cannot be read: ${data.reason}</p>`}`}
  </section>`;
}
