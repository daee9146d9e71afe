// Creating a topic, adding partitions, deleting.
import { html, useId, useState } from '../lib/html.js';
import { post } from '../lib/api.js';
import { count } from '../lib/format.js';
import { Confirm } from '../lib/components.js';
import { navigate, path } from '../lib/router.js';

function Field({ label, note, ...input }) {
  const id = useId();
  return html`<p class="field"><label for=${id}>${label}</label> <input id=${id} autocomplete="off" ...${input} />
    ${note && html` <span class="muted">${note}</span>`}</p>`;
}

// Lines of the form name=value. Returns { configs, problem }.
function readLines(text) {
  const configs = {};
  for (const line of text.split('\n').map((each) => each.trim()).filter(Boolean)) {
    const [name, ...value] = line.split('=');
    if (value.length === 0 || !name.trim()) return { configs, problem: `“${line}” is not of the form name=value.` };
    configs[name.trim()] = value.join('=').trim();
  }
  return { configs, problem: null };
}

export function CreateTopic({ onClose }) {
  const configsId = useId();
  const [name, setName] = useState('');
  const [partitions, setPartitions] = useState('');
  const [replication, setReplication] = useState('');
  const [text, setText] = useState('');
  const { configs, problem } = readLines(text);
  const number = (value) => (value === '' ? null : Number(value));
  const create = async () => {
    await post('topics/create', { name, partitions: number(partitions), replication: number(replication), configs });
    navigate(path('topics', name));
  };
  return html`<${Confirm} title="Create a topic" confirm="Create" danger=${false} ready=${name !== '' && !problem}
      onConfirm=${create} onClose=${onClose}>
    <${Field} label="Name" type="text" value=${name} spellcheck=${false} onInput=${(event) => setName(event.target.value)} />
    <${Field} label="Partitions" type="number" min="1" value=${partitions} note="Empty: the default of the brokers."
      onInput=${(event) => setPartitions(event.target.value)} />
    <${Field} label="Replication factor" type="number" min="1" value=${replication} note="Empty: the default of the brokers."
      onInput=${(event) => setReplication(event.target.value)} />
    <p class="field"><label for=${configsId}>Configuration, one name=value on each line</label>
      <textarea id=${configsId} spellcheck=${false} rows="3" placeholder="cleanup.policy=compact" value=${text}
        onInput=${(event) => setText(event.target.value)}></textarea></p>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
  <//>`;
}

export function AddPartitions({ name, before, onClose }) {
  const [wanted, setWanted] = useState(String(before + 1));
  const ready = Number(wanted) > before;
  return html`<${Confirm} title=${`Add partitions to ${name}`} confirm="Add" danger=${false} ready=${ready}
      onConfirm=${() => post('topic/partitions', { name, before, count: Number(wanted) })} onClose=${onClose}>
    <${Field} label="Partitions" type="number" min=${before + 1} value=${wanted} note=${`It has ${count(before)} now.`}
      onInput=${(event) => setWanted(event.target.value)} />
    <p>Partitions cannot be taken away again. From then on records with the same key may come to another partition than
      before, so that their order is kept only from then on.</p>
  <//>`;
}

export function DeleteTopic({ name, id, onClose }) {
  const [typed, setTyped] = useState('');
  const act = async () => {
    await post('topic/delete', { name, id });
    navigate('/topics');
  };
  return html`<${Confirm} title=${`Delete topic ${name}`} confirm="Delete" ready=${typed === name} onConfirm=${act} onClose=${onClose}>
    <p>All its records are deleted on all brokers, and cannot be restored. Groups keep offsets that lead nowhere.</p>
    <${Field} label="Type the name of the topic" type="text" value=${typed} spellcheck=${false}
      onInput=${(event) => setTyped(event.target.value)} />
  <//>`;
}
