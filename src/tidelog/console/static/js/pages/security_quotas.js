// Quotas of users, client ids and addresses: which there are, setting and removing them.
import { html, useId, useState } from '../lib/html.js';
import { post, useGet } from '../lib/api.js';
import { bytes, count, plural } from '../lib/format.js';
import { Card, Confirm, NotTold, Problem, Table, Tag, Waiting } from '../lib/components.js';
import { visible } from '../lib/visible.js';

const CLIENT_QUOTAS = {
  producer_byte_rate: 'Bytes written per second',
  consumer_byte_rate: 'Bytes read per second',
  request_percentage: 'Percent of the time of request threads',
  controller_mutation_rate: 'Partitions created or deleted per second',
};
const ADDRESS_QUOTAS = { connection_creation_rate: 'New connections per second' };
const LABELS = { ...CLIENT_QUOTAS, ...ADDRESS_QUOTAS };
const TITLES = { user: 'user', 'client-id': 'client id', ip: 'address' };
const ENTITIES = { user: 'a user', 'client-id': 'a client id', 'user client-id': 'a user with a client id', ip: 'an address' };

const entityWords = (entity) => entity.map(({ type, name }) => (name === null
  ? `every ${TITLES[type] ?? type} without a quota of its own` : `${TITLES[type] ?? type} ${visible(name)}`)).join(', ');

const amount = (key, value) => (key.endsWith('byte_rate') ? `${bytes(value)}/s` : key === 'request_percentage' ? `${value} %` : `${value}/s`);

const columnsFor = ({ readOnly, onChange, onRemove }) => [
  {
    key: 'entity', label: 'Who', value: (row) => entityWords(row.entity),
    show: (row) => html`${entityWords(row.entity)} ${row.entity.some(({ name }) => name === null) && html`<${Tag}>default<//>`}`,
  },
  {
    key: 'quotas', label: 'Quotas', value: (row) => Object.keys(row.values).join(' '),
    show: (row) => html`<ul class="plain">${Object.entries(row.values).map(([key, value]) => html`
      <li key=${key}><code>${key}</code> ${amount(key, value)} <span class="muted">(${value})</span></li>`)}</ul>`,
  },
  ...(readOnly ? [] : [{
    key: 'change', label: 'Change', value: () => '',
    show: (row) => html`<span class="actions">
      <button type="button" class="quiet" aria-label=${`Change the quotas of ${entityWords(row.entity)}`} onClick=${() => onChange(row)}>Change</button>
      <button type="button" class="quiet" aria-label=${`Remove the quotas of ${entityWords(row.entity)}`} onClick=${() => onRemove(row)}>Remove</button></span>`,
  }]),
];

const asObject = (entity) => Object.fromEntries(entity.map(({ type, name }) => [type, name]));

function Part({ type, value, onChange }) {
  const id = useId();
  return html`<p class="field"><label for=${id}>Name of the ${TITLES[type]}</label>
    <input id=${id} type="text" autocomplete="off" spellcheck=${false} disabled=${value === null} value=${value ?? ''} onInput=${(event) => onChange(event.target.value)} />
    <label class="inline"><input type="checkbox" checked=${value === null} onChange=${(event) => onChange(event.target.checked ? null : '')} />
      every ${TITLES[type]} without a quota of its own</label></p>`;
}

// Of one entity. What is left empty has no quota afterwards.
function Change({ known, onClose, onDone }) {
  const kindId = useId();
  const numbers = useId();
  const [entity, setEntity] = useState(known ? asObject(known.entity) : { user: '' });
  const keys = 'ip' in entity ? ADDRESS_QUOTAS : CLIENT_QUOTAS;
  const before = known?.values ?? {};
  const [texts, setTexts] = useState(Object.fromEntries(Object.entries(before).map(([key, value]) => [key, String(value)])));
  const wanted = Object.keys(keys).map((key) => [key, (texts[key] ?? '').trim()]);
  const changes = Object.fromEntries(wanted.filter(([key, text]) => text !== (key in before ? String(before[key]) : ''))
    .map(([key, text]) => [key, text === '' ? null : Number(text)]));
  const wrong = wanted.filter(([, text]) => text !== '' && !(Number(text) > 0)).map(([key]) => key);
  const named = Object.values(entity).every((name) => name === null || name !== '');
  const shown = Object.entries(entity).map(([type, name]) => ({ type, name }));
  return html`<${Confirm} title=${known ? `Quotas of ${entityWords(known.entity)}` : 'Set quotas'} confirm="Set" danger=${false}
      ready=${named && wrong.length === 0 && Object.keys(changes).length > 0} onClose=${onClose}
      onConfirm=${() => post('security/quotas/change', { entity, values: changes }).then(() => onDone(`The quotas of ${entityWords(shown)} were changed.`))}>
    ${!known && html`<p class="field"><label for=${kindId}>Of</label>
      <select id=${kindId} onChange=${(event) => setEntity(Object.fromEntries(event.target.value.split(' ').map((type) => [type, ''])))}>
        ${Object.entries(ENTITIES).map(([kind, label]) => html`<option key=${kind} value=${kind} selected=${kind === Object.keys(entity).join(' ')}>${label}</option>`)}</select></p>
      ${Object.entries(entity).map(([type, value]) => html`<${Part} key=${type} type=${type} value=${value} onChange=${(name) => setEntity({ ...entity, [type]: name })} />`)}`}
    ${Object.entries(keys).map(([key, label]) => html`<p class="field" key=${key}><label for=${`${numbers}${key}`}>${label} (<code>${key}</code>)</label>
      <input id=${`${numbers}${key}`} type="number" min="0" step="any" value=${texts[key] ?? ''} onInput=${(event) => setTexts({ ...texts, [key]: event.target.value })} />
      ${key.endsWith('byte_rate') && Number(texts[key]) >= 1024 && html`<span class="muted">${bytes(Number(texts[key]))} per second</span>`}</p>`)}
    <p class="muted">What is empty has no quota. A quota must be greater than 0.</p>
    ${wrong.map((key) => html`<p class="problem" key=${key} role="alert">${key} is ${texts[key]}, but must be greater than 0.</p>`)}
    ${Object.entries(changes).length > 0 && wrong.length === 0 && html`<p class="note" role="status">${Object.entries(changes).map(([key, value]) => (value === null
    ? `${key} is removed` : `${key} becomes ${amount(key, value)}`)).join('; ')}.</p>`}
  <//>`;
}

function Removal({ known, onClose, onDone }) {
  const values = Object.fromEntries(Object.keys(known.values).map((key) => [key, null]));
  return html`<${Confirm} title=${`Remove the quotas of ${entityWords(known.entity)}`} confirm="Remove" onClose=${onClose}
      onConfirm=${() => post('security/quotas/change', { entity: asObject(known.entity), values }).then(() => onDone(`The quotas of ${entityWords(known.entity)} were removed.`))}>
    <p>These are removed; a default may apply then:</p>
    <ul>${Object.entries(known.values).map(([key, value]) => html`<li key=${key}>${LABELS[key] ?? key}: ${amount(key, value)}</li>`)}</ul>
  <//>`;
}

export function Quotas({ session }) {
  const { data, failure, again } = useGet('security/quotas');
  const [changing, setChanging] = useState(null);
  const [removing, setRemoving] = useState(null);
  const [done, setDone] = useState(null);
  if (!data) return html`<${Waiting} failure=${failure} />`;
  const readOnly = session.read_only;
  const after = (told) => {
    setDone(told);
    again();
  };
  const { quotas, problem } = data;
  return html`
    <${Problem} failure=${failure} />
    ${done && html`<p class="note" role="status">${done}</p>`}
    <${Card} title="Quotas" note=${quotas ? count(quotas.length + data.left_out) : ''} actions=${quotas && !readOnly && html`
        <button type="button" onClick=${() => setChanging({ known: null })}>Set quotas</button>`}>
      ${problem && html`<${NotTold}>${problem}<//>`}
      ${readOnly && html`<${NotTold}>This console was started with --read-only: quotas cannot be changed here.<//>`}
      <p class="muted">Clients that use more are slowed down, not refused. Each broker counts on its own.</p>
      ${quotas && html`<${Table} label="Quotas" rows=${quotas} rowKey=${(row) => JSON.stringify(row.entity)}
        columns=${columnsFor({ readOnly, onChange: (known) => setChanging({ known }), onRemove: setRemoving })} empty="Nobody has a quota." />`}
      ${data.left_out > 0 && html`<p class="muted">${plural(data.left_out, 'more entity', 'more entities')} with quotas ${data.left_out === 1 ? 'is' : 'are'} not shown.</p>`}
    <//>
    ${changing && html`<${Change} known=${changing.known} onClose=${() => setChanging(null)} onDone=${after} />`}
    ${removing && html`<${Removal} known=${removing} onClose=${() => setRemoving(null)} onDone=${after} />`}`;
}
