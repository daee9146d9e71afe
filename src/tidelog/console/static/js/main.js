// The frame of all pages: navigation, the theme, and which module shows which address.
import { html, render, useEffect, useRef, useState } from './lib/html.js';
import { loadSession } from './lib/api.js';
import { followLinks, usePlace } from './lib/router.js';
import { ErrorBoundary, Problem } from './lib/components.js';

// By the first part of the path. A module exports `title(place)` and a component as `default`.
const PAGES = {
  '': { label: 'Overview', module: 'overview' },
  topics: { label: 'Topics', module: 'topics' },
  groups: { label: 'Groups', module: 'groups' },
  transactions: { label: 'Transactions', module: 'transactions' },
  brokers: { label: 'Brokers', module: 'brokers' },
  metadata: { label: 'Metadata', module: 'metadata' },
  configs: { label: 'Configurations', module: 'configs' },
  security: { label: 'Security', module: 'security' },
  pipelines: { label: 'Pipelines', module: 'pipelines' },
};

function Theme() {
  const root = document.documentElement;
  const system = () => (window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const [theme, setTheme] = useState(root.dataset.theme ?? system());
  const other = theme === 'dark' ? 'light' : 'dark';
  const change = () => {
    root.dataset.theme = other;
    localStorage.setItem('theme', other);
    setTheme(other);
  };
  return html`<button type="button" class="quiet" onClick=${change}>${other === 'dark' ? 'Dark' : 'Light'} colours</button>`;
}

function Navigation({ current }) {
  return html`<nav aria-label="Pages"><ul>
    ${Object.entries(PAGES).map(([page, { label }]) => html`
      <li key=${page}><a href=${`/${page}`} aria-current=${page === current ? 'page' : undefined}>${label}</a></li>`)}
  </ul></nav>`;
}

function NoSuchPage() {
  return html`<h1>There is no such page</h1><p>The console has nothing at this address. <a href="/">Overview</a></p>`;
}

function Shown({ place, session }) {
  const [loaded, setLoaded] = useState({ page: null, module: null, failure: null });
  const content = useRef(null);
  const isFirst = useRef(true);
  const entry = Object.hasOwn(PAGES, place.page) ? PAGES[place.page] : null;
  useEffect(() => {
    if (!entry) return undefined;
    // Whoever goes on before the module is here does not want it any more.
    let isWanted = true;
    const show = (module, failure) => isWanted && setLoaded({ page: place.page, module, failure });
    import(`./pages/${entry.module}.js`).then((module) => show(module, null), (failure) => show(null, failure));
    return () => { isWanted = false; };
  }, [place.page]);
  // The module is asked for while the session is.
  const ready = loaded.page === place.page && session && loaded.module;
  const title = !entry ? 'No such page' : ready ? ready.title(place) : entry.label;
  useEffect(() => { document.title = `${title} · tidelog`; }, [title]);
  // Whoever uses the keyboard goes on in what has changed.
  useEffect(() => {
    if (isFirst.current) isFirst.current = false;
    else content.current?.focus({ preventScroll: true });
  }, [place.page, place.rest]);
  if (!entry) return html`<main id="content"><${NoSuchPage} /></main>`;
  if (loaded.page === place.page && loaded.failure) {
    return html`<main id="content"><${Problem} failure=${loaded.failure} /></main>`;
  }
  return html`<main id="content" ref=${content} tabindex="-1" aria-busy=${!ready}>
    ${ready && html`<${ErrorBoundary} key=${`${place.page}/${place.rest}`} of=${place.query}>
      <${ready.default} ...${place} session=${session} />
    <//>`}
  </main>`;
}

function App() {
  const place = usePlace();
  const [session, setSession] = useState(null);
  const [failure, setFailure] = useState(null);
  useEffect(() => { loadSession().then(setSession, setFailure); }, []);
  return html`
    <header>
      <a class="brand" href="/"><img src="/static/icon.svg" alt="" width="28" height="28" /> tidelog</a>
      <${Navigation} current=${place.page} />
      <div class="about">
        ${session && html`<span class="servers" title="The cluster that this console is connected to">${session.servers}</span>`}
        ${session?.read_only && html`<span class="tag">read-only</span>`}
        <${Theme} />
        ${session && html`<span class="version">tidelog ${session.version}</span>`}
      </div>
    </header>
    ${failure ? html`<main id="content"><${Problem} failure=${failure} /></main>`
    : html`<${Shown} place=${place} session=${session} />`}`;
}

followLinks();
render(html`<${App} />`, document.getElementById('app'));
