// What can be changed of a group: its offsets, after a preview; its offsets of a topic; the group itself.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { Failure, get, post } from '../lib/api.js';
import { count, plural, time } from '../lib/format.js';
import { visible } from '../lib/visible.js';
import { Card, Confirm, NotTold, Problem } from '../lib/components.js';
import { ResetPreview, offsetText } from './group_reset_preview.js';

const TARGETS = {
  earliest: 'the earliest offset',
  latest: 'the end of the log',
  time: 'a time',
  ago: 'a while ago',
  offset: 'an offset',
  shift: 'shifted by a number of offsets',
  group: 'where another group is',
};
const UNITS = { seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
const READ_ONLY = 'This console was started with --read-only: it changes nothing.';

const nameOf = ({ topic, partition }) => visible(`${topic}-${partition}`);
const doneLine = (row) => `${nameOf(row)}: ${offsetText(row.before)} → ${offsetText(row.now)}`;
// What is asked of the console. null while something that is needed is missing.
function question(id, form) {
  const asked = { id, to: form.to, topic: form.topic.trim(), partitions: form.topic.trim() ? form.partitions : '' };
  const number = Number(form.value);
  switch (form.to) {
    case 'time': {
      const at = new Date(form.at).getTime();
      return Number.isNaN(at) ? null : { ...asked, value: at };
    }
    case 'ago': return form.value === '' || !(number >= 0) ? null : { ...asked, to: 'time', value: Math.round(Date.now() - number * UNITS[form.unit]) };
    case 'offset':
    case 'shift': return form.value === '' || !Number.isSafeInteger(number) ? null : { ...asked, value: number };
    case 'group': return form.other ? { ...asked, other: form.other } : null;
    default: return asked;
  }
}

function Value({ form, change }) {
  const field = (name) => (event) => change({ [name]: event.target.value });
  switch (form.to) {
    case 'time': return html`<label>Time, of this browser's time zone <input type="datetime-local" step="1" required value=${form.at} onInput=${field('at')} /></label>`;
    case 'ago': return html`<label>How long <input type="number" min="0" step="any" required value=${form.value} onInput=${field('value')} /></label>
      <label>Unit <select value=${form.unit} onChange=${field('unit')}>${Object.keys(UNITS).map((unit) => html`<option key=${unit} value=${unit}>${unit}</option>`)}</select></label>`;
    case 'offset': return html`<label>Offset <input type="number" min="0" step="1" required value=${form.value} onInput=${field('value')} /></label>`;
    case 'shift': return html`<label>Offsets, negative to go back <input type="number" step="1" required value=${form.value} onInput=${field('value')} /></label>`;
    case 'group': return html`<label>Group <input type="text" required value=${form.other} onInput=${field('other')} /></label>`;
    default: return null;
  }
}

function Reset({ data, session, onDone }) {
  const [form, setForm] = useState({ topic: '', partitions: '', to: 'earliest', value: '', unit: 'hours', at: '', other: '' });
  const [preview, setPreview] = useState(null);
  const [failure, setFailure] = useState(null);
  const [confirming, setConfirming] = useState(false);
  const asking = useRef(null);
  useEffect(() => () => asking.current?.abort(), []);
  const topics = [...new Set(data.partitions.filter((row) => row.committed !== null).map((row) => row.topic))];
  const change = (changes) => {
    // The answer to another question is not a preview of this one.
    asking.current?.abort();
    setForm((before) => ({ ...before, ...changes }));
    setPreview(null);
  };
  const show = async (event) => {
    event.preventDefault();
    const asked = question(data.id, form);
    if (!asked) return;
    setFailure(null);
    setPreview(null);
    asking.current?.abort();
    const mine = new AbortController();
    asking.current = mine;
    try {
      setPreview({ ...(await get('group/reset', asked, mine.signal)), asked });
    } catch (problem) {
      if (problem.name !== 'AbortError') setFailure(problem);
    }
  };
  const rows = preview?.rows.filter((row) => row.changes) ?? [];
  // Members are told above the form, and may have left since the preview.
  const occupied = data.members?.length > 0;
  const blocked = preview?.blocked && !occupied && !['Empty', 'Dead'].includes(data.state) ? preview.blocked : null;
  const reset = async () => {
    const answer = await post('group/reset', {
      id: data.id,
      offsets: rows.map(({ topic, partition, now, then }) => ({ topic, partition, expected: now, offset: then })),
    });
    setPreview(null);
    onDone({
      title: `${plural(answer.done.length, 'offset was', 'offsets were')} reset`,
      at_ms: answer.at_ms,
      lines: answer.done.map(doneLine),
    });
  };
  return html`<${Card} title="Reset offsets" note="nothing is changed before you have seen what would change">
    <form onSubmit=${show}>
      <div class="controls">
        <label>Topic <input type="text" list="committed-topics" placeholder="all of the group" value=${form.topic}
          onInput=${(event) => change({ topic: event.target.value })} /></label>
        <datalist id="committed-topics">${topics.map((topic) => html`<option key=${topic} value=${topic} />`)}</datalist>
        <label>Partitions <input type="text" placeholder="all, or 0-2, 5" value=${form.partitions} disabled=${!form.topic.trim()}
          onInput=${(event) => change({ partitions: event.target.value })} /></label>
        <label>Reset to <select value=${form.to} onChange=${(event) => change({ to: event.target.value, value: '' })}>${
  Object.entries(TARGETS).map(([key, label]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>
        <${Value} form=${form} change=${change} />
        <button type="submit" class="primary">Preview</button>
      </div>
    </form>
    <${Problem} failure=${failure} />
    ${preview && html`
      ${preview.asked.to === 'time' && html`<p>To the first record of ${time(preview.asked.value)} or later.</p>`}
      <${ResetPreview} rows=${preview.rows} />
      ${blocked && html`<p class="problem" role="alert">${blocked}</p>`}
      ${session.read_only && html`<${NotTold}>${READ_ONLY}<//>`}
      <div class="actions reset"><button type="button" class="danger" disabled=${session.read_only || occupied || blocked || rows.length === 0}
        onClick=${() => setConfirming(true)}>${rows.length === 0 ? 'Nothing would change' : `Reset ${plural(rows.length, 'offset', 'offsets')} …`}</button></div>`}
    ${confirming && html`<${Confirm} title=${`Reset ${plural(rows.length, 'offset', 'offsets')} of group ${visible(data.id)}?`} confirm="Reset"
      onConfirm=${reset} onClose=${() => setConfirming(false)}>
      <ul class="preview-lines">${rows.slice(0, 10).map((row) => html`<li key=${nameOf(row)}>${nameOf(row)}: ${offsetText(row.now)} → ${offsetText(row.then)}</li>`)}
        ${rows.length > 10 && html`<li>and ${count(rows.length - 10)} more</li>`}</ul>
      <p>Consumers that join the group go on from there: they read records again, or pass over some. Metadata that was committed with the offsets is dropped.</p>
    <//>`}
  <//>`;
}

function DeleteOffsets({ data, session, onDone }) {
  const topics = [...new Set(data.partitions.filter((row) => row.committed !== null).map((row) => row.topic))];
  const [chosen, setChosen] = useState('');
  // Of large groups the page has a part: then any topic can be named, and its offsets are asked for.
  const isPart = data.partitions_left_out > 0;
  const topic = topics.includes(chosen) || (isPart && chosen.trim()) ? chosen.trim() : topics[0] ?? '';
  const [confirming, setConfirming] = useState(null);
  const [failure, setFailure] = useState(null);
  const remove = async () => {
    const { rows } = confirming;
    const answer = await post('group/offsets/delete', {
      id: data.id, topic: confirming.topic, offsets: rows.map(({ partition, committed }) => ({ partition, offset: committed })),
    });
    onDone({
      title: `${plural(answer.done.length, 'offset', 'offsets')} of topic ${visible(confirming.topic)} ${answer.done.length === 1 ? 'was' : 'were'} deleted`,
      at_ms: answer.at_ms,
      lines: answer.done.map(doneLine),
    });
  };
  const begin = async () => {
    setFailure(null);
    try {
      const rows = isPart ? (await get('group/offsets', { id: data.id, topic })).offsets : data.partitions;
      const committed = rows.filter((row) => row.topic === topic && row.committed !== null);
      if (committed.length === 0) throw new Failure({ message: `The group has committed no offsets of topic ${visible(topic)}.` });
      setConfirming({ topic, rows: committed });
    } catch (problem) {
      setFailure(problem);
    }
  };
  return html`<${Card} title="Delete offsets of a topic">
    ${topics.length === 0 ? html`<p class="muted">The group has committed no offsets.</p>` : html`
    <div class="controls"><label>Topic ${isPart ? html`<input type="text" placeholder=${topic} value=${chosen} onInput=${(event) => setChosen(event.target.value)} />`
    : html`<select value=${topic} onChange=${(event) => setChosen(event.target.value)}>${
      topics.map((each) => html`<option key=${each} value=${each}>${visible(each)}</option>`)}</select>`}</label>
      <button type="button" class="danger" disabled=${session.read_only} onClick=${begin}>Delete offsets …</button></div>
    <p class="muted">For a topic that the group does not read any more. Members that are subscribed to it keep the coordinator from doing so.</p>
    <${Problem} failure=${failure} />`}
    ${session.read_only && html`<${NotTold}>${READ_ONLY}<//>`}
    ${confirming && html`<${Confirm} title=${`Delete the offsets of topic ${visible(confirming.topic)}?`} confirm="Delete offsets"
      onConfirm=${remove} onClose=${() => setConfirming(null)}>
      <p>${plural(confirming.rows.length, 'committed offset', 'committed offsets')} of group ${visible(data.id)}: ${
  confirming.rows.slice(0, 10).map((row) => `${nameOf(row)} ${count(row.committed)}`).join(', ')}${confirming.rows.length > 10 ? ' …' : ''}.
        Whoever reads the topic with this group later begins where <code>auto.offset.reset</code> says.</p>
    <//>`}
  <//>`;
}

function DeleteGroup({ data, session, onDone }) {
  const [confirming, setConfirming] = useState(false);
  const committed = data.partitions.filter((row) => row.committed !== null).length + data.partitions_left_out;
  const occupied = data.members?.length > 0;
  const remove = async () => {
    const answer = await post('group/delete', { id: data.id });
    onDone({ title: `Group ${visible(data.id)} was deleted`, at_ms: answer.at_ms, lines: [], deleted: true });
  };
  return html`<${Card} title="Delete the group">
    <p>With ${plural(committed, 'committed offset', 'committed offsets')}. ${occupied
    ? `The group has ${plural(data.members.length + data.members_left_out, 'member', 'members')}: stop ${data.members.length === 1 ? 'it' : 'them'} first.`
    : 'Consumers that join it later begin where auto.offset.reset says.'}</p>
    <button type="button" class="danger" disabled=${session.read_only || occupied} onClick=${() => setConfirming(true)}>Delete group …</button>
    ${session.read_only && html`<${NotTold}>${READ_ONLY}<//>`}
    ${confirming && html`<${Confirm} title=${`Delete group ${visible(data.id)}?`} confirm="Delete group" onConfirm=${remove} onClose=${() => setConfirming(false)}>
      <p>The group and its ${plural(committed, 'committed offset', 'committed offsets')} are deleted. This cannot be undone.</p><//>`}
  <//>`;
}

// Who is still a member, and what to do before offsets can be reset.
function Occupied({ data }) {
  if (!data.members?.length) return null;
  const names = data.members.slice(0, 3).map((each) => visible(`${each.client_id || each.id} at ${each.host}`));
  const all = data.members.length + data.members_left_out;
  return html`<p class="waits" role="status">The group has ${plural(all, 'member', 'members')}: ${names.join('; ')}${all > 3 ? `; and ${count(all - 3)} more` : ''}.
    Offsets can be reset, and the group be deleted, only while it has no members: stop ${all === 1 ? 'it' : 'them'} first. A member that was killed leaves when its session times out.</p>`;
}

export function GroupChanges({ data, session, onDone }) {
  // What was done is at the top of the page.
  const [told, setTold] = useState(0);
  useEffect(() => { if (told) window.scrollTo(0, 0); }, [told]);
  const done = (what) => {
    onDone(what);
    setTold((before) => before + 1);
  };
  return html`
    <${Occupied} data=${data} />
    ${data.kind === 'share' ? html`<${NotTold}>A share group has no committed offsets that could be reset.<//>` : html`
    <${Reset} data=${data} session=${session} onDone=${done} />
    <${DeleteOffsets} data=${data} session=${session} onDone=${done} />`}
    <${DeleteGroup} data=${data} session=${session} onDone=${done} />`;
}
