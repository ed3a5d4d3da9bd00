/** Tests the guarantee "carried rows". */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { hex } from '../../lambdas/kernel/hash-chain.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import type { Carrier } from '../../lambdas/postgres/carry.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { beforeEachCall, type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { whole } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';
import { firstWithNotes, refundAfter } from './carried-chain.ts';
import { Copies } from './copies.ts';
import { paymentIdFor } from './payment-fixtures.ts';

let database: OpenDatabase;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
});
afterAll(() => database.close());

type Rival =
  | 'a carrier'
  /** A second refund, which its owner copies. */
  | 'a commit'
  /** A second refund, whose owner dies before it copies the refund. */
  | 'a dead owner'
  | 'an erasure'
  /** An erasure, whose process dies before it deletes the copies. */
  | 'a dead erasure'
  /** A carrier that has read the data in PostgreSQL before the erasure, and writes the copies after the erasure. */
  | 'a stale carrier';

interface Race {
  readonly rival?: Rival;
  /** The rival acts right before the carrier's call with this number. */
  readonly rivalAt?: number;
  /** Whether an unfinished erasure is in the outbox when the carrier begins. */
  readonly erased?: true;
}

/** The carrier's process dies before it copies anything. */
const DEAD: Carrier = { carry: async () => 'carried' };

let histories = 0;

async function carryWith(faults: readonly PlannedFault[], race: Race): Promise<HistoryRun> {
  histories += 1;
  const id = paymentIdFor(`carrier-history-${histories}`);
  const copies = new Copies(database);
  const violations: string[] = [];
  watchLedger(copies, violations);
  const first = firstWithNotes(id);
  const refund = refundAfter(first);
  await copies.write(first, refund);
  const stale = race.rival === 'a stale carrier' ? await staleCarrier(copies, id) : undefined;
  if (race.erased) await copies.erase(id, DEAD).catch(() => undefined);

  const plan = new FaultPlan(faults);
  const rivals: Readonly<Record<Rival, () => Promise<unknown>>> = {
    'a carrier': () => copies.carrier().carry(id),
    'a commit': async () => {
      await copies.write(refundAfter(refund));
      await copies.carrier().carry(id);
    },
    'a dead owner': () => copies.write(refundAfter(refund)),
    'an erasure': async () => {
      await copies.erase(id);
      if (copies.details(id).length > 0) violations.push('a finished erasure left copies');
    },
    'a dead erasure': () => copies.erase(id, DEAD).catch(() => undefined),
    'a stale carrier': async () => stale?.(),
  };
  const { rival } = race;
  if (rival !== undefined) plan.holdAt(race.rivalAt, rivals[rival]);
  const actor = new Actor('carrier', plan);
  await actor.run(() => copies.faultyCarrier(actor).carry(id));
  const calls = plan.calm();
  await stale?.();
  await copies.poll();
  violations.push(...(await violationsOf(copies, id)));
  return { calls, violations };
}

/**
 * Holds the carrier's first call to DynamoDB.
 * @returns a function that releases the call, and waits until the carrier ends
 */
async function staleCarrier(copies: Copies, id: PaymentId): Promise<() => Promise<unknown>> {
  const [read, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const client = copies.tables.clientWith(async (_command, apply) => {
    read.resolve(undefined);
    await released.promise;
    return apply();
  });
  const carried = copies.carrier(client).carry(id);
  await read.promise;
  return async () => {
    released.resolve(undefined);
    return carried;
  };
}

/** Each write to the Ledger must append the next transition. */
function watchLedger(copies: Copies, violations: string[]): void {
  let newest = 0;
  copies.tables.listen((changes) => {
    for (const { table, before, after } of changes) {
      if (table !== TABLES.ledger) continue;
      newest += 1;
      if (before !== undefined || after?.['sequence'] !== newest)
        violations.push('a write other than an append changed the Ledger');
    }
  });
}

async function violationsOf(copies: Copies, id: PaymentId): Promise<readonly string[]> {
  const chain = await database.run(sql('SELECT hash FROM transition WHERE chain_id = $1 ORDER BY sequence', id));
  const details = await database.run(sql('SELECT part FROM details WHERE chain_id = $1 ORDER BY part COLLATE "C"', id));
  const hashes = (rows: readonly object[]) => rows.map((row) => hex((row as { hash: Uint8Array }).hash)).join();
  const copied = JSON.stringify(copies.details(id).map((row) => row[KeyAttribute.sort]));
  return [
    ...(hashes(copies.ledger(id)) === hashes(chain) ? [] : ['the Ledger differs from the chain']),
    ...(copied === JSON.stringify(details.map(({ part }) => part)) ? [] : [`copied details: ${copied}`]),
    ...((await copies.outbox(id)).length === 0 ? [] : ['the outbox has rows']),
    ...copies.stops.map(() => 'the chain stopped'),
    ...copies.failures.map(String),
  ];
}

const RIVALS: readonly Rival[] = ['a carrier', 'a commit', 'a dead owner', 'an erasure', 'a dead erasure'];

test('the DynamoDB copy equals PostgreSQL after any single fault of a carrier and any rival, each at any call', async () => {
  const races: readonly Race[] = [
    {},
    { erased: true },
    ...beforeEachCall(
      4,
      RIVALS.map((rival) => ({ rival })),
    ),
    ...beforeEachCall(
      6,
      [...RIVALS, 'a stale carrier' as const].map((rival) => ({ rival, erased: true as const })),
    ),
  ];
  const { findings, histories: run } = await surveyFaults(carryWith, { faults: 1, races, oneOf: [7, 6] });
  expect(findings).toEqual([]);
  expect(run).toBeGreaterThan(whole(races.length, { slice: 20 }));
});
