import type { ReplayCacheMetric } from '../../lambdas/authority/contract.ts';
import type { CountedMetric, JobMetric } from '../../lambdas/jobs/contract/runs.ts';
import type { EventMetric } from '../../lambdas/kernel/contract/events.ts';
import type {
  AlarmMetric,
  ArchiveMetric,
  FUNCTION_FAILED,
  OutboundMetric,
  TENANT_LIMITED,
} from '../../lambdas/kernel/contract/metrics.ts';
import type { RequestCount } from '../../lambdas/kernel/platform/telemetry.ts';
import type { PurgeMetric } from '../../lambdas/operators/contract.ts';
import type { CarryMetric } from '../../lambdas/postgres/contract.ts';
import type { BooksMetric } from '../../lambdas/reconciliation/contract.ts';
import type { BacklogMetricName } from '../../lambdas/resolving/contract.ts';

type Unit = 'count' | 'milliseconds';
type Meaning = string | { readonly unit: Unit; readonly meaning: string };
type ValueOf<T> = T[keyof T];

const REQUESTS: Readonly<
  Record<Exclude<RequestCount, AlarmMetric | ArchiveMetric | ValueOf<typeof EventMetric>>, Meaning>
> = {
  first: 'Requests that were executed for the first time and stored a response.',
  replay: 'Requests that got a stored response from the table.',
  replay_warm: 'Requests that got a stored response from the memory of the process (payments and their changes).',
  replay_missed:
    'Repeated requests without a stored response: it had expired, or was deleted. They get 409 `idempotency_key_expired` and have no effect.',
  in_progress: 'Requests that were refused with `idempotency_key_in_progress`.',
  mismatch: 'Requests that were refused with `idempotency_key_payload_mismatch`.',
  unknown: 'Requests whose outcome was unknown at the time of the response (202).',
  takeover: 'Claims that a new owner took over after their lease had ended, or after they were released or lost.',
  fenced: 'Commits that were rejected because a rival had taken over the claim.',
  unavailable: 'Requests that got 503, and queue entries that the resolver could not process.',
  failure: 'Requests that got 500.',
  rate_limited: 'Requests that got 429 because the limit of their tenant was used up.',
  callback_recorded: 'Callbacks that were recorded with their effect.',
  callback_redelivered: 'Callbacks that were already recorded.',
  callback_orphaned: 'Callbacks without a matching payment, stored as orphans.',
  callback_refused: 'Callbacks with an invalid signature (401).',
  orphan_adopted: 'Orphans whose payment was found.',
  orphan_given_up: 'Orphans whose payment was not found within 24 hours.',
  resolved: 'Queue entries that the resolver finished.',
  webhook_delivered: 'Attempts for which the merchant’s endpoint returned 2xx.',
  webhook_attempt_failed: 'Attempts that failed; a later attempt follows unless it was the last one.',
  webhook_dropped: 'Deliveries that were canceled because their endpoint was deleted or disabled.',
  webhook_swept: 'Due deliveries and replays that the sweep put into the queue.',
  webhook_endpoint_disabled: 'Endpoints that were disabled because they failed for three days or returned 410.',
};

const LIMITS: Readonly<Record<typeof TENANT_LIMITED, Meaning>> = {
  tenant_limited: 'Requests that got 429 because the limit of their tenant was used up.',
};

const ALARMS: Readonly<Record<AlarmMetric, Meaning>> = {
  late_success:
    'Charges that took or held money for a payment that had ended, or in addition to the payment’s own charge.',
  contradiction: 'Facts from a processor that contradict the known state of a payment.',
  undecidable:
    'Changes, voids of holds, and refunds of stray charges, if their outcome cannot be determined; unreadable queue rows; and abandoned callbacks about unknown payments or charges.',
  order_needs_review:
    'Orders whose payment has an outcome that cannot be determined, or whose reversal does not complete.',
  messages_wait:
    'Deliveries of messages that were enqueued more than half an hour earlier, and webhooks that have been due for as long. Only with `service` = `alarms`.',
};

const EVENTS: Readonly<Record<ValueOf<typeof EventMetric>, Meaning>> = {
  event_published: 'Events that the bus accepted.',
  event_publish_failed: 'Batches of the Stream with an event that the bus refused; Lambda retries them.',
  event_consumed: 'Events that took effect at a consumer.',
  event_consumed_before: 'Redelivered events that had already taken effect.',
  event_consume_failed:
    'Messages whose handler failed, or that another delivery was processing; the queue redelivers them.',
  event_parked:
    'Records and messages that were parked, for example because they are unreadable, the bus refused them, or a bug prevented their processing.',
  ledger_tampered: 'Ledger rows that were changed or removed.',
  payment_to_review: 'Payments that entered `needs_review`.',
  event_minutes_beyond_reach: 'Minutes that `republish-events` skipped because they are older than the 14-day horizon.',
  event_age: { unit: 'milliseconds', meaning: 'Age of the oldest event of a batch, counted from its transition.' },
};

const ARCHIVE: Readonly<Record<ArchiveMetric, Meaning>> = {
  archive_listed: 'Hourly runs after which the manifests list every object that had arrived in the archive.',
  archive_stopped:
    'Hourly checks that found archiving stopped: an outcome is older than an hour, but newer than everything in the archive.',
  archive_differs:
    'Places at which a verification by the auditor found a difference. The log line `audited` names the first.',
};

const VENDORS: Readonly<Record<OutboundMetric, Meaning>> = {
  outbound_call: 'Calls that were sent for the first time.',
  outbound_retry: 'Later sends and look-ups for the same call.',
  outbound_probe: 'Reads that test whether a vendor is available again while its breaker is open.',
  outbound_gave_up: 'Calls that ended without success.',
  outbound_capped:
    'E-mails that were not sent, because the recipient had already received the daily maximum from the tenant. The log line `email_capped` names the tenant.',
  outbound_breaker_opened: 'Times that the breaker opened. Processors are counted under their name.',
  outbound_delayed:
    'Calls whose attempts in the calling process failed. A function makes one last attempt half a minute later.',
  outbound_dead_lettered: 'Calls that were stored as dead letters.',
  outbound_dead_letter_failed: 'Calls that could not be stored as dead letters, so their errors were thrown.',
};

const JOBS: Readonly<Record<CountedMetric, Meaning>> = {
  job_failed:
    'Runs that were abandoned: they took too long, got no lock, crashed their workers, or could not read a page of items.',
  job_item_failed: 'Items that failed and were reported; a later run processes them again.',
  job_item_skipped: 'Items that were skipped because their worker crashed or timed out repeatedly.',
  job_fenced: 'Writes of a worker that were rejected because another worker had taken over.',
};

const OVERDUE: Readonly<Record<typeof JobMetric.overdue, Meaning>> = {
  jobs_overdue: 'Jobs without a successful run in time. Reported every five minutes.',
};

const FUNCTIONS: Readonly<Record<typeof FUNCTION_FAILED, Meaning>> = {
  function_failed:
    'Executions that ended with an error, a crash or a timeout, counted from Lambda’s platform log lines.',
};

const BACKLOG: Readonly<Record<BacklogMetricName, Meaning>> = {
  open_claims:
    'Claims without an active owner: their lease has ended, or they were released and the send window has closed.',
  oldest_open_claim: {
    unit: 'milliseconds',
    meaning: 'Age of the oldest claim in `open_claims`; 0 if there is none.',
  },
  unknown_outcomes:
    'Payments and changes that got 202 and whose outcome is still unknown, except those that wait for the payer.',
  oldest_unknown_outcome: {
    unit: 'milliseconds',
    meaning: 'Age of the oldest entry in `unknown_outcomes`, counted from its claim; 0 if there is none.',
  },
};

const COPIES: Readonly<Record<ValueOf<typeof CarryMetric>, Meaning>> = {
  oldest_uncopied: {
    unit: 'milliseconds',
    meaning: 'Age of the oldest PostgreSQL row not yet copied to DynamoDB; 0 if there is none.',
  },
  copies_stopped:
    'Payments and orders whose copying has stopped, because a row cannot be copied, or differs from the Ledger.',
};

const REPLAYS: Readonly<Record<ValueOf<typeof ReplayCacheMetric>, Meaning>> = {
  replay_cache_hits: 'Replays whose response was in the table ReplayCache.',
  replay_cache_missed: 'Replays whose response was read from PostgreSQL, because it was not in the table ReplayCache.',
  replay_cache_failed_writes: 'Responses that could not be written to the table ReplayCache.',
};

const BOOKS: Readonly<Record<ValueOf<typeof BooksMetric> | ValueOf<typeof PurgeMetric>, Meaning>> = {
  mismatches: 'Confirmed differences between a processor and the Ledger. Reported after every comparison.',
  ttl_not_working: 'Tables whose time to live is disabled or does not keep up. Reported every night.',
  expired_left:
    'Expired records that a job purged, because time to live had not deleted them after four days. Reported every night.',
};

const GROUPS: readonly (readonly [
  title: string,
  dimensions: string,
  statistic: string,
  Readonly<Record<string, Meaning>>,
])[] = [
  ['Requests, callbacks and webhooks', '`service`: the function', 'Sum', REQUESTS],
  ['Limits of tenants', '`service` = `limits`; once without and once with `tenant`', 'Sum', LIMITS],
  ['For an operator', '`service`: once the function and once `alarms`', 'Sum', ALARMS],
  [
    'Events',
    '`service`: the relay, a consumer or `upkeep-jobs`; `payment_to_review` also `alarms`',
    'Sum; Maximum of `event_age`',
    EVENTS,
  ],
  ['Archive', '`service` = `archive-auditor`', 'Sum', ARCHIVE],
  ['Vendors and processors', '`service` = `vendors`, and `vendor`', 'Sum', VENDORS],
  [
    'Jobs',
    '`service` = `jobs`; once with `job`: the job’s id, and once with `frequency`: `minutes` or `hours`, how often it runs',
    'Sum',
    JOBS,
  ],
  ['Jobs that are overdue', '`service` = `jobs`', 'Maximum', OVERDUE],
  ['Functions', 'none', 'Sum', FUNCTIONS],
  ['Unfinished work', '`service` = `backlog`', 'Maximum', BACKLOG],
  ['Copies of PostgreSQL rows', '`service` = `copies`', 'Maximum', COPIES],
  ['Cache of responses', '`service` = `replay-cache`', 'Sum', REPLAYS],
  ['Books and tables', '`service` = `books`', 'Maximum', BOOKS],
];

/** A metric without a description in this file is a compile error. */
export function metricsPage(): string {
  const sections = GROUPS.map(([title, dimensions, statistic, metrics]) => {
    const rows = Object.entries(metrics).map(([name, meaning]) => {
      const description = typeof meaning === 'string' ? { unit: 'count', meaning } : meaning;
      return `| \`${name}\` | ${description.unit} | ${description.meaning} |`;
    });
    return [
      `## ${title}`,
      '',
      `Dimensions: ${dimensions}. Statistic: ${statistic}.`,
      '',
      '| metric | unit | meaning |',
      '|---|---|---|',
      ...rows,
    ].join('\n');
  });
  return [
    '# Metrics',
    '',
    'Written by `npm run generate` from `docs/generate/metrics.ts`. Do not edit this page.',
    '',
    'Functions publish metrics in the CloudWatch namespace `Payonce`, or `Payonce/<environment>` with the setting `environment`, as JSON',
    'lines in the embedded metric format. A count is written only when it is greater than 0; states (*Jobs that are overdue*, *Unfinished work*,',
    '*Copies of PostgreSQL rows*, *Books and tables*) are written at every reading, zeros included. The dashboards `Payonce-<region>` and `Payonce-machines-<region>`,',
    'prefixed with `<environment>-` if the setting `environment` is set, show the metrics, and the [runbook](../../docs/operate/runbook/README.md) describes the alarms on them.',
    '',
    sections.join('\n\n'),
    '',
  ].join('\n');
}
