// What the address of the page means, and what is asked of the console for it.
import { useCallback, useEffect, useRef, useState } from '../../lib/html.js';
import { address, get } from '../../lib/api.js';
import { path } from '../../lib/router.js';

// Partitions that are read together; of larger topics ranges are chosen.
export const MOST_TOGETHER = 50;
export const FILTERS = ['key', 'key_how', 'value', 'value_how', 'value_path', 'header', 'header_how', 'header_name', 'case', 'only'];
const STARTS = ['end', 'beginning', 'offset', 'time', 'at', 'live'];

export const defaultPartitions = (partitions) => (partitions.length > MOST_TOGETHER ? `0-${MOST_TOGETHER - 1}` : 'all');

// The query of the page, with what it leaves out.
export function readQuery(query, partitions) {
  const start = STARTS.includes(query.start) ? query.start : query.offset ? 'offset' : 'end';
  const newestFirst = query.order ? query.order === 'newest' : start === 'end' || start === 'live';
  return {
    start,
    newestFirst,
    partitions: query.partition || defaultPartitions(partitions),
    older: query.older === '1' || start === 'end',
    rows: Number(query.rows) || 50,
    form: query.form || 'auto',
    open: query.open || '',
    isFiltered: FILTERS.some((name) => query[name] && !name.endsWith('_how') && name !== 'case' && name !== 'value_path')
      || FILTERS.some((name) => query[name] === 'null'),
  };
}

export const filterOf = (query) => Object.fromEntries(FILTERS.filter((name) => query[name]).map((name) => [name, query[name]]));

export function parametersOf(topic, query, asked) {
  return {
    topic,
    partitions: asked.partitions,
    start: asked.start,
    offset: asked.start === 'offset' ? query.offset || 0 : undefined,
    time: asked.start === 'time' ? query.time || 0 : undefined,
    at: asked.start === 'at' ? query.at : undefined,
    older: asked.older || undefined,
    rows: asked.rows,
    form: asked.form,
    ...filterOf(query),
  };
}

// Where one record is: an address that shows it whatever is written later.
export const linkTo = (topic, partition, offset) => `${path('topics', topic)}?${new URLSearchParams({
  view: 'messages', partition, start: 'offset', offset, open: `${partition}:${offset}`,
})}`;

const NOTHING = { portions: [], failure: null, loading: true };
// What may differ between two pages of the same thing.
const PLACES = ['start', 'offset', 'time', 'at', 'older'];

// { portions, failure, loading, goOn(), again() }: what is at the address, and further portions of a search.
export function usePortions(parameters, { older, isFiltered }) {
  const url = address('messages', parameters);
  const about = address('messages', Object.fromEntries(Object.entries(parameters).filter(([name]) => !PLACES.includes(name))));
  const [state, setState] = useState({ ...NOTHING, url, about });
  const [turn, setTurn] = useState(0);
  const ending = useRef(null);
  // What is shown until the answer is here, and what the answer is added to.
  const ask = (asked, shown, before) => {
    ending.current?.abort();
    const mine = new AbortController();
    ending.current = mine;
    setState({ portions: shown, failure: null, loading: true, url, about });
    get('messages', asked, mine.signal).then(
      (data) => setState({ portions: [...before, data], failure: null, loading: false, url, about }),
      (failure) => failure.name === 'AbortError' || setState({ portions: shown, failure, loading: false, url, about }),
    );
  };
  // The former page stays until the next one is here, and with it the button that somebody is on. Of something else, and
  // of a search, which says what it has found so far, nothing stays.
  const former = state.about === about && !isFiltered ? state.portions : [];
  useEffect(() => {
    ask(parameters, former, []);
    return () => ending.current.abort();
  }, [url, turn]);
  const goOn = () => {
    const last = state.portions.at(-1);
    ask({ ...parameters, start: 'at', offset: undefined, time: undefined, at: older ? last.before : last.after, older: older || undefined }, state.portions, state.portions);
  };
  const again = useCallback(() => setTurn((before) => before + 1), []);
  return { ...(state.url === url ? state : { ...NOTHING, portions: former }), goOn, again };
}
