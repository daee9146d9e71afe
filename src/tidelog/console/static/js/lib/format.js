// Numbers, sizes and times as people read them.
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const decimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short', year: 'numeric' });

export const NOTHING = '–';

export const count = (number) => (number === null || number === undefined ? NOTHING : whole.format(number));
export const compact = (number) => (number === null || number === undefined ? NOTHING : short.format(number));
export const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

export function bytes(number) {
  if (number === null || number === undefined) return NOTHING;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  let size = number;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? whole.format(size) : decimal.format(size)} ${units[unit]}`;
}

export function rate(number, unit = '/s') {
  if (number === null || number === undefined) return NOTHING;
  return `${number > 0 && number < 10 ? decimal.format(number) : compact(number)}${unit}`;
}

export function duration(ms) {
  if (ms === null || ms === undefined) return NOTHING;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return plural(Math.floor(hours / 24), 'day', 'days');
}

export function time(ms) {
  if (ms === null || ms === undefined || ms < 0) return NOTHING;
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const text = `${clock.format(at)}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  return at.toDateString() === new Date().toDateString() ? text : `${day.format(at)} ${text}`;
}

// For a title beside a short form.
export function exactTime(ms) {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? String(ms) : at.toISOString();
}
