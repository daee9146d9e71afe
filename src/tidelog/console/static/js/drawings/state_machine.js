// A state machine as the console serves it: states as boxes, steps as arrows. What is drawn comes from the table; only
// where a known state stands is fixed here. States and steps that are new get a place and a straight arrow.
import { html, useEffect, useState } from '../lib/html.js';

const BOX = { width: 164, height: 44 };
const NARROW = '(max-width: 640px)';

// Centres of boxes, and curves where a straight arrow would run through a box. Each way has two control points.
const WIDE = {
  width: 860,
  height: 380,
  places: {
    Empty: [112, 180], Ongoing: [318, 180], PrepareEpochFence: [318, 290], PrepareCommit: [528, 84], PrepareAbort: [528, 290],
    CompleteCommit: [738, 84], CompleteAbort: [738, 290], Dead: [738, 187],
  },
  ways: {
    'Empty Empty': 'M30 168C-8 152 -8 212 30 194',
    'Ongoing Ongoing': 'M262 158C250 112 304 112 294 158',
    'CompleteCommit Ongoing': 'M706 62C696 14 360 14 336 158',
    'CompleteCommit Empty': 'M756 62C746 -30 122 -30 112 158',
    'CompleteAbort Empty': 'M704 312C690 342 100 372 94 202',
    'CompleteAbort PrepareAbort': 'M656 300L610 300',
    'PrepareAbort CompleteAbort': 'M610 280L656 280',
    'Empty Dead': 'M72 202C62 392 170 370 440 370L740 370C862 370 862 187 820 187',
  },
};
const TALL = {
  width: 394,
  height: 500,
  places: {
    Empty: [104, 60], Dead: [290, 60], Ongoing: [104, 170], PrepareEpochFence: [290, 170], PrepareCommit: [104, 300],
    PrepareAbort: [290, 300], CompleteCommit: [104, 430], CompleteAbort: [290, 430],
  },
  ways: {
    'Empty Empty': 'M90 38C75 8 135 8 120 38',
    'Ongoing Ongoing': 'M140 148C150 118 190 136 180 150',
    'CompleteCommit Ongoing': 'M22 425C4 390 4 210 22 175',
    'CompleteCommit Empty': 'M22 437C-12 400 -12 100 22 63',
    'CompleteAbort PrepareAbort': 'M372 425C386 400 386 330 372 305',
    'CompleteAbort Dead': 'M372 437C398 400 398 100 372 63',
    'CompleteAbort Empty': 'M250 408C180 380 200 120 170 82',
    'CompleteCommit Dead': 'M150 408C200 330 190 150 225 82',
  },
};

function placesOf(machine, layout) {
  const unknown = machine.states.filter(({ name }) => !layout.places[name]);
  const perRow = Math.max(1, Math.floor(layout.width / (BOX.width + 20)));
  const rows = Math.ceil(unknown.length / perRow);
  const places = { ...layout.places };
  unknown.forEach(({ name }, index) => {
    places[name] = [
      BOX.width / 2 + 10 + (index % perRow) * (BOX.width + 20),
      layout.height + BOX.height / 2 + Math.floor(index / perRow) * (BOX.height + 20),
    ];
  });
  return { places, height: layout.height + rows * (BOX.height + 20) };
}

// Where the line from the centre of a box towards another point leaves the box.
function border([x, y], [towardX, towardY]) {
  const [dx, dy] = [towardX - x, towardY - y];
  const scale = Math.min(
    dx === 0 ? Infinity : BOX.width / 2 / Math.abs(dx), dy === 0 ? Infinity : BOX.height / 2 / Math.abs(dy));
  return [x + dx * scale, y + dy * scale];
}

function way(layout, places, from, to) {
  const known = layout.ways[`${from} ${to}`];
  if (known) return known;
  const [x, y] = places[from];
  if (from === to) {
    const top = y - BOX.height / 2;
    return `M${x - 14} ${top}C${x - 30} ${top - 30} ${x + 30} ${top - 30} ${x + 14} ${top}`;
  }
  const [begin, end] = [border(places[from], places[to]), border(places[to], places[from])];
  return `M${begin.map(Math.round).join(' ')}L${end.map(Math.round).join(' ')}`;
}

// One arrow for all steps between the same two states.
function arrowsOf(machine) {
  const arrows = new Map();
  machine.steps.forEach(({ from, to, label }) => {
    const key = `${from} ${to}`;
    const known = arrows.get(key);
    if (known) known.labels.push(label);
    else arrows.set(key, { key, from, to, labels: [label] });
  });
  return [...arrows.values()];
}

function useNarrow() {
  const [narrow, setNarrow] = useState(window.matchMedia(NARROW).matches);
  useEffect(() => {
    const query = window.matchMedia(NARROW);
    const update = () => setNarrow(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, []);
  return narrow;
}

const RANK = { other: 0, possible: 1, last: 2 };

function kindOf({ from, to }, current, last) {
  if (last && last.from === from && last.to === to) return 'last';
  return from === current ? 'possible' : 'other';
}

// In words, for whoever does not see the drawing.
function described(machine, current, last) {
  const names = machine.states.map(({ name }) => name).join(', ');
  const now = current ? ` It is in ${current}.` : '';
  const step = last ? ` The last step led from ${last.from} to ${last.to}: ${last.step}.` : '';
  return `State machine with the states ${names}.${now}${step}`;
}

export function StateMachine({ machine, current, last }) {
  const layout = useNarrow() ? TALL : WIDE;
  const { places, height } = placesOf(machine, layout);
  const arrows = arrowsOf(machine).map((arrow) => ({ ...arrow, kind: kindOf(arrow, current, last) }));
  // What is lit is drawn above the rest.
  arrows.sort((a, b) => RANK[a.kind] - RANK[b.kind]);
  const meaning = machine.states.find(({ name }) => name === current)?.meaning;
  const possible = arrowsOf(machine).filter(({ from }) => from === current);
  return html`<div class="machine">
    <svg viewBox=${`-4 0 ${layout.width + 8} ${height}`} role="img" aria-label=${described(machine, current, last)}>
      <defs>${Object.keys(RANK).map((kind) => html`
        <marker key=${kind} id=${`arrow-${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="11" markerHeight="11"
          markerUnits="userSpaceOnUse" orient="auto"><path class=${`machine-head ${kind}`} d="M0 0L8 4L0 8Z" /></marker>`)}</defs>
      ${arrows.map(({ key, from, to, labels, kind }) => html`
        <path key=${key} class=${`machine-step ${kind}`} d=${way(layout, places, from, to)} marker-end=${`url(#arrow-${kind})`}>
          <title>${`${from} to ${to}: ${labels.join('; ')}`}</title></path>`)}
      ${machine.states.map(({ name, meaning: text }) => {
    const [x, y] = places[name];
    return html`<g key=${name} class=${`machine-state${name === current ? ' current' : ''}`} data-state=${name}
          aria-current=${name === current ? 'true' : undefined}>
          <title>${`${name}: ${text}`}</title>
          <rect x=${x - BOX.width / 2} y=${y - BOX.height / 2} width=${BOX.width} height=${BOX.height} rx="10" />
          <text x=${x} y=${y} text-anchor="middle" dominant-baseline="central">${name}</text></g>`;
  })}
    </svg>
    <div class="machine-text">
      ${current && html`<p><strong>${current}</strong>${meaning ? `: ${meaning}` : ' is a state that this console does not know.'}</p>`}
      ${last && html`<p><span class="machine-key last" aria-hidden="true"></span> Last step: from ${last.from} to ${last.to}, ${last.step}.</p>`}
      ${possible.length > 0 && html`<p><span class="machine-key possible" aria-hidden="true"></span> What may come next:</p>
        <ul>${possible.map(({ to, labels }) => html`<li key=${to}><strong>${to}</strong>: ${labels.join('; or ')}</li>`)}</ul>`}
    </div>
  </div>`;
}
