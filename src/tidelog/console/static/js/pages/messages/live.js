// Live: the newest records as they come. The console keeps the last ones; a pause keeps the page as it is.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { useLive } from '../../lib/api.js';
import { count, plural } from '../../lib/format.js';
import { NotTold, Problem, Waiting } from '../../lib/components.js';
import { filterOf } from './asking.js';
import { Elsewhere, Entries } from './entries.js';

function sinceThePause(shown, latest) {
  if (shown.run !== latest.run) return 'Live data has begun again since then: how many records have come is not known.';
  const since = latest.seen - shown.seen;
  return since > 0 ? `${plural(since, 'record has', 'records have')} come since then.` : 'Nothing has come since then.';
}

function Status({ shown, latest, paused, isFiltered }) {
  return html`<p class="msg-status">
    ${paused ? html`<strong>Paused.</strong> ${sinceThePause(shown, latest)}`
    : html`<strong>Live.</strong> ${plural(latest.seen, 'record has', 'records have')} come so far${
      isFiltered ? `, and ${plural(latest.found, 'matches', 'match')} the filter` : ''}.`}
    ${' '}The last ${count(latest.kept)} are kept.
    ${latest.skipped > 0 && ` ${plural(latest.skipped, 'offset was', 'offsets were')} skipped: they came faster than they can be shown.`}</p>`;
}

export function Live({ topic, query, asked, onOpen }) {
  const { data, failure } = useLive('messages/live', { topic, partitions: asked.partitions, form: asked.form, ...filterOf(query) });
  const [paused, setPaused] = useState(false);
  const kept = useRef(null);
  const first = useRef(null);
  const about = JSON.stringify([topic, asked.partitions, asked.form, filterOf(query)]);
  useEffect(() => {
    setPaused(false);
    first.current = null;
  }, [about]);
  if (data && first.current === null) first.current = data.run;
  if (!paused) kept.current = data;
  const shown = paused ? kept.current : data;
  if (!shown || !data) return html`<${Waiting} failure=${failure} />`;
  const rows = asked.newestFirst ? [...shown.rows].reverse() : shown.rows;
  return html`
    <div class="msg-bar"><button type="button" onClick=${() => setPaused(!paused)}>${paused ? 'Resume' : 'Pause'}</button>
      <${Status} shown=${shown} latest=${data} paused=${paused} isFiltered=${asked.isFiltered} /></div>
    <${Problem} failure=${failure} />
    ${data.run !== first.current && html`<${NotTold}>Live data has begun again since this page was opened, because the page was hidden, or the log was cut. Records in between may be missing here.<//>`}
    ${data.problem && html`<p class="problem" role="alert">${data.problem}</p>`}
    ${Object.entries(data.silent).map(([partition, reason]) => html`<${NotTold} key=${partition}>Partition ${partition} is left out: ${reason}.<//>`)}
    <${Elsewhere} topic=${topic} rows=${rows} open=${asked.open} form=${asked.form} onOpen=${onOpen} />
    ${rows.length === 0 ? html`<p class="muted">${asked.isFiltered ? 'No record has matched yet.' : 'No record has come yet.'}</p>`
    : html`<${Entries} topic=${topic} rows=${rows} open=${asked.open} form=${asked.form} onOpen=${onOpen} />`}`;
}
