// Configurations: everything that has properties, and the properties of one of them.
import { html, useEffect, useMemo, useState } from '../lib/html.js';
import { useGet } from '../lib/api.js';
import { bytes, count, duration, plural } from '../lib/format.js';
import { path, setQuery } from '../lib/router.js';
import { Card, Heading, Leaderless, NotTold, Problem, Silent, Table, Tag, Waiting } from '../lib/components.js';
import { visible } from '../lib/visible.js';
import { Change, Reset, Value, isLong } from './configs_change.js';

const KINDS = { topic: 'topics', broker: 'brokers', group: 'groups' };

function partsOf(rest) {
  const [kind, ...name] = rest.split('/');
  return { kind, name: name.join('/') };
}

const wordsFor = ({ kind, name }) => (kind === 'cluster' ? 'all brokers' : `${kind} ${visible(name)}`);

export const title = ({ rest }) => (rest ? `Configuration of ${wordsFor(partsOf(rest))}` : 'Configurations');

// -- one property ----------------------------------------------------------------------------------------------------

const Synonyms = ({ property }) => html`<table class="synonyms"><caption>Where the value can come from, the strongest first</caption>
  <thead><tr><th scope="col">Place</th><th scope="col">Property</th><th scope="col">Value</th></tr></thead>
  <tbody>${property.synonyms.map((synonym, index) => html`<tr key=${index} class=${index === 0 ? 'used' : ''}>
    <td data-label="Place">${synonym.source}${index === 0 && html` <${Tag}>used<//>`}</td>
    <td data-label="Property"><code>${visible(synonym.name)}</code></td>
    <td data-label="Value"><${Value} value=${synonym.value} sensitive=${property.sensitive} /></td></tr>`)}</tbody></table>`;

function Details({ property }) {
  const { documentation, synonyms, type, sensitive, value } = property;
  return html`
    ${documentation ? documentation.split('\n').map((line, index) => html`<p key=${index}>${visible(line)}</p>`)
    : html`<p class="muted">The cluster says nothing about this property.</p>`}
    ${!sensitive && isLong(value) && html`<h3>The whole value</h3><pre>${visible(value)}</pre>`}
    ${synonyms.length > 0 && html`<${Synonyms} property=${property} />`}
    ${type && html`<p class="muted">Type: ${type}.</p>`}`;
}

// What a number of milliseconds or bytes means to people.
function Unit({ property: { name, value, sensitive } }) {
  const number = Number(value);
  if (sensitive || !value || !Number.isSafeInteger(number) || number < 1000) return null;
  const words = name.endsWith('.ms') ? duration(number) : name.endsWith('.bytes') ? bytes(number) : null;
  return words && html`<span class="muted">${words}</span>`;
}

function Source({ property, kind }) {
  const { is_set: isSet, effective, sensitive } = property;
  if (kind !== 'cluster' || isSet) return html`<${Tag} kind=${property.differs ? 'water' : ''}>${property.source}<//>`;
  return html`<span class="muted">not set${sensitive ? '' : html`; in use <${Value} value=${effective} />`}</span>`;
}

function Property({ property, kind, session, onChange, onReset }) {
  const [open, setOpen] = useState(false);
  const editable = !property.read_only && !session.read_only;
  return html`<li class=${`property ${property.differs ? 'differs' : ''}`}>
    <button type="button" class="property-name" aria-expanded=${open} onClick=${() => setOpen(!open)}>${visible(property.name)}</button>
    <div class="property-value"><${Value} value=${property.value} sensitive=${property.sensitive} short
      unset=${kind === 'cluster' && !property.is_set} /> <${Unit} property=${property} /></div>
    <div class="property-source"><${Source} property=${property} kind=${kind} />
      ${property.read_only && html` <${Tag} title="It is in the broker's file and takes effect when the broker starts">read-only<//>`}
      ${property.without_effect && html` <${Tag} kind="warn" title=${property.documentation}>without effect<//>`}
      ${property.differs && property.default && html`<div class="muted">default${property.default.name !== property.name ? ` (${property.default.name})` : ''}: <${Value} value=${property.default.value} short /></div>`}</div>
    <div class="property-actions">
      ${editable && html`<button type="button" class="quiet" aria-label=${`Change ${property.name}`} onClick=${() => onChange(property)}>Change</button>`}
      ${!session.read_only && property.own && html`<button type="button" class="quiet" aria-label=${`Reset ${property.name}`} onClick=${() => onReset(property)}>Reset</button>`}</div>
    ${open && html`<div class="property-details"><${Details} property=${property} /></div>`}
  </li>`;
}

// -- the properties of one thing -------------------------------------------------------------------------------------

function Properties({ kind, name, query, session }) {
  const { data, failure, again } = useGet('configs/properties', { kind, name });
  const [changed, setChanged] = useState(null);
  const [changing, setChanging] = useState(null);
  const [resetting, setResetting] = useState(null);
  const [done, setDone] = useState(null);
  const [text, setText] = useState(query.filter ?? '');
  // What was changed is shown until the cluster is asked again, and has answered.
  useEffect(() => { setChanged(null); }, [data]);
  const shown = changed ?? data;
  const onlyDifferent = query.show === 'different';
  const rows = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return (shown?.properties ?? []).filter((property) => (!onlyDifferent || property.differs || property.is_set)
      && (!wanted || property.name.toLowerCase().includes(wanted)));
  }, [shown, text, onlyDifferent]);
  if (!shown) return html`<${Waiting} failure=${failure} />`;
  const type = (value) => {
    setText(value);
    setQuery({ filter: value.trim() });
  };
  const after = (words) => (properties) => {
    setChanged(properties);
    setDone(words);
  };
  const what = wordsFor({ kind, name });
  const different = shown.properties.filter((property) => property.differs || property.is_set).length;
  return html`
    <${Problem} failure=${failure} />
    ${done && html`<p class="note" role="status">${done}</p>`}
    <${Card} title="Properties" note=${`${count(rows.length)} of ${count(shown.properties.length)}; ${kind === 'cluster'
    ? `${count(different)} set` : `${plural(different, 'differs', 'differ')} from the default`}`}
      actions=${html`<button type="button" onClick=${() => { setDone(null); again(); }}>Read again</button>`}>
      ${kind === 'cluster' && html`<p class="muted">What is set here holds for all brokers that have no value of their own, and takes effect
        while they run. The values in use are those of broker ${shown.asked}.</p>`}
      ${session.read_only && html`<${NotTold}>This console was started with --read-only: properties cannot be changed here.<//>`}
      <div class="controls">
        <label>Name contains <input type="search" value=${text} onInput=${(event) => type(event.target.value)} /></label>
        <label class="inline"><input type="checkbox" checked=${onlyDifferent} onChange=${(event) => setQuery({ show: event.target.checked ? 'different' : null })} />
          ${kind === 'cluster' ? 'Only those that are set' : 'Only those that differ from the default'}</label>
      </div>
      ${rows.length === 0 ? html`<p class="muted">${text.trim() ? `No property ${onlyDifferent ? 'that is different ' : ''}has “${text.trim()}” in its name.`
    : kind === 'cluster' ? 'Nothing is set for all brokers.' : 'All properties have their defaults.'}</p>`
    : html`<ul class="properties">${rows.map((property) => html`
        <${Property} key=${property.name} property=${property} kind=${kind} session=${session}
          onChange=${setChanging} onReset=${setResetting} />`)}</ul>`}
    <//>
    ${changing && html`<${Change} kind=${kind} name=${name} what=${what} property=${changing}
      onClose=${() => setChanging(null)} onDone=${after(`${changing.name} of ${what} was changed.`)} />`}
    ${resetting && html`<${Reset} kind=${kind} name=${name} what=${what} property=${resetting}
      onClose=${() => setResetting(null)} onDone=${after(`${resetting.name} of ${what} was reset.`)} />`}`;
}

const LINKS = {
  topic: (name) => [[path('topics', name), 'The topic'],
    [`/metadata?${new URLSearchParams({ type: 'ConfigRecord', about: 'topic', name })}`, 'Its changes in the metadata log']],
  broker: (name) => [[path('brokers', name), 'The broker'], ['/configs/cluster', 'Defaults of all brokers'],
    [`/metadata?${new URLSearchParams({ type: 'ConfigRecord', about: 'broker', name })}`, 'Its changes in the metadata log']],
  group: (name) => [[path('groups', name), 'The group']],
  cluster: () => [[`/metadata?${new URLSearchParams({ type: 'ConfigRecord', about: 'broker', name: '<default>' })}`, 'Changes in the metadata log']],
};

const Configured = ({ kind, name, query, session }) => html`
  <${Heading} back=${{ href: '/configs', label: 'Configurations' }} kind="Configuration of" name=${wordsFor({ kind, name })}>
    <p class="links">${LINKS[kind](name).map(([href, label]) => html`<a key=${href} href=${href}>${label}</a>`)}</p>
  <//>
  <${Properties} key=${`${kind}/${name}`} kind=${kind} name=${name} query=${query} session=${session} />`;

// -- everything that has properties ----------------------------------------------------------------------------------

const MOST_SET = 6;

function SetHere({ set }) {
  if (set.length === 0) return html`<span class="muted">nothing</span>`;
  return html`<ul class="set">${set.slice(0, MOST_SET).map(({ name, value }) => html`<li key=${name}>${visible(name)} <${Value} value=${value} short /></li>`)}
    ${set.length > MOST_SET && html`<li class="muted">and ${count(set.length - MOST_SET)} more</li>`}</ul>`;
}

// Names may be those of what every object has, such as "constructor".
const setOf = (sets, name) => (Object.hasOwn(sets, name) ? sets[name] : []);

const columnsOf = (kind, label, sets, more = []) => [
  {
    key: 'name', label, value: (row) => row.name,
    show: (row) => html`<a href=${path('configs', kind, row.name)}>${visible(row.name)}</a>${row.internal && html` <${Tag}>internal<//>`}`,
  },
  ...more,
  ...(sets ? [{
    key: 'set', label: 'Set', value: (row) => setOf(sets, row.name).map(({ name, value }) => `${name} ${value}`).join(' '),
    show: (row) => html`<${SetHere} set=${setOf(sets, row.name)} />`,
  }] : []),
];

// `sets`: what is set for each of them, null if nobody tells.
function Things({ kind, label, title: heading, rows, sets, more, empty, onlySet }) {
  const columns = useMemo(() => columnsOf(kind, label, sets, more), [sets]);
  const shown = onlySet ? rows.filter((row) => setOf(sets, row.name).length > 0) : rows;
  return html`<${Card} title=${heading} note=${onlySet ? `${count(shown.length)} of ${count(rows.length)}` : count(rows.length)}>
    <${Table} label=${heading} columns=${columns} rows=${shown} rowKey=${(row) => row.name} empty=${onlySet ? 'Nothing is set for any of them.' : empty} />
  <//>`;
}

const ADDRESS = [{ key: 'address', label: 'Address', value: (row) => row.address }];
const KIND = [{ key: 'kind', label: 'Kind', value: (row) => row.kind }];

// Groups have properties before they exist.
const withConfigured = (groups, sets) => [
  ...groups,
  ...Object.keys(sets ?? {}).filter((name) => !groups.some((group) => group.name === name)).map((name) => ({ name, kind: 'none yet' })),
];

function Everything({ query }) {
  const { data, failure } = useGet('configs/resources');
  const { data: known } = useGet('configs/set');
  if (!data) return html`<h1>Configurations</h1><${Waiting} failure=${failure} />`;
  const told = known?.told === true;
  const sets = told ? known : {};
  const onlySet = told && query.show === 'set';
  return html`<h1>Configurations</h1>
    <${Problem} failure=${failure} />
    ${told && html`<p class="controls"><label class="inline"><input type="checkbox" checked=${onlySet}
        onChange=${(event) => setQuery({ show: event.target.checked ? 'set' : null })} /> Only those for which something is set</label></p>`}
    ${known && !told && html`<${NotTold}>What is set for which of them is in the metadata log. ${known.problem}<//>`}
    <${Card} title="Cluster"><p><a href="/configs/cluster">Defaults of all brokers</a>${
      told ? ', set while they run:' : ', which can be set while they run.'}</p>${told && html`<${SetHere} set=${setOf(sets.cluster, '')} />`}<//>
    <${Things} kind="broker" label="Broker" title="Brokers" rows=${data.brokers} sets=${sets.broker} more=${ADDRESS} onlySet=${onlySet} empty="No broker answers." />
    <${Things} kind="topic" label="Topic" title="Topics" rows=${data.topics} sets=${sets.topic} onlySet=${onlySet} empty="There are no topics." />
    <${Silent} brokers=${data.groups_silent} what="groups" />
    <${Leaderless} partitions=${data.groups_leaderless} log="__consumer_offsets" what="groups" />
    ${data.groups ? html`<${Things} kind="group" label="Group" title="Groups" rows=${withConfigured(data.groups, sets.group)} sets=${sets.group} more=${KIND} onlySet=${onlySet} empty="There are no groups." />`
    : html`<${Card} title="Groups"><${NotTold}>This cluster does not tell about its groups, or this client may not see them.<//><//>`}`;
}

export default function Configs({ rest, query, session }) {
  if (!rest) return html`<${Everything} query=${query} />`;
  const { kind, name } = partsOf(rest);
  if (kind === 'cluster' && !name) return html`<${Configured} kind="cluster" name="" query=${query} session=${session} />`;
  if (Object.hasOwn(KINDS, kind) && name) return html`<${Configured} kind=${kind} name=${name} query=${query} session=${session} />`;
  return html`<h1>There is no such page</h1><p>Topics, brokers, groups and the cluster have properties.
    <a href="/configs">Configurations</a></p>`;
}
