// Recording rules: what alerts and dashboard ask for more than once.
{
  local selector = $._config.selector,

  prometheusRules+:: {
    groups+: [{
      name: 'flakeward',
      rules: [
        {
          record: 'instance:flakeward_ids_issued:rate5m',
          expr: 'rate(flakeward_ids_issued_total{%s}[5m])' % selector,
        },
        {
          record: 'instance_code:flakeward_requests:rate5m',
          expr: 'sum without (dialect, command) (rate(flakeward_requests_total{%s}[5m]))' % selector,
        },
        {
          record: 'instance:flakeward_request_duration_seconds:p99_5m',
          expr: 'histogram_quantile(0.99, rate(flakeward_request_duration_seconds_bucket{%s}[5m]))' % selector,
        },
        {
          // Trusted time and not Prometheus' time: a daemon goes by that.
          record: 'instance:flakeward_grant_left_seconds:min',
          expr: 'flakeward_ceiling_timestamp_seconds{%s} - flakeward_clock_timestamp_seconds{%s}' % [selector, selector],
        },
        {
          record: 'cluster_id:flakeward_worker_ids_held:ratio',
          expr: |||
            sum by (cluster_id) (flakeward_worker_ids_held{%(s)s} * on (job, instance) group_left (cluster_id) flakeward_cluster_info{%(s)s})
            /
            max by (cluster_id) (flakeward_worker_ids{%(s)s} * on (job, instance) group_left (cluster_id) flakeward_cluster_info{%(s)s})
          ||| % { s: selector },
        },
      ],
    }],
  },
}
