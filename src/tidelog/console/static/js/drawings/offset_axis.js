// One axis of offsets for all drawings of a partition: gauges of its replicas, and bands of leader epochs.
import { html } from '../lib/html.js';
import { count } from '../lib/format.js';

export const WIDTH = 1000;
// Where the replicas differ gets most of the width, however long the log before it is.
export const BEFORE = 0.22;

// Offsets to positions. `cut` is where the axis changes its scale, or null if it has one scale.
export function scaleOf(marks) {
  const start = Math.min(...marks.map((each) => each.start));
  const end = Math.max(...marks.map((each) => each.end));
  const low = Math.min(...marks.map((each) => Math.min(each.stable, each.watermark, each.end)));
  const from = Math.max(start, Math.floor(low - (end - low) * 0.15));
  if (end === start) return { start, end, cut: null, at: () => WIDTH };
  if (low === end || from - start <= (end - start) * BEFORE) {
    return { start, end, cut: null, at: (offset) => ((offset - start) / (end - start)) * WIDTH };
  }
  const left = BEFORE * WIDTH;
  return {
    start,
    end,
    cut: from,
    at: (offset) => (offset <= from
      ? ((offset - start) / (from - start)) * left
      : left + ((offset - from) / (end - from)) * (WIDTH - left)),
  };
}

export const Axis = ({ scale }) => html`<p class=${`offset-axis muted ${scale.cut === null ? '' : 'cut'}`}>
  <span>${count(scale.start)}</span>
  ${scale.cut !== null && html`<span>${count(scale.cut)}: from here on the scale is larger</span>`}
  <span>${count(scale.end)}</span></p>`;
