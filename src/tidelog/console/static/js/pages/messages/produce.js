// Produces one record.
import { html, useId, useState } from '../../lib/html.js';
import { post } from '../../lib/api.js';
import { Confirm } from '../../lib/components.js';

const ENCODINGS = { text: 'text', json: 'JSON', hex: 'hex', base64: 'base64', null: 'null' };
const EMPTY = { encoding: 'text', text: '' };

function Payload({ label, payload, change, nothing }) {
  const id = useId();
  return html`<fieldset class="msg-part"><legend>${label}</legend>
    <label>Written as <select value=${payload.encoding} onChange=${(event) => change({ ...payload, encoding: event.target.value })}>
      ${Object.entries(ENCODINGS).map(([key, words]) => html`<option key=${key} value=${key}>${words}</option>`)}</select></label>
    ${payload.encoding === 'null' ? html`<p class="muted">${nothing}</p>`
    : html`<label class="hidden" for=${id}>${label}</label>
      <textarea id=${id} spellcheck="false" rows=${label === 'Value' ? 6 : 2} value=${payload.text}
        onInput=${(event) => change({ ...payload, text: event.target.value })}></textarea>`}
  </fieldset>`;
}

function Headers({ headers, change }) {
  const set = (index, changes) => change(headers.map((each, place) => (place === index ? { ...each, ...changes } : each)));
  return html`<fieldset class="msg-part"><legend>Headers</legend>
    ${headers.map((header, index) => html`<div key=${index} class="msg-header">
      <label>Name <input type="text" value=${header.name} onInput=${(event) => set(index, { name: event.target.value })} /></label>
      <label>Written as <select value=${header.encoding} onChange=${(event) => set(index, { encoding: event.target.value })}>
        ${Object.entries(ENCODINGS).map(([key, words]) => html`<option key=${key} value=${key}>${words}</option>`)}</select></label>
      ${header.encoding !== 'null' && html`<label>Value <input type="text" value=${header.text} onInput=${(event) => set(index, { text: event.target.value })} /></label>`}
      <button type="button" class="quiet" onClick=${() => change(headers.filter((_, place) => place !== index))}>Remove</button></div>`)}
    <button type="button" onClick=${() => change([...headers, { name: '', ...EMPTY }])}>Add a header</button></fieldset>`;
}

// `onProduced` gets the partition and the offset.
export function Produce({ topic, partitions, chosen, onProduced, onClose }) {
  const [partition, setPartition] = useState(chosen);
  const [key, setKey] = useState({ encoding: 'null', text: '' });
  const [value, setValue] = useState({ encoding: 'json', text: '' });
  const [headers, setHeaders] = useState([]);
  const [time, setTime] = useState('');
  const send = async () => {
    onProduced(await post('messages/produce', {
      topic,
      partition: partition === '' ? null : Number(partition),
      key,
      value,
      headers,
      timestamp_ms: time ? new Date(time).getTime() : null,
    }));
  };
  return html`<${Confirm} title="Produce a record" confirm="Produce" danger=${false} onConfirm=${send} onClose=${onClose}>
    <p>One record is written to ${topic}, in ${partition === '' ? 'the partition that the key decides, any if there is no key' : `partition ${partition}`}.
      It cannot be taken back.</p>
    <div class="controls">
      <label>Partition <select value=${partition} onChange=${(event) => setPartition(event.target.value)}>
        <option value="">automatic</option>${partitions.map((each) => html`<option key=${each} value=${String(each)}>${each}</option>`)}</select></label>
      <label>Time (empty: now) <input type="datetime-local" step="0.001" value=${time} onInput=${(event) => setTime(event.target.value)} /></label>
    </div>
    <${Payload} label="Key" payload=${key} change=${setKey} nothing="The record has no key." />
    <${Payload} label="Value" payload=${value} change=${setValue} nothing="A tombstone: in a compacted topic it deletes its key." />
    <${Headers} headers=${headers} change=${setHeaders} />
  <//>`;
}
