// What a site changes: override _config of mixin.libsonnet.
{
  _config+:: {
    // Which scrapes are flakeward's.
    selector: 'job="flakeward"',
    // Where the runbook is.
    runbook: 'https://github.com/flakeward/flakeward/blob/main/docs/operations.md',
    // How much of a cluster's worker IDs may be held.
    workerIDsHeld: 0.8,
    // The layout has to last longer than this: two years.
    layoutLeftSeconds: 2 * 365.25 * 24 * 3600,
    // How many of all requests may be refused for what they ask.
    refusedRequests: 0.01,
    // Commands that ask for IDs: Redis' protocol has them in capitals, gRPC as one word each. Others may be refused with
    // the same codes while IDs are to be had, as those that ask the coordinator.
    idCommands: [
      'NEXT',
      'RUN',
      'ids',
      'runs',
      'next',
      'run',
      'stream',
    ],
    // Codes of requests that got no ID because none could be had. Others are the client's mistakes.
    unavailable: [
      'unavailable',
      'starting',
      'coordinator-gone',
      'login-refused',
      'access-denied',
      'coordinator-restored',
      'cluster-replaced',
      'no-cluster',
      'cluster-exported',
      'claim-lost',
      'marks-raised',
      'worker-ids-taken',
      'worker-ids-ahead',
      'no-worker-id',
      'grant-ended',
      'clock-behind',
      'time-outside-layout',
      'floor-ahead',
      'tick-exhausted',
      'order',
    ],
    // Codes of requests that are no refusals, or have an alert of their own.
    served: ['ok', 'gone', 'declined'],
    // Reasons for which connections are refused or ended that an operator can do something about.
    connectionReasons: ['not-accepted', 'not-allowed', 'full', 'relieved', 'recycled', 'memory'],
  },
}
