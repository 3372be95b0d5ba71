// The dashboard, for Grafana 9 and later.
{
  local c = $._config,
  local selector = '%s, instance=~"$instance"' % c.selector,

  local target(legend, expr) = {
    datasource: { type: 'prometheus', uid: '$datasource' },
    expr: expr % { s: selector },
    legendFormat: legend,
  },
  local panel(title, unit, help, targets) = {
    type: 'timeseries',
    title: title,
    description: help,
    datasource: { type: 'prometheus', uid: '$datasource' },
    fieldConfig: { defaults: { unit: unit, min: 0, custom: { fillOpacity: 8, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: [targets[i] { refId: std.char(65 + i) } for i in std.range(0, std.length(targets) - 1)],
  },
  local row(title, panels) = [{ type: 'row', title: title, collapsed: false, panels: [] }] + panels,

  local panels =
    row('Issuing', [
      panel('IDs', 'ops', 'IDs issued in a second.', [target('{{instance}}', 'instance:flakeward_ids_issued:rate5m{%(s)s}')]),
      panel('Requests', 'reqps', 'Requests in a second, by what they came to.', [target('{{instance}} {{code}}', 'instance_code:flakeward_requests:rate5m{%(s)s}')]),
      panel('Duration', 's', 'How long requests for IDs take.', [
        target('{{instance}} {{dialect}} p99', 'instance:flakeward_request_duration_seconds:p99_5m{%(s)s}'),
        target('{{instance}} {{dialect}} p50', 'histogram_quantile(0.5, rate(flakeward_request_duration_seconds_bucket{%(s)s}[5m]))'),
      ]),
      panel('Waits', 'reqps', 'Requests that had to wait, by what for.', [
        target('{{instance}} {{reason}}', 'rate(flakeward_request_waits_total{%(s)s}[5m])'),
        target('{{instance}} waiting now', 'flakeward_requests_waiting{%(s)s}'),
      ]),
      panel('Burnt', 'ops', 'IDs that went to nobody.', [target('{{instance}}', 'rate(flakeward_ids_burnt_total{%(s)s}[5m])')]),
      panel('Users', 'ops', 'IDs that each user with a rate takes.', [target('{{instance}} {{uid}}', 'rate(flakeward_user_ids_total{%(s)s}[5m])')]),
    ]) +
    row('Marks', [
      panel('Grant left', 's', 'Until when IDs can be issued without the coordinator.', [
        target('{{instance}}', 'instance:flakeward_grant_left_seconds:min{%(s)s}'),
        target('{{instance}} window', 'flakeward_window_seconds{%(s)s}'),
      ]),
      panel('Since the last publish', 's', 'A daemon that nobody asks publishes when half of its grant is left.', [
        target('{{instance}}', 'flakeward_clock_timestamp_seconds{%(s)s} - flakeward_published_timestamp_seconds{%(s)s}'),
      ]),
      panel('Ready', 'none', 'Whether the daemon can issue, and its conditions.', [
        target('{{instance}} ready', 'flakeward_ready{%(s)s}'),
        target('{{instance}} {{code}}', 'flakeward_in_condition{%(s)s} > 0'),
      ]),
      panel('Coordinator, duration', 's', 'The slowest of a hundred calls.', [
        target('{{instance}} {{call}}', 'histogram_quantile(0.99, rate(flakeward_coordinator_call_duration_seconds_bucket{%(s)s}[5m]))'),
      ]),
      panel('Coordinator, outcomes', 'ops', 'Calls that did not end with ok.', [
        target('{{instance}} {{call}} {{outcome}}', 'rate(flakeward_coordinator_calls_total{%(s)s, outcome!="ok"}[5m])'),
      ]),
      panel('Worker IDs held', 'percentunit', 'Of each cluster, by the daemons that are scraped.', [target('{{cluster_id}}', 'cluster_id:flakeward_worker_ids_held:ratio')]),
      panel('Layout ends in', 's', 'When the layout has no time left.', [
        target('{{instance}}', 'flakeward_layout_end_timestamp_seconds{%(s)s} - flakeward_clock_timestamp_seconds{%(s)s}'),
      ]),
    ]) +
    row('Clock', [
      panel('Held', 's', 'By how much a clock is ahead and not believed.', [target('{{instance}}', 'flakeward_clock_held_offset_seconds{%(s)s}')]),
      panel('Error', 's', "The kernel's bound on the clock's error.", [target('{{instance}}', 'flakeward_clock_error_bound_seconds{%(s)s}')]),
      panel('Steps', 'none', 'Steps of the clock in five minutes.', [target('{{instance}} {{direction}}', 'increase(flakeward_clock_steps_total{%(s)s}[5m])')]),
      panel('Guard', 'ops', 'What the guard decides for requests that find the clock behind.', [target('{{instance}} {{answer}}', 'rate(flakeward_guard_answers_total{%(s)s}[5m])')]),
      panel('Events', 'none', 'What the log has with a code, in five minutes.', [target('{{instance}} {{code}}', 'increase(flakeward_events_total{%(s)s}[5m]) > 0')]),
    ]) +
    row('Limits', [
      panel('Connections', 'none', 'Open connections, and how many there may be.', [
        target('{{instance}}', 'flakeward_connections{%(s)s}'),
        target('{{instance}} limit', 'flakeward_connections_limit{%(s)s}'),
      ]),
      panel('Connections refused', 'ops', 'Connections that were refused or ended.', [target('{{instance}} {{reason}}', 'rate(flakeward_connections_refused_total{%(s)s}[5m])')]),
      panel('Memory', 'bytes', 'What the process has, and what is kept for clients.', [
        target('{{instance}} process', 'process_resident_memory_bytes{%(s)s}'),
        target('{{instance}} clients', 'flakeward_clients_memory_bytes{%(s)s}'),
        target('{{instance}} limit', 'flakeward_memory_limit_bytes{%(s)s}'),
      ]),
      panel('Log lines dropped', 'ops', 'Lines of the log that could not be written.', [target('{{instance}}', 'rate(flakeward_log_lines_dropped_total{%(s)s}[5m])')]),
    ]),

  // Three panels side by side, each row of panels below a heading.
  local place(state, p) =
    if p.type == 'row' then
      local y = state.y + (if state.x > 0 then 8 else 0);
      { x: 0, y: y + 1, placed: state.placed + [p { gridPos: { x: 0, y: y, w: 24, h: 1 }, id: std.length(state.placed) + 1 }] }
    else
      local last = state.x == 16;
      {
        x: if last then 0 else state.x + 8,
        y: if last then state.y + 8 else state.y,
        placed: state.placed + [p { gridPos: { x: state.x, y: state.y, w: 8, h: 8 }, id: std.length(state.placed) + 1 }],
      },

  grafanaDashboards+:: {
    'flakeward.json': {
      uid: 'flakeward',
      title: 'flakeward',
      tags: ['flakeward'],
      schemaVersion: 36,
      editable: true,
      refresh: '30s',
      time: { from: 'now-1h', to: 'now' },
      templating: { list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' },
        {
          name: 'instance',
          type: 'query',
          label: 'daemon',
          datasource: { type: 'prometheus', uid: '$datasource' },
          query: 'label_values(flakeward_build_info{%s}, instance)' % c.selector,
          refresh: 2,
          multi: true,
          includeAll: true,
          current: { text: 'All', value: '$__all' },
        },
      ] },
      panels: std.foldl(place, panels, { x: 0, y: 0, placed: [] }).placed,
    },
  },
}
