import { FILE_DAYS } from '../../lambdas/exports/contract.ts';
import { REPLAY_HORIZON_DAYS } from '../../lambdas/kernel/contract/events.ts';
import { QUEUE_DAYS, REDELIVERED_HOURS, RETENTION_HOURS } from '../../lambdas/kernel/contract/retention.ts';
import { RECORD_RETENTION_DAYS } from '../../lambdas/once/domain/idempotency.ts';
import type { PaymentNotes } from '../../lambdas/payments/domain/payment.ts';
import { FOREIGN_KEPT_DAYS } from '../../lambdas/payments/use/effect-store.ts';
import { ARCHIVE_PARKED } from '../../lib/archive.ts';
import { KEPT as DEAD_LETTERS_KEPT } from '../../lib/constructs/dead-letter-queue.ts';
import { KEPT as TASKS_KEPT } from '../../lib/constructs/task-queue.ts';
import { DEFAULTS } from '../../lib/settings.ts';

/** See the Amazon DynamoDB developer guide, "Point-in-time recovery". */
const RECOVERY_DAYS = 35;

const COPIES: readonly { readonly where: string; readonly holds: string; readonly days: number }[] = [
  {
    where: 'Records of requests',
    holds:
      'a SHA-256 hash of the request, which confirms a correct guess of the complete request; DynamoDB deletes an expired row within a few days',
    days: RECORD_RETENTION_DAYS,
  },
  { where: 'Archive of the event bus', holds: 'the event', days: REPLAY_HORIZON_DAYS },
  { where: 'Queues of consumers and their dead letters', holds: 'the event', days: TASKS_KEPT.toDays() },
  { where: 'Dead letters of vendors', holds: 'the e-mail that was not sent', days: DEAD_LETTERS_KEPT.toDays() },
  { where: 'Backups of the tables (point-in-time recovery)', holds: 'the details row', days: RECOVERY_DAYS },
  { where: 'Logs', holds: 'no description, metadata or address', days: DEFAULTS.logRetentionDays },
];

const SCOPES: readonly { readonly scope: keyof typeof RETENTION_HOURS; readonly of: string; readonly after: string }[] =
  [
    {
      scope: 'payments',
      of: 'payments, changes of payments, and orders, over HTTP or by an event',
      after: '409 `idempotency_key_expired`, which names the object that the key created',
    },
    {
      scope: 'events',
      of: 'events and callbacks',
      after: 'the chain of the payment or order, or a permanent business key, refuses a second effect',
    },
    {
      scope: 'events',
      of: 'corrections and decisions',
      after: '409 `idempotency_key_expired`, which names the payment; the chain holds the correction or the decision',
    },
    {
      scope: 'events',
      of: 'rotations, resends, range replays and deletions of webhook endpoints',
      after:
        '409 `idempotency_key_expired`, because the endpoint, delivery or replay records the request; 404 after a deletion',
    },
    {
      scope: 'events',
      of: 'claims for sent e-mails and for stock reservations',
      after: 'the order, or the permanent key of the receipt, refuses a second e-mail or reservation',
    },
    {
      scope: 'default',
      of: 'your own services (`idempotent`), unless `retentionHours` of `createOnce` contains their scope',
      after: '409 `idempotency_key_expired`',
    },
  ];

const KEPT: readonly { readonly what: string; readonly kept: string; readonly why: string }[] = [
  {
    what: 'Chains of payments and orders, with their postings',
    kept: 'permanently',
    why: 'a chain without its first rows cannot be verified, and the first row refuses a second charge',
  },
  { what: 'Activity log', kept: 'permanently', why: 'it shows which operator did what' },
  {
    what: 'Lists of the Views',
    kept: 'permanently',
    why: 'they are derived from the Ledger and can be rebuilt',
  },
  {
    what: 'Objects of the archive (setting `archive`)',
    kept: `locked for ${DEFAULTS.archiveYears} years (\`archiveYears\`), and not deleted after that`,
    why: 'no rule deletes them; `archiveColdAfterDays` moves them to a cheaper class',
  },
  {
    what: 'Files of exports, and the rows that describe them',
    kept: `files ${FILE_DAYS} days, rows permanently`,
    why: 'a file can be exported again; the row is the record of its request',
  },
  {
    what: 'Records that the archiver could not read or write',
    kept: `${ARCHIVE_PARKED.toDays()} days in the archiver’s queue; the first record raises an alarm`,
    why: 'an operator reads them; the Ledger has the rows',
  },
  {
    what: 'Callbacks of other programs at the same processor account',
    kept: `${FOREIGN_KEPT_DAYS} days after their arrival`,
    why: 'they need no operator',
  },
  {
    what: 'Original content of rows that were changed or removed by hand',
    kept: '14 days in the parking queue of the relay; with the archive, as long as its objects',
    why: 'they show the lost data',
  },
];

/** A note that is not listed does not compile. */
const NOTES = { description: 'description', metadata: 'metadata', returnUrl: 'return_url' } as const satisfies Readonly<
  Record<keyof PaymentNotes, string>
>;

const listed = new Intl.ListFormat('en-GB').format(Object.values(NOTES).map((name) => `\`${name}\``));

export function retentionPage(): string {
  return `# Retention of personal data

${listed} of a payment, and \`email\`, \`referrer\`, \`affiliate\` and \`return_url\` of an order, are in a details row of their own (\`DETAILS#<id>\` in the
Registry). The chain in the Ledger holds only a commitment to them: SHA-256 over a random salt of 128 bits, which is in the details row, and the canonical
form of the data. The Ledger is append-only; the details row can be deleted. The reason of a refund, a correction or a decision is in a details row of its own.
A details row also has a keyed hash of the e-mail address. An index finds the row by this hash, and its entry is deleted with the row
([0056](../../docs/design/decisions/0056-personal-data-in-a-row-of-its-own.md)).

| command | deletes |
|---|---|
| \`npx payonce erase payment <id>\` | the details rows of a payment that is \`succeeded\`, \`failed\` or \`canceled\` |
| \`npx payonce erase order <id>\` | the details row of an order that is settled and whose response is stored |

Before that, the erasure of a payment is refused, because the receipt and the commission of a later success need the metadata. It is also refused until the projector has
processed \`payment.completed\`, some seconds after the success: by then the consumers have a copy of the metadata. If the event is parked, redrive it first
(\`npx payonce redrive\`). An order and its payment are erased separately. A repeated erasure has no further effect. The [activity log](../../docs/operate/activity.md) records each
erasure and its operator.

After an erasure the chain still verifies, and the amounts and postings are unchanged. Responses, events and replays of stored responses show
\`"details_erased": true\`, with \`description\` null, \`metadata\` empty and no \`return_url\`, or \`email\` and \`referrer\` null and no \`affiliate\` or \`return_url\`; refunds and corrections show a null \`reason\`. Stored responses, Views and deliveries of webhooks
hold no copy: they are completed from the details row when they are shown or sent. What the receivers of webhooks answered to its events
is deleted, too, also at endpoints that were deleted since.

The Ledger holds no fingerprint of a request, because a fingerprint without a secret confirms a guess of erased text. When the record of a request is lost, a
retry is compared with the chain: the terms, and the text by its commitment. After an erasure only the terms are compared, so a retry with other text gets the same
answer. The record of a correction or a decision has a fingerprint without the reason.

A read compares the details row with the commitment. A row that was changed is a fault: the request fails, the alarm for failed requests starts, and the
relay parks the record.

## Copies that expire

| place | content | maximum age in days |
|---|---|---|
${COPIES.map(({ where, holds, days }) => `| ${where} | ${holds} | ${days} |`).join('\n')}

## Records of requests and events

The setting \`retention\` sets the hours of \`payments\` and \`events\` (\`-c payonce:retention='{"payments":336}'\`). A record is kept for up to a tenth longer, so that records made
together do not expire together. A change applies to new records. Set \`payments\` to the longest time after which a client repeats a request: a week by default, at most a year. \`events\` is at least ${REDELIVERED_HOURS}, the time in which an event can be redelivered: ${REPLAY_HORIZON_DAYS} days in the archive or the Ledger, and then
${QUEUE_DAYS} days in a queue. A shorter setting stops the synthesis.

| scope | records of | default in hours | after it |
|---|---|---|---|
${SCOPES.map(({ scope, of, after }) => `| \`${scope}\` | ${of} | ${RETENTION_HOURS[scope]} | ${after} |`).join('\n')}

Records of the creation of endpoints and keys are permanent. [0087](../../docs/design/decisions/0087-terms-of-records-and-what-guards-after-them.md) gives the reasons.

No key is executed again after its retention. The id of a payment is derived from its key, so the first transition of the payment exists, and a second charge is refused.

## The Ledger and its archive

Nothing leaves the Ledger. A payment can be refunded, disputed or corrected years later, each row is linked to the one before it, and an auditor reads all of them. The growth of the tables is in [costs](../../docs/operate/costs.md#growth-of-the-tables).

| what | kept | why |
|---|---|---|
${KEPT.map(({ what, kept, why }) => `| ${what} | ${kept} | ${why} |`).join('\n')}

## What is kept

\`reference\`, \`source\` and the names of operators are a permanent part of the chain. A reference must not contain personal data of payers. The names of operators
are in the activity log, too. A commission keeps the affiliate and the order that the metadata or the order named, because it is owed to the affiliate. The processor, the
mailer, the shop and the receivers of webhooks must erase their own copies.
`;
}
