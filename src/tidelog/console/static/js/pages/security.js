// Security: users and their passwords. ACLs and quotas are in modules of their own.
import { html, useId, useState } from '../lib/html.js';
import { post, useGet } from '../lib/api.js';
import { count, plural } from '../lib/format.js';
import { Card, Confirm, NotTold, Problem, Table, Tabs, Tag, Waiting } from '../lib/components.js';
import { visible } from '../lib/visible.js';
import { Acls } from './security_acls.js';
import { Quotas } from './security_quotas.js';

const VIEWS = { '': 'Users', acls: 'ACLs', quotas: 'Quotas' };
const MECHANISMS = ['SCRAM-SHA-512', 'SCRAM-SHA-256'];

export const title = ({ rest }) => (rest && Object.hasOwn(VIEWS, rest) ? `Security: ${VIEWS[rest]}` : 'Security');

// Passwords are in the state of this dialog and in the body of one request, nowhere else.
function Password({ user, iterations, onClose, onDone }) {
  const ids = [useId(), useId(), useId(), useId(), useId()];
  const [name, setName] = useState(user?.name ?? '');
  const [mechanism, setMechanism] = useState(user?.mechanism ?? MECHANISMS[0]);
  const [rounds, setRounds] = useState(String(user?.iterations ?? iterations.min));
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const different = again !== '' && password !== again;
  const ready = name !== '' && password !== '' && password === again;
  const set = () => post('security/users/password', {
    user: name, mechanism, password, iterations: Number(rounds),
  }).then(onDone);
  return html`<${Confirm} title=${user ? `Change the password of ${visible(user.name)}` : 'Add a user'} danger=${false}
      confirm=${user ? 'Change' : 'Add'} ready=${ready} onConfirm=${set} onClose=${onClose}>
    ${user ? html`<p>The password for ${mechanism} is replaced at once. Connections that are open stay open; new ones need the new password.</p>`
    : html`<p>A user that is there already gets a new password for this mechanism.</p>
      <p class="field"><label for=${ids[0]}>Name</label>
        <input id=${ids[0]} type="text" autocomplete="off" spellcheck=${false} required value=${name} onInput=${(event) => setName(event.target.value)} /></p>
      <p class="field"><label for=${ids[1]}>Mechanism</label>
        <select id=${ids[1]} onChange=${(event) => setMechanism(event.target.value)}>${MECHANISMS.map((each) => html`
          <option key=${each} value=${each} selected=${each === mechanism}>${each}</option>`)}</select></p>`}
    <p class="field"><label for=${ids[2]}>Password</label>
      <input id=${ids[2]} type="password" autocomplete="new-password" required value=${password} onInput=${(event) => setPassword(event.target.value)} /></p>
    <p class="field"><label for=${ids[3]}>Password again</label>
      <input id=${ids[3]} type="password" autocomplete="new-password" required value=${again} onInput=${(event) => setAgain(event.target.value)} /></p>
    ${different && html`<p class="note" role="status">The two passwords are not the same.</p>`}
    <p class="field"><label for=${ids[4]}>Iterations, from ${count(iterations.min)} to ${count(iterations.max)}: more are slower to guess, and to log in with</label>
      <input id=${ids[4]} type="number" min=${iterations.min} max=${iterations.max} step="1" required value=${rounds} onInput=${(event) => setRounds(event.target.value)} /></p>
  <//>`;
}

function Deletion({ user, own, only, onClose, onDone }) {
  const { name, mechanism } = user;
  return html`<${Confirm} title=${`Delete the password of ${visible(name)} for ${mechanism}`} confirm="Delete" onClose=${onClose}
      onConfirm=${() => post('security/users/delete', { user: name, mechanism }).then(onDone)}>
    <p>${only ? html`It is the only one, so the user <strong>${visible(name)}</strong> is gone then, and can no longer log in with SCRAM.`
    : html`The user <strong>${visible(name)}</strong> can no longer log in with ${mechanism}.`} Connections that are open stay open.</p>
    ${own && html`<p class="problem">This console itself has logged in as ${visible(name)}.</p>`}
  <//>`;
}

const rowsOf = (users) => users.flatMap(({ name, credentials, problem }) => (credentials.length === 0
  ? [{ name, mechanism: null, iterations: null, problem, only: true }]
  : credentials.map((each) => ({ name, ...each, problem, only: credentials.length === 1 }))));

const columnsFor = ({ own, readOnly, onChange, onDelete }) => [
  {
    key: 'name', label: 'User', value: (row) => row.name,
    show: (row) => html`${visible(row.name)} ${row.name === own && html`<${Tag}>this console<//>`}`,
  },
  { key: 'mechanism', label: 'Mechanism', value: (row) => row.mechanism ?? row.problem },
  { key: 'iterations', label: 'Iterations', value: (row) => row.iterations, show: (row) => count(row.iterations), number: true },
  ...(readOnly ? [] : [{
    key: 'change', label: 'Change', value: () => '',
    show: (row) => row.mechanism && html`<span class="actions">
      <button type="button" class="quiet" aria-label=${`Change the password of ${row.name} for ${row.mechanism}`} onClick=${() => onChange(row)}>Change password</button>
      <button type="button" class="quiet" aria-label=${`Delete the password of ${row.name} for ${row.mechanism}`} onClick=${() => onDelete(row)}>Delete</button></span>`,
  }]),
];

function Users({ session }) {
  const { data, failure, again } = useGet('security/users');
  const [adding, setAdding] = useState(false);
  const [changing, setChanging] = useState(null);
  const [deleting, setDeleting] = useState(null);
  const [done, setDone] = useState(null);
  if (!data) return html`<${Waiting} failure=${failure} />`;
  const after = (words) => ({ user, mechanism }) => {
    setDone(words(visible(user), mechanism));
    again();
  };
  const readOnly = session.read_only;
  const { users, problem, own, iterations } = data;
  return html`
    <${Problem} failure=${failure} />
    ${done && html`<p class="note" role="status">${done}</p>`}
    <${Card} title="SCRAM users" note=${users ? count(users.length + data.left_out) : ''} actions=${users && !readOnly && html`
        <button type="button" onClick=${() => setAdding(true)}>Add a user</button>`}>
      ${problem && html`<${NotTold}>${problem}<//>`}
      ${readOnly && html`<${NotTold}>This console was started with --read-only: users cannot be changed here.<//>`}
      <p class="muted">Their passwords are salted and hashed in the metadata of the cluster; nobody can read them. Users of PLAIN, of
        tokens and of certificates are not among them: those are in the configuration of brokers, or elsewhere.</p>
      ${users && html`<${Table} label="Users" rows=${rowsOf(users)} rowKey=${(row) => `${row.name} ${row.mechanism}`} sorted=${{ key: 'name', down: false }}
        columns=${columnsFor({ own, readOnly, onChange: setChanging, onDelete: setDeleting })} empty="There are no users of SCRAM." />`}
      ${data.left_out > 0 && html`<p class="muted">${plural(data.left_out, 'more user is', 'more users are')} not shown.</p>`}
    <//>
    ${adding && html`<${Password} iterations=${iterations} onClose=${() => setAdding(false)}
      onDone=${after((user, mechanism) => `${user} has a password for ${mechanism}.`)} />`}
    ${changing && html`<${Password} user=${changing} iterations=${iterations} onClose=${() => setChanging(null)}
      onDone=${after((user, mechanism) => `${user} has a new password for ${mechanism}.`)} />`}
    ${deleting && html`<${Deletion} user=${deleting} own=${deleting.name === own} only=${deleting.only} onClose=${() => setDeleting(null)}
      onDone=${after((user, mechanism) => `The password of ${user} for ${mechanism} was deleted.`)} />`}`;
}

export default function Security({ rest, query, session }) {
  if (!Object.hasOwn(VIEWS, rest)) {
    return html`<h1>There is no such page</h1><p><a href="/security">Security</a></p>`;
  }
  const tabs = Object.entries(VIEWS).map(([view, label]) => ({
    href: view ? `/security/${view}` : '/security', label, current: view === rest,
  }));
  return html`<h1>Security</h1><${Tabs} label="Security" tabs=${tabs} />
    ${rest === 'acls' ? html`<${Acls} query=${query} session=${session} />`
    : rest === 'quotas' ? html`<${Quotas} session=${session} />` : html`<${Users} session=${session} />`}`;
}
