// Addresses that people can bookmark: the path says which page, the query what it shows.
import { useEffect, useState } from './html.js';

const watchers = new Set();

export function navigate(url, { replace = false } = {}) {
  window.history[replace ? 'replaceState' : 'pushState'](null, '', url);
  watchers.forEach((watcher) => watcher());
}

// Addresses that people have typed may have a % that begins nothing.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The first part of the path, the rest of it decoded, and the query as an object. What a path cannot end with is in `id`.
export function place() {
  const [, page = '', ...rest] = window.location.pathname.split('/');
  const query = Object.fromEntries(new URLSearchParams(window.location.search));
  return { page, rest: [...rest.map(decoded), ...('id' in query ? [query.id] : [])].join('/'), query };
}

export function usePlace() {
  const [current, setCurrent] = useState(place());
  useEffect(() => {
    const update = () => setCurrent(place());
    watchers.add(update);
    window.addEventListener('popstate', update);
    return () => {
      watchers.delete(update);
      window.removeEventListener('popstate', update);
    };
  }, []);
  return current;
}

// Changes some of the query and stays on the page. What is empty is left out of the address.
export function setQuery(changes, { replace = true } = {}) {
  const query = new URLSearchParams(window.location.search);
  Object.entries(changes).forEach(([name, value]) => {
    if (value === null || value === undefined || value === '') query.delete(name);
    else query.set(name, String(value));
  });
  const text = query.toString();
  navigate(window.location.pathname + (text && `?${text}`), { replace });
}

// Browsers take these for directories, however they are written.
const isDirectory = (part) => part === '.' || part === '..';

export function path(...parts) {
  const written = `/${(isDirectory(parts.at(-1)) ? parts.slice(0, -1) : parts).map((part) => encodeURIComponent(part)).join('/')}`;
  return isDirectory(parts.at(-1)) ? `${written}?id=${parts.at(-1)}` : written;
}

// Links within the console do not load the page again.
export function followLinks() {
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]');
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target || link.hasAttribute('download') || link.origin !== window.location.origin) return;
    if (link.getAttribute('href').startsWith('#') || link.pathname.startsWith('/api/')) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
    window.scrollTo(0, 0);
  });
}
