// Talks to the console behind this page: questions, changes, and live data.
import { useCallback, useEffect, useRef, useState } from './html.js';

const RECONNECT_MS = 2000;
// What is refused would be refused again: because of the address, or because too much is watched already.
const REFUSED_MS = 10000;
// A page in a hidden tab keeps its live data for so long: whoever looks back soon sees no gap.
const HIDDEN_MS = 10000;

export class Failure extends Error {
  // `problem`: refused, unavailable, unsupported, missing, token, gone.
  constructor({ message, problem = 'refused', code = null, status = 0, ...more }) {
    super(message);
    this.problem = problem;
    this.code = code;
    this.status = status;
    this.more = more;
  }
}

const GONE = new Failure({
  problem: 'gone',
  message: 'The console does not answer. It may have been stopped; this page goes on when it is back.',
});

export function address(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `/api/${path}${query && `?${query}`}`;
}

async function answered(asked) {
  let reply;
  try {
    reply = await asked;
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw GONE;
  }
  const document = await reply.json().catch(() => null);
  if (reply.ok && document !== null) return document;
  if (reply.status === 401) window.location.reload();
  throw new Failure({
    message: `The console answers with status ${reply.status}.`, status: reply.status, ...(document ?? {}),
  });
}

export const get = (path, parameters, signal) => answered(fetch(address(path, parameters), { signal }));

let session = null;

// Version, servers, read_only, csrf_token: once for all pages.
export function loadSession(again = false) {
  if (session === null || again) {
    session = get('session');
    session.catch(() => { session = null; });
  }
  return session;
}

// A change. A console that was restarted has a new token against cross-site requests, so it is asked for once more.
export async function post(path, body) {
  const send = async (again) => answered(fetch(address(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': (await loadSession(again)).csrf_token },
    body: JSON.stringify(body),
  }));
  try {
    return await send(false);
  } catch (failure) {
    if (failure.status === 403 && !(await loadSession(true)).read_only) return send(false);
    throw failure;
  }
}

// { data, failure, loading, again() }: a question that is asked again when its address changes. The former answer stays
// until the new one is here; if that is a failure, only an answer to the same question stays beside it.
export function useGet(path, parameters = {}) {
  const url = path && address(path, parameters);
  const [state, setState] = useState({ data: null, failure: null, loading: true, url });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!url) return undefined;
    const ending = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    get(path, parameters, ending.signal).then(
      (data) => setState({ data, failure: null, loading: false, url }),
      (failure) => failure.name === 'AbortError'
        || setState((before) => ({ data: before.url === url ? before.data : null, failure, loading: false, url })),
    );
    return () => ending.abort();
  }, [url, turn]);
  return { ...state, again: useCallback(() => setTurn((before) => before + 1), []) };
}

// Why there is no live data at this address: browsers do not tell that of an EventSource. Null if there is some.
async function whyRefused(url, asking) {
  let reply;
  try {
    reply = await fetch(url, { signal: asking.signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return GONE;
  }
  if (!reply.ok) return answered(reply).catch((failure) => failure);
  // It has no end.
  asking.abort();
  return null;
}

// { data, failure }: the latest reading of a feed. While the cluster is away the last one stays, with the failure.
export function useLive(path, parameters = {}) {
  const url = path && address(path, parameters);
  const [state, setState] = useState({ data: null, failure: null, url });
  const shown = useRef(url);
  useEffect(() => {
    if (!url) return undefined;
    shown.current = url;
    setState({ data: null, failure: null, url });
    let source = null;
    let timer = null;
    let asking = null;
    const stop = () => {
      clearTimeout(timer);
      asking?.abort();
      asking = null;
      source?.close();
      source = null;
    };
    const fail = (failure) => setState((before) => ({ ...before, failure }));
    // Refused, or gone: questions with ordinary answers tell which.
    const retry = async () => {
      stop();
      const mine = new AbortController();
      const isOver = () => asking !== mine;
      asking = mine;
      let refused = null;
      try {
        await loadSession(true);
        if (!isOver()) refused = await whyRefused(url, mine);
        if (refused && !isOver()) fail(refused);
      } catch (failure) {
        if (!isOver()) fail(failure);
      }
      // Whoever looks at a hidden page again starts it.
      if (!isOver() && !document.hidden) timer = setTimeout(start, refused ? REFUSED_MS : RECONNECT_MS);
    };
    const start = () => {
      stop();
      source = new EventSource(url);
      source.addEventListener('reading', (event) => {
        setState({ data: JSON.parse(event.data), failure: null, url });
      });
      source.addEventListener('problem', (event) => {
        fail(new Failure(JSON.parse(event.data)));
      });
      source.onerror = retry;
    };
    const onVisibility = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(stop, HIDDEN_MS);
      else if (source === null) start();
    };
    // A tab that was opened in the background waits for its first look: a browser has few connections to one host.
    if (!document.hidden) start();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      stop();
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [url]);
  // Between a change of the address and the next effect there still is the reading of the former one.
  return state.url === url ? state : { data: null, failure: null };
}
