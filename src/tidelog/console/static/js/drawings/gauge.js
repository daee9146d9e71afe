// A water gauge for each replica: what is committed, what open transactions hold back, what is not committed yet.
import { html } from '../lib/html.js';
import { count, duration } from '../lib/format.js';
import { Tag } from '../lib/components.js';
import { EpochBands } from './epochs.js';
import { Axis, BEFORE, WIDTH, scaleOf } from './offset_axis.js';

const part = (scale, from, to, kind) => (to > from && html`
  <rect class=${kind} x=${scale.at(from).toFixed(1)} y="0" height="26"
    width=${Math.max(scale.at(to) - scale.at(from), 1.5).toFixed(1)} />`);

function Bar({ replica, scale }) {
  const { start, stable, watermark, end } = replica.offsets;
  // A follower may know a watermark beyond its own end for a moment.
  const committed = Math.min(watermark, end);
  const label = `Broker ${replica.broker}: from ${count(start)}, last stable offset ${count(stable)}, high watermark `
    + `${count(watermark)}, log end ${count(end)}`;
  return html`<svg class="gauge-bar" viewBox=${`0 0 ${WIDTH} 26`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <rect class="gauge-empty" x="0" y="0" width=${WIDTH} height="26" />
    ${start === end ? null : html`
      ${part(scale, start, Math.min(stable, committed), 'gauge-water')}
      ${part(scale, Math.min(stable, committed), committed, 'gauge-held')}
      ${part(scale, committed, end, 'gauge-uncommitted')}`}
    ${[Math.min(stable, committed), committed, end].map((offset) => offset > start && offset < scale.end && html`
      <rect key=${offset} class="gauge-edge" x=${(scale.at(offset) - 1).toFixed(1)} y="0" width="2" height="26" />`)}
    ${scale.cut !== null && html`<rect class="gauge-cut" x=${BEFORE * WIDTH - 2} y="0" width="4" height="26" />`}
  </svg>`;
}

function State({ replica }) {
  if (replica.leader) return html`<${Tag} kind="good">leader<//>`;
  if (replica.offline) return html`<${Tag} kind="bad">offline<//>`;
  if (!replica.in_sync) return html`<${Tag} kind="bad">not in sync<//>`;
  if (replica.leaves_in_ms !== null && replica.behind_for_ms > 1500) {
    return html`<${Tag} kind="warn">${replica.leaves_in_ms > 0
      ? `in sync, leaves in ${duration(replica.leaves_in_ms)}` : 'in sync, about to leave'}<//>`;
  }
  return html`<${Tag} kind="good">in sync<//>`;
}

const Mark = ({ name, value }) => html`<span><span class="muted">${name}</span> <b>${count(value)}</b></span>`;

function Row({ replica, scale }) {
  const { offsets } = replica;
  return html`<li>
    <div class="gauge-name"><span>Broker ${replica.broker}</span> <${State} replica=${replica} />
      ${replica.behind > 0 && html` <span class="muted">${count(replica.behind)} behind, for ${duration(replica.behind_for_ms)}</span>`}</div>
    ${offsets && scale
    ? html`<${Bar} replica=${replica} scale=${scale} />
      <div class="gauge-marks"><${Mark} name="log start" value=${offsets.start} />
        <${Mark} name="last stable" value=${offsets.stable} /><${Mark} name="high watermark" value=${offsets.watermark} />
        <${Mark} name="log end" value=${offsets.end} /></div>`
    : html`<p class="muted">${replica.problem ?? 'Not asked: choose the partition to see its replicas.'}</p>`}
  </li>`;
}

export function Gauges({ partition, epochs }) {
  const known = partition.replicas.filter((replica) => replica.offsets);
  const scale = known.length ? scaleOf(known.map((replica) => replica.offsets)) : null;
  return html`<div class="gauges">
    <ul>${partition.replicas.map((replica) => html`<${Row} key=${replica.broker} replica=${replica} scale=${scale} />`)}</ul>
    <${EpochBands} epochs=${epochs} scale=${scale} />
    ${scale && html`<${Axis} scale=${scale} />`}
    <ul class="legend" aria-label="What the colours mean">
      <li><span class="swatch gauge-water" />committed, and every reader gets it</li>
      <li><span class="swatch gauge-held" />committed, but an open transaction holds it back from read_committed readers</li>
      <li><span class="swatch gauge-uncommitted" />not committed yet: not all replicas in sync have it, or it is not known here</li>
      <li><span class="swatch gauge-empty" />not on this replica</li>
    </ul></div>`;
}
