/** Tests the guarantee "waiting duplicates". Owners are killed or frozen inside and right after a transaction. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import type { CreatePaymentOutcome } from '../../lambdas/payments/use/create-payment.ts';
import { createSandboxBooks } from '../../lambdas/processors/sandbox/sandbox-books.ts';
import { Administrator } from '../postgres/postgres-fixture.ts';
import { asFunctions, createDatabase } from '../postgres/store-database.ts';
import { type SandboxServer, serveSandbox } from '../sandbox/sandbox-server.ts';
import { createTestSandbox, SANDBOX_START_MS } from '../sandbox/sandbox-world.ts';
import { inTurn } from '../support/slice.ts';
import type { OwnerOrder, OwnerReport, OwnerSettings, Stop } from './owner-process.ts';
import { paymentIdFor } from './payment-fixtures.ts';
import { BEYOND_LEASE_MS } from './payment-story.ts';

const PROGRAM = join(import.meta.dirname, 'owner-process.ts');
const LATER_MS = SANDBOX_START_MS + BEYOND_LEASE_MS;

let url: string;
let administrator: Administrator;
let processor: SandboxServer;
const begun: ChildProcess[] = [];

beforeAll(async () => {
  url = await createDatabase();
  administrator = await Administrator.connect(url);
  processor = await serveSandbox(createTestSandbox().handler);
});
afterEach(() => {
  for (const child of begun.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await processor[Symbol.asyncDispose]();
  await administrator.end();
});

function start(key: string, stop?: Stop) {
  const settings: OwnerSettings = {
    url: asFunctions(url),
    processor: processor.url,
    key,
    ...(stop === undefined ? {} : { stop }),
  };
  const child = fork(PROGRAM, [JSON.stringify(settings)], { execArgv: ['--disable-warning=ExperimentalWarning'] });
  begun.push(child);
  const reports: OwnerReport[] = [];
  child.on('message', (report: OwnerReport) => reports.push(report));
  const ended = once(child, 'exit');
  const order = (sent: OwnerOrder): void => void child.send(sent);
  const next = async (): Promise<OwnerReport> => {
    while (reports.length === 0 && child.signalCode === null && child.exitCode === null)
      await Promise.race([once(child, 'message'), ended]);
    const report = reports.shift();
    if (report === undefined) throw new Error('the process ended without a report');
    return report;
  };
  return {
    order,
    next,
    signal: (name: NodeJS.Signals) => child.kill(name),
    pay: async (nowMs: number): Promise<CreatePaymentOutcome> => {
      order({ kind: 'pay', nowMs });
      return paidOf(await next());
    },
  };
}

function paidOf(report: OwnerReport): CreatePaymentOutcome {
  if (report.kind !== 'paid') throw new Error(`the process reported ${JSON.stringify(report)}`);
  return report.outcome;
}

const bodyOf = (outcome: CreatePaymentOutcome): unknown =>
  outcome.kind === 'first' || outcome.kind === 'replay' ? JSON.parse(outcome.answer.body) : undefined;

async function charges(paymentId: PaymentId): Promise<number> {
  const books = createSandboxBooks({ url: processor.url, clock: { nowMs: () => SANDBOX_START_MS } });
  return (await books.chargesOfPayment(paymentId, { timeoutMs: 600_000 })).length;
}

interface Case extends Pick<Stop, 'at' | 'moment'> {
  /** Results of a second process: `during` the lease of the first process, and `later`, after the lease has ended. */
  readonly during: CreatePaymentOutcome['kind'];
  readonly later: CreatePaymentOutcome['kind'];
  /** The result of a frozen process after it continues. */
  readonly thawed: CreatePaymentOutcome['kind'];
}

const CASES: readonly Case[] = [
  // In the next case, nothing was written, so the second process makes the first claim.
  { at: 'payment-claim', moment: 'inside', during: 'first', later: 'replay', thawed: 'replay' },
  { at: 'payment-claim', moment: 'after', during: 'in_progress', later: 'first', thawed: 'replay' },
  { at: 'record-complete', moment: 'inside', during: 'in_progress', later: 'first', thawed: 'replay' },
  { at: 'record-complete', moment: 'after', during: 'replay', later: 'replay', thawed: 'first' },
];
const ENDS = ['killed', 'frozen'] as const;
const ALL = CASES.flatMap((each) => ENDS.map((end) => ({ ...each, end })));

// Each test starts two processes, which take a second of CPU time each, and a frozen transaction ends after five
// seconds. Therefore, half of the slices of `npm test` run one of these tests, and the other half run none.
for (const [place, { at, moment, end, during, later, thawed }] of ALL.entries())
  inTurn(test, { place, of: 2 * ALL.length, otherwise: test.skip })(
    `after a process is ${end} ${moment} the transaction of ${at}, a second process finishes, with one charge in all`,
    async () => {
      const key = `${end}-${moment}-${at}`;
      const id = paymentIdFor(key);
      // The transaction of a process that is killed has no idle limit, so that only the kill can release its locks.
      const first = start(key, { at, moment, mayIdle: end === 'killed' });
      first.order({ kind: 'pay', nowMs: SANDBOX_START_MS });
      expect(await first.next()).toEqual({ kind: 'stopped' });

      const second = start(key);
      const early = second.pay(SANDBOX_START_MS);
      if (end === 'killed' && moment === 'inside') await administrator.awaitSessions('idempotency', 'Lock');
      first.signal(end === 'killed' ? 'SIGKILL' : 'SIGSTOP');
      expect((await early).kind).toBe(during);
      const found = await second.pay(LATER_MS);
      expect(found).toMatchObject({ kind: later, answer: { status: 201 } });
      expect(await charges(id)).toBe(1);

      if (end === 'frozen') {
        first.signal('SIGCONT');
        first.order({ kind: 'continue' });
        if (moment === 'inside') expect(await first.next()).toEqual({ kind: 'refused', code: 'store_unavailable' });
        const own = paidOf(await first.next());
        expect([own.kind, bodyOf(own)]).toEqual([thawed, bodyOf(found)]);
      }
      expect(await charges(id)).toBe(1);
      const rows = await administrator.query(
        `SELECT type, idempotency.status FROM payonce.transition
          JOIN payonce.idempotency ON chain_id = payment_id WHERE chain_id = $1 ORDER BY sequence`,
        [id],
      );
      expect(rows).toEqual([
        { type: 'payment.created', status: 'COMPLETED' },
        { type: 'payment.completed', status: 'COMPLETED' },
      ]);
    },
  );
