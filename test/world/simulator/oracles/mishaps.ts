/**
 * Oracles for mishaps (problems of the AWS account or a processor, and manual changes of rows): changed rows are found
 * and restored, nothing stays parked, and payment failures, test events and exports are correct.
 */

import { fileOf, hasEnded } from '../../../../lambdas/exports/domain/data-export.ts';
import { parseExport } from '../../../../lambdas/exports/store/export-items.ts';
import { EventMetric, REPLAY_HORIZON_DAYS } from '../../../../lambdas/kernel/contract/events.ts';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { bookEntryOf } from '../../../../lambdas/views/domain/views.ts';
import { parseViewRow } from '../../../../lambdas/views/store/dynamodb-views.ts';
import type { Delivery } from '../../../../lambdas/webhooks/domain/webhook-delivery.ts';
import { ENDPOINT_TEST } from '../../../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { parseBook, parseDelivery } from '../../../../lambdas/webhooks/store/webhook-items.ts';
import type { Observed, Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import { MAX_SKEW_MS, type Seen } from './seen.ts';

type Noticed = Pick<Seen, 'world' | 'payments' | 'entered'>;

/** Called once the system is quiet. */
export function checkMishaps(seen: Noticed): readonly Violation[] {
  return [
    ...changedByHand(seen.world),
    ...parked(seen.world),
    ...failures(seen),
    ...tests(seen.world),
    ...exported(seen),
  ];
}

/**
 * F39: checks that the verification named exactly the changed row, that the row was restored from the archive, and that
 * the change raised the alarm.
 */
function changedByHand({ mishaps, alarms }: Observed): readonly Violation[] {
  const { changesByHand, trimmed } = mishaps;
  const found: Violation[] = [];
  const wrong = (what: string, about: string): void =>
    void found.push({ oracle: 'F39 changed rows are found and restored', what, about });
  for (const { id, sort, how, found: named, putBack, left } of changesByHand) {
    const finding = `${how === 'removed' ? 'row_missing' : 'row_differs'} ${sort}`;
    if (!named.includes(finding)) wrong(`${sort} was ${how}, but the verification found ${named.join(', ')}`, id);
    if (named.some((each) => each.includes(' ') && each !== finding)) wrong(`besides ${sort}, ${named.join(', ')}`, id);
    if (putBack !== 'put' || left.length > 0) wrong(`${sort} was not restored: ${putBack} ${left.join(', ')}`, id);
  }
  const raised = alarms.reduce((sum, { metric, count }) => sum + (metric === EventMetric.tampered ? count : 0), 0);
  // If records expired before the relay read them, only the verification can notice the change.
  if (trimmed === 0 && raised < changesByHand.length)
    wrong(`${changesByHand.length} rows were changed, but the alarm was raised ${raised} times`, 'the Ledger');
  return found;
}

/**
 * F25: checks that a redrive after the fix publishes all parked records. Records about manual changes stay parked for
 * an operator, and so do time ranges whose events are too old for consumers to deduplicate.
 */
function parked({ mishaps, faultsEndedAtMs = 0 }: Observed): readonly Violation[] {
  return [...mishaps.parked, ...mishaps.parkedAgain].flatMap((body) => {
    const { eventName, DDBStreamBatchInfo: range } = JSON.parse(body) as ParkedBody;
    if (eventName === 'MODIFY' || eventName === 'REMOVE') return [];
    if (Date.parse(range?.approximateArrivalOfFirstRecord ?? '') < faultsEndedAtMs + REDRIVEN_AFTER_MS - HORIZON_MS)
      return [];
    return [{ oracle: 'F25 nothing stays parked after its fix', what: body.slice(0, 160) }];
  });
}

interface ParkedBody {
  readonly eventName?: string;
  readonly DDBStreamBatchInfo?: { readonly approximateArrivalOfFirstRecord: string };
}

const DAY_MS = 86_400_000;
const HORIZON_MS = REPLAY_HORIZON_DAYS * DAY_MS;
/**
 * Maximum time from the end of the faults to the redrive of a parked time range, in milliseconds. An operator redrives
 * after one day; the second day is a margin for the length of the range.
 */
const REDRIVEN_AFTER_MS = 2 * DAY_MS;

/**
 * F36: checks that neither a wrong credential nor an outage makes a payment fail. A payment may fail only if the
 * processor has refused a charge of the payment, if nothing was sent to the processor, or if an operator decides that
 * the payment failed. A refused charge may have succeeded later.
 */
function failures({ world, payments }: Noticed): readonly Violation[] {
  return [...payments].flatMap(([id, chain]) => {
    const failed = chain.find(({ row }) => row.type === 'payment.failed')?.row;
    const { code = '' } = failed?.payment.failure ?? {};
    if (failed === undefined || NOT_SENT.has(code) || failed.cause.by === 'operator') return [];
    const ownBooks = booksOf(failed.payment);
    const isRefused = Object.entries(world.processors).some(([books, { inside }]) =>
      inside.all.some(({ chargeId, paymentId }) => {
        // Another user of the processor's account may have edited the charge's metadata.
        const isOwn = paymentId === id || (books === ownBooks && chargeId === failed.payment.chargeId);
        return isOwn && inside.wasRefused(chargeId);
      }),
    );
    if (isRefused) return [];
    return [
      {
        oracle: 'F36 failures are confirmed by the processor',
        what: `failed with ${code}, but the processor has refused no charge`,
        about: id,
      },
    ];
  });
}

const NOT_SENT: ReadonlySet<string> = new Set(['not_attempted']);

/** A test event is attempted exactly once, unless it was resent, or canceled together with its endpoint. */
function tests({ database, tables }: Observed): readonly Violation[] {
  const deliveries = database.items(tables.registry, RegistryRow.webhookDelivery).map(parseDelivery);
  const found: Violation[] = [];
  const wrong = (what: string, about: string): void =>
    void found.push({ oracle: 'a test event disables nothing', what, about });
  for (const { id, eventId, attempts, resends, status } of deliveries.filter(isTest)) {
    const fewest = status === 'canceled' || status === 'pending' ? 0 : 1;
    if (attempts.length < fewest || (resends === undefined && attempts.length > 1))
      wrong(`${eventId} was attempted ${attempts.length} times`, id);
    if (status === 'pending') wrong(`${eventId} is pending`, id);
  }
  for (const { endpoints } of database.items(tables.registry, RegistryRow.webhookEndpoints).map(parseBook)) {
    for (const { id, disabled } of endpoints) {
      if (disabled?.reason !== 'failing') continue;
      const own = deliveries.filter((each) => each.endpointId === id && !isTest(each));
      if (!own.some(({ tries }) => tries >= 10))
        wrong('was disabled as failing although no delivery had reached the end of its retry schedule', id);
    }
  }
  return found;
}

/**
 * Checks the file of an export of entries: it contains each posting of the Ledger at most once, nothing else, and every
 * entry that existed at the time of the request. During a rebuild of the Views, entries may be missing.
 */
function exported(seen: Noticed): readonly Violation[] {
  const { world, payments, entered } = seen;
  const found: Violation[] = [];
  const rows = world.database.items(world.tables.registry, RegistryRow.export).filter((item) => 'kind' in item);
  for (const made of rows.map(parseExport)) {
    const wrong = (what: string): void =>
      void found.push({ oracle: 'an export is a fold of the Ledger', what, about: made.id });
    if (!hasEnded(made)) continue;
    const text = world.exports.get(fileOf(made));
    if (made.status === 'failed' || text === undefined)
      wrong(`the export is ${made.status}, and its file is ${typeof text}`);
    if (made.kind !== 'entries' || text === undefined) continue;
    const [, ...lines] = text.split('\r\n').filter((line) => line !== '');
    const inFile = lines.map((line) => {
      const [, payment, sequence, , account, direction, , minor, currency] = line.split(',');
      return [payment, sequence, account, direction, minor, currency].join(' ');
    });
    const left = new Set(inFile);
    if (left.size < inFile.length) wrong(`${inFile.length - left.size} lines are duplicates`);
    for (const each of entered.values()) {
      const { paymentId, sequence, occurredAtMs, legs } = bookEntryOf(parseViewRow(each.row));
      const { tenantId, mode } = payments.get(paymentId)?.[0]?.row.payment ?? {};
      if (tenantId !== made.tenantId || mode !== made.mode) continue;
      // `createdAtMs` comes from the clock of the process that accepted the request.
      const isDue = each.atMs < made.createdAtMs - MAX_SKEW_MS && occurredAtMs < made.untilMs;
      for (const { account, direction, amountMinor, currency } of legs) {
        const line = [paymentId, sequence, account, direction, amountMinor, currency].join(' ');
        if (!left.delete(line) && isDue) wrong(`${line} is missing`);
      }
    }
    for (const line of left) wrong(`${line} is not in the Ledger`);
  }
  return found;
}

function isTest({ type }: Pick<Delivery, 'type'>): boolean {
  return type === ENDPOINT_TEST;
}
