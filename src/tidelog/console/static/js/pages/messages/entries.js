// Entries of a log as rows: records, control records, gaps, and what cannot be read.
import { html } from '../../lib/html.js';
import { count } from '../../lib/format.js';
import { Tag, Time } from '../../lib/components.js';
import { linkTo } from './asking.js';
import { Control, Outcome, gapText } from './marks.js';
import { InLine, Pieces } from './payload.js';
import { Details } from './record.js';

export const idOf = ({ partition, offset }) => `${partition}:${offset}`;

function Wide({ row, kind, children }) {
  return html`<tr class=${`msg-${kind}`}>
    <td class="number" data-label="Partition">${row.partition}</td>
    <td colspan="4" class="msg-wide">${children}</td></tr>`;
}

function Offset({ row, topic, isOpen, onOpen }) {
  const open = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    onOpen(isOpen ? '' : idOf(row));
  };
  return html`<a href=${linkTo(topic, row.partition, row.offset)} aria-expanded=${isOpen} onClick=${open}
    title=${isOpen ? 'Close the details' : 'Show all of this record'}>${row.offset}</a>`;
}

function Content({ row }) {
  if (row.readable?.type) {
    return html`<td colspan="2" data-label=${row.readable.type}><span class="msg-text"><${Pieces} pieces=${row.readable.summary} /></span></td>`;
  }
  return html`
    <td data-label="Key"><${InLine} payload=${row.key} /></td>
    <td data-label="Value"><${InLine} payload=${row.value} /></td>`;
}

function RecordRow({ row, topic, isOpen, onOpen }) {
  // Wherever it is clicked, unless that selects text or follows a link.
  const click = (event) => {
    if (event.target.closest('a') || String(window.getSelection())) return;
    onOpen(isOpen ? '' : idOf(row));
  };
  return html`<tr class=${`msg-record ${row.outcome ?? ''} ${isOpen ? 'shown' : ''}`} onClick=${click}>
    <td class="number" data-label="Partition">${row.partition}</td>
    <td class="number" data-label="Offset"><${Offset} row=${row} topic=${topic} isOpen=${isOpen} onOpen=${onOpen} /></td>
    <td data-label="Time"><div class="msg-when"><${Time} ms=${row.time_ms} />
      ${row.outcome && html`<${Outcome} outcome=${row.outcome} />`}
      ${row.headers > 0 && html`<${Tag}>${row.headers === 1 ? '1 header' : `${row.headers} headers`}<//>`}</div></td>
    <${Content} row=${row} /></tr>`;
}

function Entry({ row, ...rest }) {
  switch (row.kind) {
    case 'gap': return html`<${Wide} row=${row} kind="gap">${gapText(row)}<//>`;
    case 'unreadable': return html`<${Wide} row=${row} kind="unreadable">
      <${Tag} kind="bad">unreadable<//> The batch at offset ${count(row.offset)} cannot be read: ${row.reason}.${row.damaged && ' Consumers stop in front of it.'}<//>`;
    case 'control': return html`<tr class="msg-control">
      <td class="number" data-label="Partition">${row.partition}</td><td class="number" data-label="Offset">${row.offset}</td>
      <td data-label="Time"><${Time} ms=${row.time_ms} /></td><td colspan="2" class="msg-wide"><${Control} row=${row} /></td></tr>`;
    default: return html`<${RecordRow} row=${row} ...${rest} />`;
  }
}

export function Entries({ topic, rows, open, form, onOpen }) {
  return html`<div class="table"><table class="msg-rows"><caption class="hidden">Records of ${topic}</caption>
    <thead><tr><th scope="col" class="number">Partition</th><th scope="col" class="number">Offset</th>
      <th scope="col">Time</th><th scope="col">Key</th><th scope="col">Value</th></tr></thead>
    <tbody>${rows.map((row) => {
    const id = idOf(row);
    const isOpen = row.kind === 'record' && id === open;
    return [
      html`<${Entry} key=${id} row=${row} topic=${topic} isOpen=${isOpen} onOpen=${onOpen} />`,
      isOpen && html`<tr key=${`${id} details`} class="msg-open"><td colspan="5" class="msg-wide">
        <${Details} topic=${topic} partition=${row.partition} offset=${row.offset} form=${form} onClose=${() => onOpen('')} /></td></tr>`,
    ];
  })}</tbody></table></div>`;
}

// The record that is open, where it is not among the rows: addresses name it, and live records move on.
export function Elsewhere({ topic, rows, open, form, onOpen }) {
  const [, partition, offset] = /^(\d+):(\d+)$/.exec(open) ?? [];
  if (partition === undefined || rows.some((row) => row.kind === 'record' && idOf(row) === open)) return null;
  return html`<${Details} key=${open} topic=${topic} partition=${Number(partition)} offset=${offset} form=${form} onClose=${() => onOpen('')} />`;
}
