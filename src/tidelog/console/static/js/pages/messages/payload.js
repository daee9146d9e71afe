// Bytes of a record as the console has made them readable: text, and marks for what cannot be seen.
import { html } from '../../lib/html.js';
import { bytes } from '../../lib/format.js';
import { Tag } from '../../lib/components.js';

// At even places text, at odd ones what stands for characters and bytes.
export const Pieces = ({ pieces }) => pieces.map((piece, index) => (index % 2
  ? html`<span key=${index} class="msg-mark" title="characters or bytes that cannot be seen">${piece}</span>` : piece));

const SCHEMA = 'It begins with a zero byte and a number, as Confluent’s serializers write it';

export const Schema = ({ payload }) => payload.schema_id !== null
  && html`<${Tag} title=${SCHEMA}>schema id ${payload.schema_id}<//> `;

// In a row: a beginning of it.
export function InLine({ payload }) {
  if (payload.form === 'null') return html`<span class="muted">null</span>`;
  if (payload.form === 'empty') return html`<span class="muted">empty</span>`;
  const more = payload.size - payload.shown;
  return html`<div class="msg-cell"><${Schema} payload=${payload} /><span class="msg-text"><${Pieces} pieces=${payload.pieces} /></span></div>${
    more > 0 && html`<div class="msg-more">the beginning of ${bytes(payload.size)}</div>`}`;
}

const FORMS = { json: 'JSON', text: 'text', hex: 'hex' };

// In full, or so much of it as can be shown. `href` is where the bytes are.
export function InFull({ payload, label, href, sized = true }) {
  if (payload.form === 'null' || payload.form === 'empty') {
    return html`<div class="msg-payload"><h3>${label}</h3><p class="muted">${payload.form}</p></div>`;
  }
  const cut = payload.shown < payload.size;
  return html`<div class="msg-payload">
    <h3>${label} <span class="muted">${sized && `${bytes(payload.size)}, `}shown as ${FORMS[payload.form]}</span> <${Schema} payload=${payload} /></h3>
    ${payload.number && html`<p class="muted">${payload.number}</p>`}
    ${payload.note && html`<p class="note">${payload.note}</p>`}
    <pre class="msg-full" tabindex="0" aria-label=${label}><${Pieces} pieces=${payload.pieces} /></pre>
    ${cut && html`<p class="note">It is cut: the first ${bytes(payload.shown)} of ${bytes(payload.size)} are shown.</p>`}
    ${href && html`<p><a href=${href} download>Download ${label.toLowerCase()}</a></p>`}
  </div>`;
}
