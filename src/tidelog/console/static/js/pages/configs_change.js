// Setting and resetting one property: what it is now, what it will be, and what the brokers say to that beforehand.
import { html, useEffect, useId, useState } from '../lib/html.js';
import { post } from '../lib/api.js';
import { Confirm, Facts } from '../lib/components.js';
import { visible } from '../lib/visible.js';

const SHORT = 120;
export const isLong = (value) => (value ?? '').length > SHORT;
// Whoever types is asked about once it is quiet for so long.
const QUIET_MS = 300;

// A value as a word where there is none to show.
export function Value({ value, sensitive = false, short = false, unset = false }) {
  if (sensitive) return html`<span class="muted" title="Brokers do not tell secrets">not shown</span>`;
  if (unset) return html`<span class="muted">not set</span>`;
  if (value === null || value === undefined) return html`<span class="muted">none</span>`;
  if (value === '') return html`<span class="muted">empty</span>`;
  const text = visible(value);
  return html`<code>${short && text.length > SHORT ? `${text.slice(0, SHORT)}…` : text}</code>`;
}

const ask = ({ kind, name, property, value, validateOnly }) => post('configs/change', {
  kind, name, property: property.name, value, validate_only: validateOnly,
});

// What the brokers say to this value, without doing it. `value` undefined: there is nothing to ask yet.
function useVerdict({ kind, name, property, value }) {
  const [verdict, setVerdict] = useState({ value: undefined });
  useEffect(() => {
    if (value === undefined) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      ask({ kind, name, property, value, validateOnly: true }).then(
        ({ accepted, message }) => current && setVerdict({ value, accepted, message }),
        (failure) => current && setVerdict({ value, accepted: false, message: failure.message }),
      );
    }, QUIET_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [value]);
  return verdict.value === value ? verdict : { value: undefined };
}

function Verdict({ value, verdict }) {
  if (value === undefined) return html`<p class="note" role="status">The brokers are asked about the new value before it can be set.</p>`;
  if (verdict.value === undefined) return html`<p class="note" role="status">Asking the brokers …</p>`;
  if (verdict.accepted) return html`<p class="note accepted" role="status">The brokers would accept this.</p>`;
  return html`<p class="problem" role="alert">${verdict.message}</p>`;
}

function Input({ property, id, value, onInput }) {
  const { type, sensitive } = property;
  const input = (event) => onInput(event.target.value);
  if (type === 'boolean') {
    return html`<select id=${id} onChange=${input}>
      <option value="" selected=${value === ''} disabled>choose</option>
      ${['true', 'false'].map((word) => html`<option key=${word} value=${word} selected=${value === word}>${word}</option>`)}</select>`;
  }
  if (sensitive) return html`<input id=${id} type="password" autocomplete="new-password" value=${value} onInput=${input} />`;
  return html`<input id=${id} type="text" class="wide" autocomplete="off" spellcheck=${false} value=${value} onInput=${input} />`;
}

export function Change({ kind, name, what, property, onClose, onDone }) {
  const id = useId();
  const before = property.sensitive ? '' : property.value ?? property.effective ?? '';
  const [text, setText] = useState(before);
  const touched = text !== before || (kind === 'cluster' && !property.is_set && text !== '');
  const value = touched && !(property.type === 'boolean' && text === '') ? text : undefined;
  const verdict = useVerdict({ kind, name, property, value });
  return html`<${Confirm} title=${`Change ${property.name} of ${what}`} confirm="Set" danger=${false} ready=${verdict.accepted === true}
      onClose=${onClose} onConfirm=${() => ask({ kind, name, property, value, validateOnly: false }).then(onDone)}>
    <${Facts} rows=${[
    ['Now', html`<${Value} value=${property.value} sensitive=${property.sensitive} unset=${kind === 'cluster' && !property.is_set} />`],
    ['Source', property.source],
    property.default && ['Default', html`<${Value} value=${property.default.value} />`],
    property.type && ['Type', property.type],
  ]} />
    ${property.without_effect && html`<p class="note">${property.documentation}</p>`}
    <p class="field"><label for=${id}>New value${property.type === 'list' ? ', separated by commas' : ''}</label>
      <${Input} property=${property} id=${id} value=${text} onInput=${setText} /></p>
    <${Verdict} value=${value} verdict=${verdict} />
  <//>`;
}

// What comes into force when the value that is set here goes.
function next(property) {
  const after = property.synonyms[1];
  if (property.sensitive || !after) return 'what else is configured, or its default';
  return html`<code>${visible(after.value ?? 'none')}</code>, ${after.source}${after.name === property.name ? '' : html` (<code>${visible(after.name)}</code>)`}`;
}

export function Reset({ kind, name, what, property, onClose, onDone }) {
  const verdict = useVerdict({ kind, name, property, value: null });
  return html`<${Confirm} title=${`Reset ${property.name} of ${what}`} confirm="Reset" ready=${verdict.accepted === true}
      onClose=${onClose} onConfirm=${() => ask({ kind, name, property, value: null, validateOnly: false }).then(onDone)}>
    <p>The value <${Value} value=${property.value} sensitive=${property.sensitive} /> is removed. The property gets ${next(property)}.</p>
    <${Verdict} value=${null} verdict=${verdict} />
  <//>`;
}
