// How far a group is in a partition: what it has read, what it can read, and what an open transaction holds back.
import { html } from '../lib/html.js';
import { count } from '../lib/format.js';

const WIDTH = 100;
const HEIGHT = 10;
// What is not read yet is seen, however long the log is.
const LEAST = 2;

export function ReadPart({ committed, marks, held }) {
  const { start, stable, end } = marks;
  const at = Math.min(Math.max(committed, start), end);
  const whole = Math.max(end - start, 1);
  const left = end - at;
  const behind = held > 0 ? end - Math.max(at, stable) : 0;
  const unread = left > 0 ? Math.max((left / whole) * WIDTH, LEAST) : 0;
  const purple = behind > 0 ? Math.max(unread * (behind / left), LEAST) : 0;
  const label = left === 0 ? `Everything up to ${count(end)} is read` : `Of ${count(start)} to ${count(end)} it is at ${count(at)}`;
  return html`<svg class="read-part" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <rect class="read-done" x="0" y="0" width=${WIDTH} height=${HEIGHT} />
    ${unread > 0 && html`<rect class="read-left" x=${WIDTH - unread} y="0" width=${unread} height=${HEIGHT} />`}
    ${purple > 0 && html`<rect class="read-held" x=${WIDTH - purple} y="0" width=${purple} height=${HEIGHT} />`}
  </svg>`;
}
