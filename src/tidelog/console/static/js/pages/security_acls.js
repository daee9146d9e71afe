// ACLs: which there are, adding one, deleting one, and deleting all that the filter selects after a look at them.
import { html, useId, useState } from '../lib/html.js';
import { post, useGet } from '../lib/api.js';
import { count, plural } from '../lib/format.js';
import { setQuery } from '../lib/router.js';
import { Card, Confirm, NotTold, Problem, Table, Tag, Waiting } from '../lib/components.js';
import { visible } from '../lib/visible.js';

const MOST_DELETED = 500;
const MOST_NAMED = 20;

const words = (name) => name.toLowerCase().replaceAll('_', ' ');
const PATTERNS = { ANY: 'exactly this name', MATCH: 'what applies to this name', LITERAL: 'this literal name', PREFIXED: 'this prefix' };

function resource({ resource_type: type, name, pattern_type: pattern }) {
  if (type === 'CLUSTER') return 'the cluster';
  if (pattern === 'LITERAL' && name === '*') return `every ${words(type)}`;
  return `${words(type)} ${pattern === 'PREFIXED' ? 'names that begin with ' : ''}${visible(name)}`;
}

const sentence = (acl) => `${visible(acl.principal)} ${acl.permission_type === 'DENY' ? 'may not' : 'may'} ${
  acl.operation === 'ALL' ? 'do everything with' : `${words(acl.operation)}:`} ${resource(acl)}${acl.host === '*' ? '' : `, from ${visible(acl.host)}`}`;

const keyOf = (acl) => JSON.stringify([acl.principal, acl.permission_type, acl.operation, acl.resource_type, acl.name, acl.pattern_type, acl.host]);

const columnsFor = ({ readOnly, onDelete }) => [
  { key: 'principal', label: 'Principal', value: (row) => row.principal, show: (row) => visible(row.principal) },
  {
    key: 'permission', label: 'Permission', value: (row) => row.permission_type,
    show: (row) => html`<${Tag} kind=${row.permission_type === 'DENY' ? 'bad' : 'good'}>${words(row.permission_type)}<//>`,
  },
  { key: 'operation', label: 'Operation', value: (row) => row.operation, show: (row) => words(row.operation) },
  { key: 'resource', label: 'Resource', value: (row) => `${row.resource_type} ${row.name}`, show: (row) => resource(row) },
  { key: 'host', label: 'Host', value: (row) => row.host, show: (row) => (row.host === '*' ? 'every host' : visible(row.host)) },
  ...(readOnly ? [] : [{
    key: 'change', label: 'Change', value: () => '',
    show: (row) => html`<button type="button" class="quiet" aria-label=${`Delete: ${sentence(row)}`} onClick=${() => onDelete([row])}>Delete</button>`,
  }]),
];

const Options = ({ options, chosen, show = words }) => options.map((option) => html`
  <option key=${option} value=${option} selected=${option === chosen}>${show(option)}</option>`);

const FILTERS = ['principal', 'resource_type', 'name', 'pattern_type', 'operation', 'permission_type'];
const filterOf = (query) => Object.fromEntries(FILTERS.filter((field) => query[field]).map((field) => [field, query[field]]));

// "ann" stands for "User:ann".
const asPrincipal = (text) => (text === '' || text.includes(':') ? text : `User:${text}`);

function Filter({ query, choices }) {
  const apply = (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    const name = given.name.trim();
    setQuery({
      ...given, name, principal: asPrincipal(given.principal.trim()), pattern_type: name ? given.pattern_type : null,
    }, { replace: false });
  };
  const filter = filterOf(query);
  return html`<form class="controls" key=${JSON.stringify(filter)} onSubmit=${apply} aria-label="Filter">
    <label>Principal <input name="principal" type="text" autocomplete="off" spellcheck=${false} placeholder="such as User:ann" defaultValue=${filter.principal ?? ''} /></label>
    <label>Operation <select name="operation"><option value="">all</option><${Options} options=${choices.all_operations} chosen=${filter.operation} /></select></label>
    <label>Resource <select name="resource_type"><option value="">all</option><${Options} options=${Object.keys(choices.operations)} chosen=${filter.resource_type} /></select></label>
    <label>Name <input name="name" type="text" autocomplete="off" spellcheck=${false} defaultValue=${filter.name ?? ''} /></label>
    <label>Name means <select name="pattern_type"><${Options} options=${Object.keys(PATTERNS)} chosen=${filter.pattern_type ?? 'MATCH'} show=${(each) => PATTERNS[each]} /></select></label>
    <label>Permission <select name="permission_type"><option value="">all</option><${Options} options=${['ALLOW', 'DENY']} chosen=${filter.permission_type} /></select></label>
    <button type="submit">Filter</button>
    ${Object.keys(filter).length > 0 && html`<button type="button" class="quiet"
      onClick=${() => setQuery(Object.fromEntries(FILTERS.map((field) => [field, null])), { replace: false })}>Show all</button>`}
  </form>`;
}

function Deletion({ acls, onClose, onDone }) {
  return html`<${Confirm} title=${acls.length === 1 ? 'Delete this ACL' : `Delete these ${count(acls.length)} ACLs`} confirm="Delete"
      onClose=${onClose} onConfirm=${() => post('security/acls/delete', { acls }).then(({ deleted }) => onDone(`${plural(deleted.length, 'ACL was', 'ACLs were')} deleted.`))}>
    <p>What they allow or deny changes at once. Only what stands here is deleted, not what others add meanwhile.</p>
    <ul>${acls.slice(0, MOST_NAMED).map((acl) => html`<li key=${keyOf(acl)}>${sentence(acl)}</li>`)}</ul>
    ${acls.length > MOST_NAMED && html`<p class="muted">And ${count(acls.length - MOST_NAMED)} more, all that the page shows.</p>`}
  <//>`;
}

function Addition({ choices, onClose, onDone }) {
  const ids = [useId(), useId(), useId(), useId(), useId(), useId(), useId()];
  const [acl, setAcl] = useState({
    principal: 'User:', permission_type: 'ALLOW', operation: 'READ', resource_type: 'TOPIC', name: '', pattern_type: 'LITERAL', host: '*',
  });
  const change = (field) => (event) => {
    const next = { ...acl, [field]: event.target.value };
    if (field === 'resource_type') {
      next.name = next.resource_type === 'CLUSTER' ? 'kafka-cluster' : acl.resource_type === 'CLUSTER' ? '' : acl.name;
      if (next.resource_type === 'CLUSTER') next.pattern_type = 'LITERAL';
      if (!choices.operations[next.resource_type].includes(next.operation)) next.operation = 'ALL';
    }
    setAcl(next);
  };
  const whole = { ...acl, principal: asPrincipal(acl.principal.trim()) };
  const ready = acl.name !== '' && acl.host !== '' && whole.principal !== '' && whole.principal !== 'User:';
  const choose = (index, field, label, options, show) => html`<p class="field"><label for=${ids[index]}>${label}</label>
    <select id=${ids[index]} onChange=${change(field)}><${Options} options=${options} chosen=${acl[field]} show=${show} /></select></p>`;
  const write = (index, field, label, more = {}) => html`<p class="field"><label for=${ids[index]}>${label}</label>
    <input id=${ids[index]} type="text" autocomplete="off" spellcheck=${false} required value=${acl[field]} onInput=${change(field)} ...${more} /></p>`;
  return html`<${Confirm} title="Add an ACL" confirm="Add" danger=${false} ready=${ready} onClose=${onClose}
      onConfirm=${() => post('security/acls/add', whole).then(() => onDone(`${sentence(whole)}.`))}>
    <div class="fields">
      ${write(0, 'principal', 'Principal; User:* is everybody')}
      ${choose(1, 'permission_type', 'Permission', ['ALLOW', 'DENY'])}
      ${choose(2, 'resource_type', 'Resource', Object.keys(choices.operations))}
      ${choose(3, 'operation', 'Operation', choices.operations[acl.resource_type])}
      ${write(4, 'name', 'Name of the resource; * is all', { readOnly: acl.resource_type === 'CLUSTER' })}
      ${choose(5, 'pattern_type', 'The name is', acl.resource_type === 'CLUSTER' ? ['LITERAL'] : ['LITERAL', 'PREFIXED'], (each) => (each === 'LITERAL' ? 'the whole name' : 'the beginning of names'))}
      ${write(6, 'host', 'Host; * is every host')}
    </div>
    ${ready && html`<p class="note" role="status">${sentence(whole)}.</p>`}
  <//>`;
}

export function Acls({ query, session }) {
  const { data, failure, loading, again } = useGet('security/acls', filterOf(query));
  const { data: choices } = useGet('security/acls/choices');
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState(null);
  const [done, setDone] = useState(null);
  if (!data || !choices) return html`<${Waiting} failure=${failure} />`;
  const readOnly = session.read_only;
  const after = (told) => {
    setDone(told);
    again();
  };
  const { acls, problem } = data;
  const filtered = Object.keys(filterOf(query)).length > 0;
  return html`
    <${Problem} failure=${failure} />
    ${done && html`<p class="note" role="status">${done}</p>`}
    <${Card} title="ACLs" note=${acls ? count(acls.length + data.left_out) : ''} actions=${acls && !readOnly && html`
        ${filtered && acls.length > 0 && html`<button type="button" class="danger" disabled=${loading || acls.length > MOST_DELETED || data.left_out > 0}
          onClick=${() => setDeleting(acls)}>${acls.length > MOST_DELETED ? `At most ${count(MOST_DELETED)} can be deleted at once` : `Delete these ${count(acls.length)}`}</button>`}
        <button type="button" onClick=${() => setAdding(true)}>Add an ACL</button>`}>
      ${problem && html`<${NotTold}>${problem}<//>`}
      ${readOnly && acls && html`<${NotTold}>This console was started with --read-only: ACLs cannot be changed here.<//>`}
      ${acls && html`
        <${Filter} query=${query} choices=${choices} />
        <${Table} label="ACLs" rows=${acls} rowKey=${keyOf} columns=${columnsFor({ readOnly, onDelete: setDeleting })} filter=${false}
          empty=${filtered ? 'No ACL matches this filter.' : 'There are no ACLs: only super users may do anything, unless allow.everyone.if.no.acl.found is true.'} />
        ${data.left_out > 0 && html`<p class="muted">${plural(data.left_out, 'more ACL is', 'more ACLs are')} not shown: filter them.</p>`}`}
    <//>
    ${adding && html`<${Addition} choices=${choices} onClose=${() => setAdding(false)} onDone=${after} />`}
    ${deleting && html`<${Deletion} acls=${deleting} onClose=${() => setDeleting(null)} onDone=${after} />`}`;
}
