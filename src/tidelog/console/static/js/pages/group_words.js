// Words about groups that several views use.
import { html } from '../lib/html.js';
import { count, duration, plural } from '../lib/format.js';
import { Tag } from '../lib/components.js';

export const PROTOCOLS = {
  classic: { label: 'classic', meaning: 'Members join, and one of them assigns the partitions' },
  consumer: { label: 'consumer (KIP-848)', meaning: 'The coordinator assigns the partitions, member by member' },
  share: { label: 'share (KIP-932)', meaning: 'Members share the records of partitions; nothing is committed' },
  streams: { label: 'streams (KIP-1071)', meaning: 'The coordinator assigns the tasks of Kafka Streams' },
};

const STATES = {
  Stable: { kind: 'good', meaning: 'All members have what they are assigned' },
  Empty: { kind: '', meaning: 'No members; committed offsets are kept until they expire' },
  PreparingRebalance: { kind: 'warn', meaning: 'Members join again before partitions are assigned' },
  CompletingRebalance: { kind: 'warn', meaning: 'Members wait for the assignment of the leading member' },
  Assigning: { kind: 'warn', meaning: 'The coordinator computes a new target assignment' },
  Reconciling: { kind: 'warn', meaning: 'Members give up partitions and take over others' },
  NotReady: { kind: 'warn', meaning: 'The topics that the application needs are not all there' },
  Dead: { kind: 'bad', meaning: 'The group is being deleted' },
};

export const State = ({ state }) => html`<${Tag} kind=${STATES[state]?.kind} title=${STATES[state]?.meaning}>${state || 'not told'}<//>`;
export const stateMeaning = (state) => STATES[state]?.meaning;

export function protocolOf({ kind, protocol_type: type }) {
  const label = PROTOCOLS[kind]?.label ?? (kind || 'not told');
  // What else uses groups, such as the workers of Kafka Connect.
  return kind === 'classic' && type && type !== 'consumer' ? `${label}, of type ${type}` : label;
}

const isKnown = (lag) => lag !== null && lag !== undefined && lag.known !== 0;
// For sorting and sums: null if nobody knows.
export const knownLag = (lag) => (isKnown(lag) ? lag.records : null);

const AT_MOST = 'At most so many: control records among them are not counted yet, or are too many to count';
const AT_LEAST = 'Of the partitions whose leaders answer; the lag of the others is not known';
const ABOUT = 'Of the partitions whose leaders answer, and control records among them are not all counted';

// A lag that may have control records in it is an upper bound. A total has `known` and `unknown` partitions: of some of
// them it is a lower bound, of none it is not known.
export function lagText(lag) {
  if (!isKnown(lag)) return '–';
  return `${lag.unknown > 0 ? (lag.exact ? '≥ ' : 'about ') : lag.exact ? '' : '≤ '}${count(lag.records)}`;
}

export function Lag({ lag }) {
  if (!isKnown(lag)) return html`<span>–</span>`;
  const meaning = lag.unknown > 0 ? (lag.exact ? AT_LEAST : ABOUT) : lag.exact ? undefined : AT_MOST;
  return html`<span title=${meaning}>${lagText(lag)}</span>`;
}

export function trendText({ progress, in_ms: ms }, nobody = false) {
  switch (progress) {
    case 'caught up': return 'caught up';
    case 'not told': return 'not known: leaders do not answer';
    case 'waits': return 'waits for an open transaction';
    case 'catches up': return `in about ${duration(ms)}`;
    case 'falls behind': return 'falls further behind';
    case 'stands still': return nobody ? 'nobody reads: no members' : 'nothing is being read';
    default: return nobody ? 'nobody reads: no members' : 'measuring …';
  }
}

// [3, 4, 5, 8] as "3–5, 8".
export function ranges(numbers) {
  const found = [];
  [...numbers].sort((a, b) => a - b).forEach((number) => {
    const last = found.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else found.push([number, number]);
  });
  return found.map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first}–${last}`)).join(', ');
}

export const partitionsText = (topics) => topics.map(({ topic, partitions }) => `${topic} ${ranges(partitions)}`).join('; ');
export const howMany = (topics) => plural(topics.reduce((sum, { partitions }) => sum + partitions.length, 0), 'partition', 'partitions');
