// The alerts. docs/operations.md has a section for each, by its name.
{
  local c = $._config,
  local oneOf(values) = std.join('|', values),

  local alert(name, severity, wait, summary, expr) = {
    alert: name,
    expr: expr,
    [if wait != '0s' then 'for']: wait,
    labels: { severity: severity },
    annotations: {
      summary: summary,
      runbook_url: '%s#%s' % [c.runbook, std.asciiLower(name)],
    },
  },

  prometheusAlerts+:: {
    groups+: [{
      name: 'flakeward-alerts',
      rules: [
        alert(
          'FlakewardNotIssuing',
          'critical',
          '1m',
          '{{ $labels.instance }} cannot issue IDs.',
          'flakeward_ready{%s} == 0' % c.selector
        ),
        alert(
          'FlakewardGrantEndsSoon',
          'warning',
          '1m',
          '{{ $labels.instance }} runs out of IDs in {{ $value | humanizeDuration }}, which is less than half of what it may have.',
          // A grant reaches as far ahead as the process is old, at most a window.
          |||
            instance:flakeward_grant_left_seconds:min{%(s)s} < on (job, instance) flakeward_window_seconds{%(s)s} / 2
            and
            instance:flakeward_grant_left_seconds:min{%(s)s} < on (job, instance) (flakeward_clock_timestamp_seconds{%(s)s} - process_start_time_seconds{%(s)s}) / 2
          ||| % { s: c.selector }
        ),
        alert(
          'FlakewardLayoutEnds',
          'warning',
          '1h',
          'The layout of {{ $labels.instance }} ends in {{ $value | humanizeDuration }}.',
          'flakeward_layout_end_timestamp_seconds{%s} - flakeward_clock_timestamp_seconds{%s} < %d' % [c.selector, c.selector, c.layoutLeftSeconds]
        ),
        alert(
          'FlakewardWorkerIDsScarce',
          'warning',
          '10m',
          '{{ $value | humanizePercentage }} of the worker IDs of cluster {{ $labels.cluster_id }} are in use.',
          'cluster_id:flakeward_worker_ids_held:ratio >= %g' % c.workerIDsHeld
        ),
        alert(
          'FlakewardClockHeld',
          'warning',
          '1m',
          'The clock of {{ $labels.instance }} is {{ $value | humanizeDuration }} ahead and not trusted.',
          'flakeward_clock_held_offset_seconds{%s} > 0' % c.selector
        ),
        alert(
          'FlakewardClockStepped',
          'warning',
          '0s',
          'The clock of {{ $labels.instance }} has stepped {{ $labels.direction }}.',
          'increase(flakeward_clock_steps_total{%s}[10m]) > 0' % c.selector
        ),
        alert(
          'FlakewardClockNotSynchronised',
          'warning',
          '10m',
          'The kernel of {{ $labels.instance }} reports that its clock is not synchronised.',
          'flakeward_clock_synchronised{%s} == 0' % c.selector
        ),
        alert(
          'FlakewardGuardInUse',
          'warning',
          '0s',
          'The clock of {{ $labels.instance }} is behind its last ID; the guard answers with {{ $labels.answer }}.',
          'increase(flakeward_guard_answers_total{%s, answer=~"ring|backfill|re-lease"}[10m]) > 0' % c.selector
        ),
        alert(
          'FlakewardWaitsTooLong',
          'warning',
          '5m',
          '{{ $labels.instance }} rejects {{ $value | humanize }} requests for IDs per second: {{ $labels.code }}.',
          'sum without (dialect, command) (rate(flakeward_requests_total{%s, command=~"%s", code=~"%s"}[5m])) > 0' % [c.selector, oneOf(c.idCommands), oneOf(c.unavailable)]
        ),
        alert(
          'FlakewardRequestsRefused',
          'info',
          '10m',
          '{{ $labels.instance }} rejects {{ $value | humanizePercentage }} of requests as invalid.',
          |||
            sum without (code) (instance_code:flakeward_requests:rate5m{%s, code!~"%s"})
            / sum without (code) (instance_code:flakeward_requests:rate5m{%s}) > %g
          ||| % [c.selector, oneOf(c.served + c.unavailable), c.selector, c.refusedRequests]
        ),
        alert(
          'FlakewardConnectionsRefused',
          'warning',
          '0s',
          '{{ $labels.instance }} rejects or closes connections: {{ $labels.reason }}.',
          'increase(flakeward_connections_refused_total{%s, reason=~"%s"}[10m]) > 0' % [c.selector, oneOf(c.connectionReasons)]
        ),
        alert(
          'FlakewardTwoClusters',
          'critical',
          '5m',
          '{{ $value }} clusters issue IDs with datacenter {{ $labels.datacenter }}: their IDs may collide.',
          'count by (datacenter) (count by (datacenter, cluster_id) (flakeward_cluster_info{%s, cluster_id!=""})) > 1' % c.selector
        ),
      ],
    }],
  },
}
