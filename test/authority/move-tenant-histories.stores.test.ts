/** Faults and rivals at every call of a move. Tests the guarantee "moved payments". */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import { MoveRefused } from '../../lambdas/authority/move-tenant.ts';
import { MoveReplaced } from '../../lambdas/authority/store/postgres-tenant-rows.ts';
import { databaseOf } from '../postgres/store-database.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { SDK_ERRORS } from '../support/faulty-client.ts';
import { whole } from '../support/slice.ts';
import { FourDatabases, type MoveChanges } from './four-databases.ts';
import { MovedTenant, NOTED, OPEN } from './moved-tenant.ts';

let databases: FourDatabases;
beforeAll(async () => {
  databases = await FourDatabases.create();
});
afterAll(() => databases.close());

/** Undefined aborts the move to `c`; otherwise, the next run of the command finishes it. */
type Next = 'c' | undefined;

async function begin(): Promise<MovedTenant> {
  const moved = await MovedTenant.begin(databases);
  const { world } = moved.deployment;
  const process = await moved.deployment.start();
  await world.answered(moved.requestOf('paid', NOTED), process.tools);
  await moved.deployment.crash(process, moved.requestOf('open', OPEN));
  await world.answered(moved.requestOf('paid', {}, moved.neighbors[0]), process.tools);
  return moved;
}

/** The plan of `actor` decides which calls fail or are suspended. */
function planned({ deployment }: MovedTenant, actor: Actor): MoveChanges {
  return {
    client: deployment.world.store.database.clientWith((command, apply) => actor.call(command, SDK_ERRORS, apply)),
    database: (name, given) => databaseOf({ call: (label, ...call) => actor.call(`${name} ${label}`, ...call) }, given),
  };
}

/** Returns the violated guarantees. */
async function finish(moved: MovedTenant, next: Next): Promise<readonly string[]> {
  try {
    await moved.deployment.move(moved.tenant, next);
    return [];
  } catch (error) {
    const { message } = error as Error;
    if (!(error instanceof MoveRefused)) return [`the repetition: ${message}`];
    // After the switch, a move can only be finished.
    if (message.includes('instead of --abort')) return finish(moved, 'c');
    return / is in c already$|^no move of/.test(message) ? [] : [`the repetition: ${message}`];
  }
}

async function use(moved: MovedTenant): Promise<readonly string[]> {
  const { deployment, tenant } = moved;
  const { world } = deployment;
  world.clock.advance(STATE_VALID_MS);
  const { tools, store } = await deployment.start();
  const home = await deployment.shardOf(tenant);
  const away = home === 'b' ? 'c' : 'b';
  const paid = await world.pay(moved.requestOf('paid', NOTED), tools);
  const after = await world.pay(moved.requestOf('after'), tools);
  await world.resolveFor(3, tools);
  const open = await world.pay(moved.requestOf('open', OPEN), tools);
  const requests = ['paid', 'open', 'after'].map((key) => moved.requestOf(key));
  const charges = requests.map(({ paymentId }) => world.processor.charges(paymentId).length);
  const history = await store.readPayment(moved.requestOf('paid').paymentId);
  return [
    ...(paid.kind === 'replay' ? [] : [`a replay: ${paid.kind}`]),
    ...(after.kind === 'first' || after.kind === 'replay' ? [] : [`a new payment: ${after.kind}`]),
    ...(open.kind === 'replay' ? [] : [`an open claim: ${open.kind}`]),
    ...(charges.join() === '1,1,1' ? [] : [`charges: ${charges.join()}`]),
    ...(JSON.stringify(history?.first)?.includes(NOTED.description) ? [] : ['personal data is lost']),
    ...((await moved.hasCopiedDetails(moved.requestOf('paid'))) ? [] : ['copied personal data is lost']),
    ...(await moved.rowsWith(away, await moved.idsIn(home))).map((row) => `a row in ${away}: ${row.slice(0, 60)}`),
  ];
}

async function moveWith(faults: readonly PlannedFault[], next: Next): Promise<HistoryRun> {
  const moved = await begin();
  const plan = new FaultPlan(faults);
  const actor = new Actor('operator', plan);
  await actor.run(() => moved.deployment.move(moved.tenant, 'c', planned(moved, actor)));
  const calls = plan.calm();
  return { calls, violations: [...(await finish(moved, next)), ...(await use(moved))] };
}

/** The suspended run must not change any row. */
async function moveSuspended([fault]: readonly PlannedFault[], next: Next): Promise<HistoryRun> {
  const moved = await begin();
  const plan = new FaultPlan();
  const actor = new Actor('suspended', plan);
  const found: string[] = [];
  let rows: unknown;
  plan.holdAt(fault?.point, async () => {
    found.push(...(await finish(moved, next)), ...(await use(moved)));
    rows = await moved.rowsIn('b', 'c');
  });
  await moved.deployment.move(moved.tenant, 'c', planned(moved, actor)).catch((error: unknown) => {
    if (!(error instanceof MoveReplaced || error instanceof MoveRefused)) throw error;
  });
  const isSame = rows === undefined || JSON.stringify(await moved.rowsIn('b', 'c')) === JSON.stringify(rows);
  if (!isSame) found.push('the suspended run changed rows');
  const calls = plan.calm();
  return { calls, violations: [...found, ...(await finish(moved, 'c')), ...(await use(moved))] };
}

describe.each<readonly [string, Next]>([
  ['finish', 'c'],
  ['abort', undefined],
])('a move, if the next run of the command is asked to %s it,', (_what, next) => {
  test('is completed or aborted after a fault at any call', async () => {
    const { findings, histories } = await surveyFaults((faults) => moveWith(faults, next), { faults: 1, oneOf: 48 });
    expect(findings).toEqual([]);
    expect(histories).toBeGreaterThan(whole(200, { slice: 5 }));
  });

  test('is not affected when a run that was suspended at any call resumes', async () => {
    const { findings, histories } = await surveyFaults((faults) => moveSuspended(faults, next), {
      faults: 1,
      oneOf: 8,
      kindsOf: () => ['crash_before'],
    });
    expect(findings).toEqual([]);
    expect(histories).toBeGreaterThan(whole(50, { slice: 5 }));
  });
});
