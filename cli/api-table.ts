import { InvalidArgumentError } from 'commander';
import { type ApiCommand, duration, type Lines, linesOf, listing, money, type Row, time } from './api-command.ts';
import { createExport, exportLines, getExport, MAX_EXPORT_MINUTES } from './exports.ts';
import { MAX_RUN_MINUTES, showRuns, startRun } from './jobs.ts';
import { change, decide, paymentLines, showTimeline } from './payments.ts';
import { readCountOf, readSeconds } from './session.ts';

const PAYMENT = 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp';
const STATUS = ['--status <status>', 'only those in this status, for example needs_review'] as const;
const REASON = ['--reason <text>', 'the reason'] as const;
const most = (value: number) => ['--most <n>', 'maximum number, 1 to 100', readCountOf(100), value] as const;

const orderLines = listing('No orders.', { ORDER: 'id', STATUS: 'status', AMOUNT: money, CREATED: time('created') });
const deliveryLines = listing('No deliveries.', {
  DELIVERY: 'id',
  EVENT: 'type',
  STATUS: 'status',
  ATTEMPTS: 'attempts.length',
  LAST: (row) => `${time('attempts.last.at')(row)} ${row('attempts.last.status') || row('attempts.last.error')}`.trim(),
  NEXT: time('next_attempt'),
});
const queueLines = listing('No queues.', {
  QUEUE: 'id',
  WAITING: (row) =>
    row('waiting') === '' ? 'cannot be read' : `${row('waiting')}${row('more_waiting') === 'true' ? '+' : ''}`,
  OLDEST: duration('oldest_age'),
  WHAT: 'description',
});
const waitingLines = listing('No entries.', {
  ABOUT: (row) => row('about') || 'unknown',
  PART: 'part',
  CALLBACK: 'callback',
  'SCHEDULED FOR': time('scheduled_for'),
  AGE: duration('age'),
  OPERATOR: (row) => (row('needs_operator') === 'true' ? 'needs an operator' : ''),
  REASON: 'reason',
  ENTRY: 'id',
});
const jobLines = listing('No jobs.', {
  JOB: 'id',
  SCHEDULE: (row) => `${row('schedule')} ${row('time_zone').replace(/^UTC$/, '')}`.trim(),
  'LAST RUN': (row) =>
    row('runs_unread') === 'true'
      ? 'cannot be read'
      : `${time('last_run.scheduled_for', 'never ran')(row)} ${row('last_run.status')}`.trim(),
  'NEXT RUN': time('next_run', 'unknown'),
});
const sentence =
  (of: (row: Row) => string): Lines =>
  (rows) =>
    rows.map(of);
const annotated = (row: Row): string => {
  const about = row('annotates') === '' ? 'the payment' : `transition ${row('annotates')}`;
  return `${row('id')} is transition ${row('sequence')}: about ${about}, by ${row('operator')}, ${time('created')(row)}.`;
};

const FOLLOWING = [
  ['--wait', `wait until the export ends, at most ${MAX_EXPORT_MINUTES} minutes`],
  ['--output <file>', 'wait, and save the file'],
] as const;

export const GROUPS = {
  payments: 'lists, shows and changes the payments of a tenant, and decides unknown outcomes',
  orders: 'lists and shows the orders of a tenant',
  exports: 'exports rows of a tenant to CSV files, with the key of the tenant or an operator',
  parked:
    'lists unfinished work and parked messages, redrives and dismisses messages, and dismisses unmatched callbacks, with an operator’s key',
  webhooks: 'lists the deliveries of a webhook endpoint, and sends events again, with a tenant’s key',
  jobs: 'lists the scheduled jobs and their runs, and starts a run, with an operator’s key',
} as const;

/**
 * Tests compare the commands with the API description. The description is not loaded here, because loading it would
 * take as long as loading the whole command line.
 */
export const API_COMMANDS: Readonly<Record<keyof typeof GROUPS, Readonly<Record<string, ApiCommand>>>> = {
  payments: {
    list: {
      does: 'lists payments, newest first',
      example: '--status needs_review',
      calls: 'GET /v1/payments',
      options: [STATUS, ['--reference <text>', 'only the payment with this reference'], most(20)],
      lines: paymentLines,
    },
    'show <id>': {
      does: 'shows the current state of a payment',
      example: PAYMENT,
      calls: 'GET /v1/payments/{id}',
      lines: paymentLines,
    },
    'timeline <id>': {
      does: 'shows the timeline of a payment, with the operator’s key',
      example: PAYMENT,
      calls: 'GET /v1/admin/payments/{id}/timeline',
      run: showTimeline,
    },
    'decide <id>': {
      does: 'records the outcome of a payment in review, as determined by an operator, with the operator’s key',
      example: `${PAYMENT} --outcome failed --reason 'Not on the bank statement' --dry-run`,
      calls: 'POST /v1/admin/payments/{id}/resolve',
      required: [
        ['--outcome <outcome>', 'succeeded or failed'],
        ['--reason <text>', 'the evidence for the outcome'],
      ],
      options: [
        ['--change <id>', 'the refund, capture or cancellation to decide; without it, the payment itself'],
        ['--charge <id>', 'with --outcome succeeded: the id of the charge at the processor, if the payment has none'],
        ['--amount <amount>', 'the captured amount, for example 6.00; the default is the requested amount'],
        ['--override', 'decide even if the processor’s books cannot be read'],
        ['--dry-run', 'show the status, the postings and whether an approval is needed, and write nothing'],
      ],
      run: decide,
    },
    'refund <id>': {
      does: 'refunds a payment or a part of it, with the operator’s key',
      example: `${PAYMENT} --amount 6.00 --reason 'Asked by phone'`,
      calls: 'POST /v1/admin/payments/{id}/refunds',
      required: [['--reason <text>', 'the reason, stored with the refund']],
      options: [['--amount <amount>', 'the amount to refund, for example 6.00; the default is the remaining amount']],
      run: change,
    },
    'capture <id>': {
      does: 'captures an authorized payment or a part of it, with the operator’s key',
      example: `${PAYMENT} --reason 'Asked by phone'`,
      calls: 'POST /v1/admin/payments/{id}/capture',
      required: [REASON],
      options: [['--amount <amount>', 'the amount to capture, for example 6.00; the default is the authorized amount']],
      run: change,
    },
    'cancel <id>': {
      does: 'releases an authorization, or ends a payment that waits for its payer, with the operator’s key',
      example: `${PAYMENT} --reason 'Asked by phone'`,
      calls: 'POST /v1/admin/payments/{id}/cancel',
      required: [REASON],
      run: change,
    },
  },
  orders: {
    list: {
      does: 'lists orders, newest first',
      example: '--status needs_review',
      calls: 'GET /v1/orders',
      options: [STATUS, most(20)],
      lines: orderLines,
    },
    'show <id>': {
      does: 'shows the current state of an order',
      example: 'ord_q6hz4m2nrb7vwy3k3jx5aqt5ocdeflgu',
      calls: 'GET /v1/orders/{id}',
      lines: orderLines,
    },
  },
  exports: {
    create: {
      does: 'requests an export; each call creates another one',
      example: '--kind entries --from 2026-02-01 --to 2026-02-28 --wait --output entries.csv',
      calls: 'POST /v1/exports',
      forTenant: true,
      required: [
        ['--kind <kind>', 'entries, payments, refunds, disputes or events'],
        ['--from <day>', 'the first day in UTC, for example 2026-02-01'],
        ['--to <day>', 'the last day in UTC'],
      ],
      options: [
        ['--currency <code>', 'only rows in this currency'],
        ['--account <account>', 'for entries: only those on this account'],
        ['--status <status>', 'for payments, refunds and disputes: only those in this status'],
        ['--type <type>', 'for events: only those of this type'],
        ['--amount-from <amount>', 'for payments: only those of this amount or more, in the currency of --currency'],
        ['--amount-to <amount>', 'for payments: only those of this amount or less, in the currency of --currency'],
        ...FOLLOWING,
      ],
      run: createExport,
    },
    list: {
      does: 'lists exports, newest first',
      example: '--tenant ten_shop --mode live',
      calls: 'GET /v1/exports',
      forTenant: true,
      options: [most(20)],
      lines: exportLines,
    },
    'get <id>': {
      does: 'shows an export with the link to its file, or saves the file',
      example: 'exp_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp --wait --output entries.csv',
      calls: 'GET /v1/exports/{id}',
      forTenant: true,
      options: FOLLOWING,
      run: getExport,
    },
  },
  parked: {
    'list [queue]': {
      does: 'lists the queues of unfinished work and parked messages, or the entries of one queue',
      example: 'review',
      calls: 'GET /v1/admin/queues/{id}',
      run: async ({ session, args: [queue], ask, send }) => {
        const document = await (queue === undefined ? ask('GET', '/v1/admin/queues') : send());
        session.show(document, linesOf(queue === undefined ? queueLines : waitingLines, document));
      },
    },
    'redrive <queue>': {
      does: 'redrives one message of a queue, or all of them; each takes effect once',
      example: 'Webhooks-Tasks-DeadLetters --entry 6f1c7a52-9d0e-4d6b-8a54-0c8f3f5e2b11',
      calls: 'POST /v1/admin/queues/{id}/redrive',
      options: [['--entry <id>', 'the message, by its id in the list of the queue; the default is all messages']],
      lines: sentence(
        (row) => `${row('entry') || `${row('waiting')} messages of ${row('queue')}`}: moved to ${row('to')}.`,
      ),
    },
    'dismiss-message <queue>': {
      does: 'deletes one message of a queue; the work that the message requests is then never done',
      example: 'Webhooks-Tasks-DeadLetters --entry 6f1c7a52-9d0e-4d6b-8a54-0c8f3f5e2b11 --reason done_otherwise',
      calls: 'POST /v1/admin/queues/{id}/dismiss',
      required: [['--reason <reason>', 'done_otherwise or not_needed']],
      options: [
        [
          '--entry <id>',
          'the message, by its id in the list of the queue; may be omitted only for Jobs-Missed, and then all messages about jobs of this deployment are deleted',
        ],
      ],
      lines: sentence((row) =>
        row('entry') === ''
          ? `Each message of ${row('queue')} about a job of this deployment is dismissed.`
          : `${row('entry')} of ${row('queue')} is dismissed.`,
      ),
    },
    'dismiss <callback>': {
      does: 'dismisses an unmatched callback, after you have looked up its charge at the processor',
      example: 'cb_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp --reason nothing_due',
      calls: 'POST /v1/admin/callbacks/{id}/dismiss',
      required: [['--reason <reason>', 'nothing_due, refunded or other_program']],
      lines: sentence((row) => `${row('callback')} is dismissed.`),
    },
  },
  webhooks: {
    'deliveries <endpoint>': {
      does: 'lists the deliveries of an endpoint, newest event first, with their last attempt',
      example: 'we_shop',
      calls: 'GET /v1/webhook_endpoints/{id}/deliveries',
      options: [most(20)],
      lines: deliveryLines,
    },
    'resend <endpoint> <delivery>': {
      does: 'sends an event again, with the same id',
      example: 'we_shop dlv_first',
      calls: 'POST /v1/webhook_endpoints/{id}/deliveries/{delivery}/resend',
      lines: deliveryLines,
    },
    'replay <endpoint>': {
      does: 'sends every event of a time range again, each with the same id, or only those that the endpoint has not accepted',
      example: 'we_shop --created-from 1772366400 --created-to 1772452800 --only-undelivered',
      calls: 'POST /v1/webhook_endpoints/{id}/replay',
      required: [
        ['--created-from <seconds>', 'the start, in Unix seconds', readSeconds],
        ['--created-to <seconds>', 'the end, exclusive, at most 31 days later', readSeconds],
      ],
      options: [['--only-undelivered', 'only events that the endpoint has never answered with 2xx']],
      lines: sentence((row) => `${row('id')} is ${row('status')}.`),
    },
  },
  jobs: {
    list: {
      does: 'lists the jobs with their schedule, last run and next run',
      example: '',
      calls: 'GET /v1/admin/jobs',
      lines: jobLines,
    },
    'run <id>': {
      does: 'starts a run of a job, now or for a missed time; each time has at most one run',
      example: 'reconcile-recent --wait',
      calls: 'POST /v1/admin/jobs/{id}/runs',
      options: [
        ['--scheduled-for <seconds>', 'the time of the run, in Unix seconds; the default is now', readSeconds],
        ['--wait', `wait until the run ends, at most ${MAX_RUN_MINUTES} minutes`],
      ],
      run: startRun,
    },
    'runs <id>': {
      does: 'lists the runs of a job, latest first',
      example: 'resolve --most 20 --items',
      calls: 'GET /v1/admin/jobs/{id}/runs',
      options: [
        most(10),
        ['--items', 'also list items that failed, and items that a run skipped because they crashed its worker'],
      ],
      run: showRuns,
    },
  },
};

export const ANNOTATE: ApiCommand = {
  does: 'adds an explanation to a payment, or to one of its transitions, with an operator’s key',
  example: `${PAYMENT} --reason 'The payer called' --transition 2`,
  calls: 'POST /v1/admin/payments/{id}/annotations',
  required: [['--reason <text>', 'the explanation, or a description of the error in the payment’s record']],
  options: [
    ['--transition <n>', 'the sequence of the annotated transition', readSequence],
    [
      '--missing-charge <id>',
      'a charge that does not exist at the processor; Payonce then stops looking for the charge',
    ],
  ],
  lines: sentence(annotated),
};

function readSequence(text: string): number {
  const sequence = Number(text);
  if (/^\d{1,6}$/.test(text) && sequence >= 1) return sequence;
  throw new InvalidArgumentError(`${text} is not the sequence of a transition. Example: 2.`);
}
