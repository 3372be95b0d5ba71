// The page asks the API once a second while it is visible, and keeps its history in this tab.
// Texts become text nodes only: nothing that a host, a coordinator or a person wrote is markup.
'use strict';
{
  const every = 1000, patience = 2000; // ms between two requests, and for an answer
  const cells = 180, cellMillis = 5000; // 15 minutes
  const mostEntries = 40, sameFor = 10_000, mostMembers = 100;

  // --- Elements ---

  const $ = id => document.getElementById(id);

  const fill = (e, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== false) e.setAttribute(name, value);
    e.append(...children.flat().filter(child => child !== null));
    return e;
  };
  const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const s = (tag, attributes = {}, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

  // put makes the children of an element the given ones. It keeps the nodes that stay, and with
  // them focus, selection and scroll position, and what moves is seen to move.
  const put = (old, ...children) => morph(old, fill(document.createDocumentFragment(), {}, children));
  const morph = (old, now) => {
    if (old.childNodes.length !== now.childNodes.length) {
      old.replaceChildren(...now.childNodes);
      return;
    }
    [...now.childNodes].forEach((to, i) => {
      const from = old.childNodes[i];
      if (from.nodeName !== to.nodeName) {
        from.replaceWith(to);
      } else if (from.nodeType !== Node.ELEMENT_NODE) {
        if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
      } else {
        for (const {name} of [...from.attributes]) if (!to.hasAttribute(name) && name !== 'open') from.removeAttribute(name);
        for (const {name, value} of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
        morph(from, to);
      }
    });
  };
  const say = (e, text) => { if (e.textContent !== text) e.textContent = text; };

  // table makes one of columns [title, right-aligned?] and rows of cells. On a narrow screen each row
  // is a block of titles and values, and the roles keep it a table for a screen reader.
  const table = (label, columns, rows) => h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label},
    h('table', {role: 'table'},
      h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, columns.map(([title, right]) => h('th', {scope: 'col', role: 'columnheader', class: right ? 'num' : null}, title)))),
      h('tbody', {role: 'rowgroup'}, rows.map(({own, list}) => h('tr', {role: 'row', class: own ? 'own' : null}, list.map((value, i) =>
        i === 0 ? h('th', {scope: 'row', role: 'rowheader', 'data-title': columns[i][0]}, value)
          : h('td', {role: 'cell', class: columns[i][1] ? 'num' : null, 'data-title': columns[i][0]}, value)))))));
  const pill = (word, kind) => h('span', {class: 'pill ' + kind}, word);
  const terms = list => list.map(([name, ...value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)));

  // --- Words ---

  const digits = v => v === 0 ? '0' : v >= 100 ? v.toFixed(0) : String(Number(v.toPrecision(3)));
  const number = v => v >= 1e9 ? digits(v / 1e9) + ' G' : v >= 1e6 ? digits(v / 1e6) + ' M' : v >= 1e3 ? digits(v / 1e3) + ' k' : digits(v);
  const micros = us => us === null ? '–' : us < 1e3 ? digits(us) + ' µs' : us < 1e6 ? digits(us / 1e3) + ' ms' : digits(us / 1e6) + ' s';
  const span = ms => {
    const secs = Math.abs(ms) / 1000, whole = Math.floor(secs);
    if (secs < 10) return secs.toFixed(1) + ' s';
    if (secs < 60) return whole + ' s';
    if (secs < 3600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
    if (secs < 172_800) return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} m`;
    return Math.floor(secs / 86_400) + ' days';
  };
  const signed = ms => ms === null ? '–' : Math.abs(ms) < 50 ? 'now' : (ms < 0 ? '−' : '+') + span(ms);
  const plural = (n, unit) => `${n} ${unit}${n === 1 ? '' : 's'}`;
  const remaining = ms => ms >= 60_000 ? plural(Math.floor(ms / 60_000), 'more minute') : plural(Math.max(10, Math.floor(ms / 10_000) * 10), 'more second');
  const stamp = ms => Number.isFinite(ms) ? new Date(ms).toISOString().slice(0, 19).replace('T', ' ') : '–';
  const dated = text => typeof text === 'string' ? text.replace('T', ' ').replace('Z', ' UTC') : '–';

  // --- What is known ---

  let layout = null; // of /v1/layout: fields, and the tick in milliseconds
  let status = null; // of /v1/status, with the lane and trusted time
  let cluster = null; // of /v1/cluster: the last list, and when there was an answer
  let heard = 0, lost = 0; // performance.now() of the daemon's last answer, and of the first failure since
  let away = null; // since when, in trusted time, and why the coordinator does not answer
  let failures = 0; // of this page's own requests for the members: they are no refusals of a client
  let log = [];

  const millisOf = text => { // a duration as Go writes it
    const units = {h: 3.6e6, m: 6e4, s: 1e3, ms: 1, 'µs': 1e-3, us: 1e-3, ns: 1e-6};
    return [...text.matchAll(/([\d.]+)(ms|µs|us|ns|h|m|s)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0);
  };

  const get = async (path, limit = patience) => {
    const reply = await fetch(path, {cache: 'no-store', headers: {Accept: 'application/json'}, signal: AbortSignal.timeout(limit)});
    const body = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(body.detail || reply.statusText), {answered: true});
    return body;
  };

  const readLane = sections => {
    const of = sections.Worker, away = name => of[name] > 0 ? (of[name] - of.now) * layout.tick : null;
    return {
      state: of.state, worker: of.worker_id, claim: String(of.claim),
      floor: away('floor'), issued: away('issued'), ceiling: away('ceiling'), now: layout.begins + of.now * layout.tick,
      code: of.condition_code, text: of.condition, what: of.condition_do, ends: Date.parse(of.condition_ends),
    };
  };

  const askStatus = async () => {
    try {
      if (layout === null) {
        const is = await get('/v1/layout');
        layout = {...is, tick: millisOf(is.tick), begins: Date.parse(is.begins)};
      }
      const before = status, sections = await get('/v1/status');
      if (before !== null && before.version !== sections.Server.flakeward_version) {
        location.reload(); // the daemon was updated, and its page may be another
        return;
      }
      const lane = readLane(sections);
      status = {sections, lane, now: lane.now, version: sections.Server.flakeward_version, incarnation: sections.Server.incarnation};
      heard = performance.now();
      lost = 0;
      count(status);
      compare(before, status);
    } catch (why) {
      lost ||= performance.now();
    }
  };

  const askCluster = async () => {
    const begun = performance.now();
    try {
      const list = await get('/v1/cluster');
      if (away !== null) note('coordinator', 'the coordinator answers again');
      cluster = {list, at: performance.now(), took: performance.now() - begun};
      away = null;
    } catch (why) {
      if (status === null || lost !== 0) return; // it is the daemon that does not answer
      failures++;
      if (away === null) {
        away = {since: status.now};
        note('coordinator', 'the coordinator does not answer');
      }
      away.why = why.answered ? why.message : `no answer within ${patience / 1000} s`;
    }
  };

  // --- History ---

  const history = new Map(); // by the number of the cell
  let last = null; // the last sample

  const buckets = text => new Map(String(text || '').split(',').filter(Boolean).map(pair => pair.split('=').map(Number)));

  // count adds what happened since the last sample to the cell of now. After a gap, such as while the
  // tab was hidden or the daemon was away, it begins anew.
  const count = ({sections, incarnation}) => {
    const sample = {
      at: performance.now(), incarnation, ids: sections.Stats.total_ids_issued, refused: sections.Stats.total_error_replies - failures,
      took: buckets(sections.Stats.request_microseconds),
    };
    const before = last;
    last = sample;
    if (before === null || before.incarnation !== incarnation || sample.at - before.at > 2 * cellMillis) return;
    const at = Math.floor(sample.at / cellMillis);
    const cell = history.get(at) || empty();
    add(cell, since(before, sample));
    history.set(at, cell);
    for (const old of history.keys()) if (old <= at - cells) history.delete(old);
    last.cell = since(before, sample);
  };
  const empty = () => ({passed: 0, ids: 0, requests: 0, refused: 0, took: new Map()});
  const since = (before, now) => {
    const cell = {...empty(), passed: (now.at - before.at) / 1000, ids: now.ids - before.ids, refused: Math.max(0, now.refused - before.refused)};
    for (const [bound, n] of now.took) {
      const more = n - (before.took.get(bound) || 0);
      if (more > 0) cell.took.set(bound, more);
      cell.requests += more;
    }
    return cell;
  };
  const add = (cell, more) => {
    for (const name of ['passed', 'ids', 'requests', 'refused']) cell[name] += more[name];
    for (const [bound, n] of more.took) cell.took.set(bound, (cell.took.get(bound) || 0) + n);
  };
  const rate = (cell, n) => cell.passed > 0 ? n / cell.passed : 0;
  const quantile = (cell, q) => {
    let below = 0;
    for (const [bound, n] of [...cell.took].sort(([a], [b]) => a - b)) if ((below += n) >= q * cell.requests) return bound;
    return null;
  };

  // --- What happened ---

  const note = (code, text, what = '') => {
    const at = status.now, same = log.find(e => e.code === code && e.text === text && Math.abs(at - e.at) <= sameFor);
    log = [{at, code, text, what, n: same ? same.n + 1 : 1}, ...log.filter(e => e !== same)].slice(0, mostEntries);
  };

  const answers = {
    answered_sleep: ['guard-sleep', 'requests slept until the clock had reached the tick of the last ID'],
    answered_ring: ['guard-ring', 'requests got numbers that earlier ticks had left'],
    answered_release: ['guard-re-lease', 'the clock was too far behind: the daemon asked for another worker ID'],
    answered_backfill: ['guard-backfill', 'the coordinator was away: requests got numbers that any tick of the grant had left'],
    answered_wait: ['guard-wait', 'requests waited for the clock, or were refused'],
  };

  const compare = (before, now) => {
    if (before === null) return;
    const was = before.sections, is = now.sections;
    if (before.incarnation !== now.incarnation) {
      note('start', 'the daemon started anew');
      return;
    }
    for (const [field, text] of [['clock_steps_ahead', 'the clock stepped ahead'], ['clock_steps_back', 'the clock stepped back']]) {
      if (is.Clock[field] > was.Clock[field]) note('clock-step', text);
    }
    if (is.Clock.clock_state !== was.Clock.clock_state) note('clock-' + is.Clock.clock_state, 'the clock is ' + clockWords[is.Clock.clock_state], is.Clock.clock_condition_do);
    for (const [field, [code, text]] of Object.entries(answers)) if (is.Guard[field] > was.Guard[field]) note(code, text);
    const l = now.lane, old = before.lane;
    if (l.worker >= 0 && old.worker >= 0 && l.worker !== old.worker) note('re-lease', `went from worker ID ${old.worker} to ${l.worker}`);
    if (l.code && l.code !== old.code) note(l.code, l.text, l.what);
    if (!l.code && old.code) note(old.code, 'this is over');
  };

  // --- The state ---

  const clockWords = {followed: 'followed', held: 'held: it stepped ahead and is not trusted'};
  const serves = l => l.state === 'ready' || l.state === 'clock-behind';

  // headline is what the page says first: [kind, text].
  const headline = () => {
    if (status === null) return lost ? ['bad', 'The daemon does not answer'] : ['none', 'Asking the daemon'];
    if (lost !== 0) return ['bad', 'The daemon does not answer'];
    const {sections, lane, now} = status, state = lane.state, clock = sections.Clock.clock_state;
    if (state === 'starting') return ['bad', 'Cannot issue IDs yet: the daemon is starting'];
    if (state === 'unavailable') return ['bad', 'Cannot issue IDs: no worker ID'];
    if (!serves(lane)) return ['bad', 'Cannot issue IDs: the grant has ended, or the clock is behind'];
    if (!Number.isNaN(lane.ends)) return ['warn', `Issuing IDs, for ${remaining(lane.ends - now)}`];
    if (clock === 'held') return ['warn', 'Issuing IDs; the clock is held'];
    if (state === 'clock-behind') return ['warn', 'Issuing IDs; the clock is behind the last one'];
    const kind = away !== null || lane.code ? 'warn' : 'good';
    return [kind, 'Issuing IDs'];
  };

  const conditions = () => {
    if (status === null) return [];
    if (lost !== 0) return [{code: 'no-answer', where: '', text: `since ${span(performance.now() - lost)}; what is below is as of its last answer`, what: 'see whether it runs: systemctl status flakeward, and its log'}];
    const clock = status.sections.Clock;
    const {code, text, what} = status.lane, list = code ? [{code, where: '', text, what}] : [];
    if (clock.clock_condition_code && !list.some(c => c.code === clock.clock_condition_code)) {
      list.push({code: clock.clock_condition_code, where: 'clock', what: clock.clock_condition_do,
        text: `it is ${span(clock.clock_ahead_ms)} ahead since ${dated(clock.clock_held_since)}${clock.clock_condition ? ': ' + clock.clock_condition : ''}`});
    }
    return list;
  };

  const showState = () => {
    const [kind, text] = headline();
    $('state').className = 'state ' + kind;
    say($('headline'), text);
    const list = conditions();
    put($('conditions'), list.length === 0 ? null : h('ul', {class: 'conditions'}, list.map(c => h('li', {},
      c.what ? h('p', {class: 'do'}, 'What to do: ' + c.what) : null,
      h('p', {}, h('code', {class: 'code'}, c.code), ` ${c.where ? c.where + ': ' : ''}${c.text}`)))));
    if (status === null) return;
    const {Clock: clock, Cluster: of, Server: server} = status.sections;
    document.title = `${kind === 'good' ? '' : '⚠ '}flakeward on ${server.host}`;
    say($('host'), String(server.host));
    say($('version'), String(server.flakeward_version));
    say($('layout'), String(of.layout));
    const followed = clock.clock_state === 'held' ? `held: ${span(clock.clock_ahead_ms)} ahead and not trusted`
      : clock.clock_state === 'followed' && clock.clock_synchronised ? `followed, synchronised to ${digits(clock.clock_max_error_ms)} ms` : clockWords[clock.clock_state];
    const answer = away !== null ? h('span', {class: 'bad'}, 'does not answer since ' + stamp(away.since).slice(11))
      : cluster === null ? 'not asked yet' : 'answers in ' + micros(cluster.took * 1000);
    const days = of.layout_days_left;
    put($('facts'), terms([
      ['Trusted time (UTC)', h('span', {class: 'num'}, stamp(status.now))], ['Clock', followed],
      ['Coordinator', answer, h('br'), h('code', {}, String(of.coordinator))],
      ['IDs are unique', of.unique_within === 'cluster' ? 'in this cluster' : 'on this host only', h('br'), h('code', {}, String(of.cluster_id))],
      ['Layout ends in', days >= 731 ? Math.floor(days / 365.2425) + ' years' : days + ' days'],
    ]));
  };

  // --- The clock's line ---

  // place is where something is on the line, in per cent: now in the middle, an hour at either end,
  // and each decade of time as wide as the next.
  const place = ms => {
    const decades = d => Math.log10(1 + d / 100), end = 3.6e6;
    return Math.round((50 + Math.sign(ms) * decades(Math.min(Math.abs(ms), end)) / decades(end) * 50) * 100) / 100;
  };
  const anchor = x => x < 15 ? 'start' : x > 85 ? 'end' : 'middle';
  const axis = [[-3.6e6, '−1 h', ''], [-6e4, '−1 min', 'roomy'], [-1e4, '−10 s', 'narrow'], [-1e3, '−1 s', 'roomy'], [0, 'now', ''],
    [1e3, '+1 s', 'roomy'], [1e4, '+10 s', 'narrow'], [6e4, '+1 min', 'roomy'], [3.6e6, '+1 h', '']];

  const line = (l, held) => {
    const sign = (name, ms, words, y) => ms === null ? [] : [
      s('rect', {class: name, x: place(ms) + '%', y: 30, width: 4, height: 26, rx: 2}),
      s('text', {class: name, x: place(ms) + '%', y, 'text-anchor': anchor(place(ms))}, `${words} ${signed(ms)}`)];
    return h('div', {class: 'line'},
      s('svg', {width: '100%', height: 108},
        s('rect', {class: 'track', x: 0, y: 36, width: '100%', height: 14, rx: 7}),
        s('rect', {class: 'granted', x: '50%', y: 36, width: Math.max(0, place(l.ceiling ?? 0) - 50) + '%', height: 14}),
        s('rect', {class: 'now', x: '50%', y: 28, width: 2, height: 30}),
        sign('floor', l.floor, 'floor', 104), sign('issued', l.issued, 'last ID', 72), sign('ceiling', l.ceiling, 'ceiling', 88),
        sign('held', held, 'clock', 11)));
  };

  const showClock = () => {
    const {lane, sections} = status, held = sections.Clock.clock_state === 'held' ? sections.Clock.clock_ahead_ms : null;
    put($('clock'),
      h('div', {class: 'lines', 'aria-hidden': true}, line(lane, held),
        s('svg', {class: 'axis', width: '100%', height: 20}, axis.map(([ms, text, where]) => s('text', {x: place(ms) + '%', y: 14, 'text-anchor': anchor(place(ms)), class: where || null}, text)))),
      table('As a table', [['Worker ID'], ['State'], ['Floor', 1], ['Last ID', 1], ['Ceiling', 1]], [{list: [
        lane.worker < 0 ? 'none' : String(lane.worker), pill(String(lane.state), serves(lane) ? 'good' : 'bad'),
        ...[lane.floor, lane.issued, lane.ceiling].map(signed)]}]),
      h('p', {class: 'note'}, 'Times are from now. The daemon issues IDs above the floor, up to the coordinator’s ceiling.'));
  };

  // --- Traffic ---

  const top = highest => {
    if (highest <= 0) return 1;
    const power = 10 ** Math.floor(Math.log10(highest));
    return [1, 2, 5, 10].map(m => m * power).find(m => highest <= m);
  };
  // path is a line through heights from 0 to 1; null: there is none. Filled, it goes down to the base.
  const path = (heights, filled) => {
    let text = '', up = false;
    heights.forEach((height, i) => {
      if (height !== null) {
        const y = Math.round((1 - Math.min(height, 1)) * 580) / 10 + 1;
        text += (up ? '' : filled ? `M${i} 60L` : 'M') + (up ? 'L' : '') + `${i} ${y}` + `H${i + 1}`;
      } else if (up && filled) {
        text += 'V60';
      }
      up = height !== null;
    });
    return text + (up && filled ? 'V60' : '');
  };
  const decades = us => us === null ? null : Math.max(0, Math.log10(us) / 7); // from 1 µs to 10 s
  const chart = (title, label, lines, ...paths) => h('figure', {}, h('figcaption', {}, title),
    h('div', {class: 'scaled', role: 'img', 'aria-label': label},
      s('svg', {'aria-hidden': true, class: 'chart', viewBox: '0 0 180 60', preserveAspectRatio: 'none'}, s('path', {class: 'grid', d: 'M0 1H180M0 59H180M60 0V60M120 0V60' + lines.map(([y]) => `M0 ${y}H180`).join('')}), paths),
      s('svg', {'aria-hidden': true, class: 'scale', width: '100%', height: 84}, lines.map(([y, text]) => s('text', {x: 2, y: y * 1.4 - 3}, text)))));

  const showTraffic = () => {
    const at = Math.floor(performance.now() / cellMillis), list = Array.from({length: cells}, (_, i) => history.get(at - cells + 1 + i) || null);
    const now = last?.cell || empty(), newest = [...history.values()].at(-1) || empty(), known = list.filter(Boolean);
    const end = top(Math.max(0, ...known.map(c => rate(c, c.ids)))), rates = list.map(c => c && rate(c, c.ids) / end);
    const of = q => list.map(c => c && decades(quantile(c, q)));
    const minutes = [];
    for (let ago = 0; ago < 15; ago++) {
      const sum = empty(), part = list.slice(cells - 12 * (ago + 1), cells - 12 * ago).filter(Boolean);
      part.forEach(c => add(sum, c));
      if (part.length > 0) minutes.push({list: [String(ago), number(rate(sum, sum.ids)), number(rate(sum, sum.requests)), micros(quantile(sum, .5)), micros(quantile(sum, .99)), String(sum.refused)]});
    }
    const median = micros(quantile(newest, .5)), slow = micros(quantile(newest, .99));
    put($('traffic'),
      h('dl', {class: 'figures num'}, terms([['IDs/s', number(rate(now, now.ids))], ['Requests/s', number(rate(now, now.requests))],
        [[h('span', {class: 'key p50'}), 'Median'], median], [[h('span', {class: 'key p99'}), '99th'], slow], ['Refused', number(known.reduce((n, c) => n + c.refused, 0))]])),
      chart(`IDs a second, up to ${number(end)}`, `IDs a second, now ${number(rate(now, now.ids))}`, [[30, '']], s('path', {class: 'fill', d: path(rates, true)}), s('path', {class: 'rate', d: path(rates, false)})),
      chart('Time that requests for IDs took, up to 10 s', `Median ${median}, 99th of 100 ${slow}`, [[9.3, '1 s'], [34.1, '1 ms'], [59, '1 µs']],
        s('path', {class: 'p99', d: path(of(.99), false)}), s('path', {class: 'p50', d: path(of(.5), false)})),
      h('p', {class: 'ends'}, h('span', {}, '15 min ago'), h('span', {}, '10'), h('span', {}, '5'), h('span', {}, 'now')),
      h('details', {}, h('summary', {}, 'By the minute'), table('The last 15 minutes as a table', [['Minutes ago'], ['IDs/s', 1], ['Requests/s', 1], ['Median', 1], ['99th', 1], ['Refused', 1]], minutes)));
  };

  // --- Events and members ---

  const showLog = () => put($('log'), log.length === 0
    ? h('p', {class: 'note'}, 'Nothing has happened since this page was opened: no step of the clock, no change of a worker ID, no condition.')
    : h('ol', {class: 'log', tabindex: 0, 'aria-label': 'What happened, the newest first'}, log.map(e => h('li', {},
      h('p', {}, h('time', {class: 'num dim'}, stamp(e.at)), ' ', h('code', {class: 'code'}, e.code), e.n > 1 ? h('span', {class: 'dim'}, ` ${e.n} times`) : null),
      h('p', {}, e.text, e.what && e.what !== 'nothing' ? h('span', {class: 'dim'}, `. What to do: ${e.what}`) : null)))));

  const memberKinds = {granted: 'good', stopped: 'plain', opening: 'plain'};
  const memberWords = {stopped: 'grant ended'};
  const seconds = (value, sign) => value === null || value === undefined ? '–' : signed(value * sign * 1000);

  const showMembers = () => {
    const error = away === null ? null : h('p', {class: 'bad'}, 'The coordinator does not answer: ' + away.why);
    if (cluster === null) {
      put($('members'), error || h('p', {class: 'note'}, 'Not asked yet.'));
      return;
    }
    const all = cluster.list.members, own = claim => String(claim) === status.lane.claim;
    const rows = all.slice(0, mostMembers).map(m => ({own: own(m.claim), list: [
      String(m.worker), own(m.claim) ? [m.host, ' ', h('span', {class: 'dim'}, '(here)')] : m.host, pill(memberWords[m.state] || m.state, memberKinds[m.state] || 'bad'),
      seconds(m.ceiling_left_seconds, 1), seconds(m.issued_age_seconds, -1), seconds(m.age_seconds, -1), m.version]}));
    const more = all.length > mostMembers ? ` ${all.length - mostMembers} more: see flakeward status --cluster.` : '';
    put($('members'), error,
      table('Members as a table', [['Worker ID'], ['Host'], ['State'], ['Ceiling', 1], ['Last ID', 1], ['Claimed', 1], ['Version']], rows),
      h('p', {class: 'note'}, `As they have published, ${span(performance.now() - cluster.at)} ago.${more}`));
  };

  const show = () => {
    const live = lost === 0 && status !== null;
    say($('link'), live ? 'live' : status === null ? 'connecting' : 'not connected: as of ' + stamp(status.now).slice(11));
    $('link').classList.toggle('live', live);
    showState();
    if (status === null) return;
    showClock();
    showTraffic();
    showLog();
    showMembers();
  };

  // --- An ID ---

  const pasted = (text, as) => {
    const bare = text.replace(/^[\s"'`,;{}]+|[\s"'`,;{}]+$/g, '');
    return as === '' && bare.split('-').length === 5 ? bare.toLowerCase() : bare; // a UUID
  };
  const meaning = (field, of) => ({
    time: () => `${dated(of.time)}, ${signed(Date.parse(of.time) - (status?.now ?? Date.now())).replace(/^([−+])(.*)$/, (_, way, d) => d + (way === '−' ? ' ago' : ' from now'))}`,
    worker: () => 'the worker ID that issued it', sequence: () => 'its number in the tick', datacenter: () => 'the cluster’s datacenter',
    tenant: () => 'the tenant',
  }[field] || (() => ''))();

  const decode = async () => {
    const form = $('ask').elements, as = form.as.value, text = pasted(form.id.value, as);
    if (text === '') return;
    try {
      const of = await get('/v1/ids/' + encodeURIComponent(text) + (as ? '?as=' + as : ''));
      const {fields} = layout || await get('/v1/layout'), id = BigInt(of.id);
      const parts = fields.map(f => ({...f, value: BigInt.asUintN(f.bits, id >> BigInt(f.shift))}));
      put($('apart'),
        of.may_be_rounded ? h('p', {class: 'bad'}, 'This ID may be rounded: a program may have read it as a floating-point number, which JavaScript does.') : null,
        h('p', {class: 'bits', 'aria-hidden': true}, parts.map(f => h('span', {class: 'f-' + f.field}, f.value.toString(2).padStart(f.bits, '0')))),
        table('Fields of the ID', [['Field'], ['Bits', 1], ['Value', 1], ['Meaning']], parts.map(f => ({list: [h('span', {class: 'f-' + f.field}, f.field), String(f.bits), String(f.value), meaning(f.field, of)]}))),
        h('p', {class: 'note'}, 'For the host and the run of its daemon that issued it: ', h('code', {}, 'flakeward explain ' + of.id)));
    } catch (why) {
      put($('apart'), h('p', {class: 'bad'}, why.answered ? why.message : 'The daemon does not answer.'));
    }
  };

  $('ask').addEventListener('submit', event => {
    event.preventDefault();
    window.history.replaceState(null, '', '/?' + new URLSearchParams(new FormData($('ask'))));
    decode();
  });
  $('id').addEventListener('paste', () => setTimeout(() => $('ask').reportValidity() && $('ask').requestSubmit()));
  const asked = new URLSearchParams(location.search);
  if (asked.get('id')) {
    $('id').value = asked.get('id');
    if ([...$('as').options].some(o => o.value === asked.get('as'))) $('as').value = asked.get('as');
    decode();
  }

  // --- The loop ---

  // follow asks, shows, and asks again a second after it asked last, while the page is visible.
  const follow = ask => {
    let timer = 0, busy = false;
    const turn = async () => {
      clearTimeout(timer);
      if (busy || document.hidden) return;
      busy = true;
      const begun = performance.now();
      await ask();
      busy = false;
      show();
      timer = setTimeout(turn, Math.max(0, every - (performance.now() - begun)));
    };
    document.addEventListener('visibilitychange', turn);
    turn();
  };
  follow(askStatus);
  follow(askCluster);
}
