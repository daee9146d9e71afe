// Records as a file. The page asks first whether it can be had, and afterwards how it has ended.
import { html, useEffect, useId, useRef, useState } from '../../lib/html.js';
import { address, get } from '../../lib/api.js';
import { plural } from '../../lib/format.js';
import { Problem } from '../../lib/components.js';
import { filterOf } from './asking.js';

const FORMATS = { jsonl: 'JSON Lines', csv: 'CSV', arrow: 'Arrow' };
const NOTES = {
  jsonl: 'One JSON object in each line. What is not UTF-8 is base64: {"base64": "…"}.',
  csv: 'For spreadsheets. Text that would be a formula there gets an apostrophe in front; JSON Lines keep it as it is.',
  arrow: 'An Arrow IPC file with the columns of Spark’s Kafka source. It needs pyarrow where the console runs.',
};
const ENDS = {
  limit: 'A limit was reached.',
  log: 'That is everything up to the end.',
  records: 'The search ended at its limit of records.',
  bytes: 'The search ended at its limit of bytes.',
  time: 'The search took too long and was ended.',
  pattern: 'The regular expression took too long.',
};
const ASK_MS = 500;
const MOST_UNKNOWN = 30;

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (each) => each.toString(16).padStart(2, '0')).join('');

// The end of the download with this id, asked for until it is known: { state, ... }, and `lost` if nobody knows it.
function useEnd(id) {
  const [end, setEnd] = useState(null);
  useEffect(() => {
    setEnd(null);
    if (!id) return undefined;
    let timer = null;
    let unknown = 0;
    let isOver = false;
    const later = (ms) => { timer = setTimeout(ask, ms); };
    // The console learns of a download when the browser asks for the file; it forgets those of before its start.
    const miss = () => {
      unknown += 1;
      if (unknown < MOST_UNKNOWN) later(2 * ASK_MS);
      else setEnd({ state: 'lost' });
    };
    const ask = () => get('messages/download/end', { id }).then((answer) => {
      if (isOver) return;
      if (answer.state === 'unknown') {
        miss();
        return;
      }
      unknown = 0;
      setEnd(answer);
      if (answer.state !== 'ended') later(ASK_MS);
    }, () => { if (!isOver) miss(); });
    ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [id]);
  return end;
}

function left(end) {
  const silent = Object.entries(end.silent ?? {});
  return [
    end.unreadable > 0 && `${plural(end.unreadable, 'place', 'places')} of the log cannot be read and ${end.unreadable === 1 ? 'is' : 'are'} not in the file.`,
    ...silent.slice(0, 5).map(([partition, reason]) => `Partition ${partition} is not in the file: ${reason}.`),
    silent.length > 5 && `${plural(silent.length - 5, 'more partition is', 'more partitions are')} not in the file.`,
    end.partitions_left_out > 0 && `${plural(end.partitions_left_out, 'partition is', 'partitions are')} not in the file: choose them in another download.`,
  ].filter(Boolean);
}

function End({ end }) {
  if (end?.state === 'lost') {
    return html`<p class="problem">The console knows nothing of this download. If your browser has a file, compare its number of records.</p>`;
  }
  if (end?.state !== 'ended') return html`<p class="waiting">The download goes on …</p>`;
  if (end.problem) return html`<p class="problem">The file is not whole: ${end.problem}.</p>`;
  const missing = left(end);
  return html`<p class="note">${plural(end.records, 'record', 'records')} in the file. ${ENDS[end.ended]}</p>
    ${missing.length > 0 && html`<p class="problem">${missing.join(' ')}</p>`}`;
}

export function Download({ topic, query, asked, before, onClose }) {
  const dialog = useRef(null);
  const link = useRef(null);
  const title = useId();
  const [format, setFormat] = useState('jsonl');
  const [from, setFrom] = useState(before ? 'shown' : 'beginning');
  const [records, setRecords] = useState(10000);
  const [mib, setMib] = useState(64);
  const [failure, setFailure] = useState(null);
  const [id, setId] = useState('');
  const end = useEnd(id);
  useEffect(() => { dialog.current.showModal(); }, []);
  const submit = async (event) => {
    event.preventDefault();
    setFailure(null);
    setId('');
    const wanted = {
      topic, partitions: asked.partitions, format, records, mib, ...filterOf(query),
      start: from === 'shown' ? 'at' : 'beginning', at: from === 'shown' ? before : undefined,
    };
    try {
      await get('messages/download', { ...wanted, check: true });
    } catch (problem) {
      setFailure(problem);
      return;
    }
    const mine = newId();
    link.current.href = address('messages/download', { ...wanted, id: mine });
    link.current.click();
    setId(mine);
  };
  return html`<dialog ref=${dialog} aria-labelledby=${title} onClose=${onClose}><form onSubmit=${submit}>
    <h2 id=${title}>Download records of ${topic}</h2>
    <div class="controls">
      <label>Format <select value=${format} onChange=${(event) => setFormat(event.target.value)}>
        ${Object.entries(FORMATS).map(([key, label]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label>
      <label>From <select value=${from} onChange=${(event) => setFrom(event.target.value)}>
        ${before && html`<option value="shown">the oldest record on the page</option>`}
        <option value="beginning">the oldest record of the log</option></select></label>
      <label>At most records <input type="number" min="1" max="100000" value=${records} onInput=${(event) => setRecords(event.target.value)} required /></label>
      <label>At most MiB <input type="number" min="1" max="256" value=${mib} onInput=${(event) => setMib(event.target.value)} required /></label>
    </div>
    <p class="muted">${NOTES[format]}</p>
    <p class="muted">Partitions: ${asked.partitions}. ${asked.isFiltered ? 'Only records that the filter of this page leaves.' : ''}
      Records of aborted and open transactions are in it, with their outcome; control records are not.</p>
    <${Problem} failure=${failure} />
    <div role="status">${id && html`<${End} end=${end} />`}</div>
    <a ref=${link} class="hidden" download tabindex="-1" aria-hidden="true">file</a>
    <div class="actions"><button type="button" onClick=${() => dialog.current.close()}>Close</button>
      <button type="submit" class="primary">Download</button></div>
  </form></dialog>`;
}
