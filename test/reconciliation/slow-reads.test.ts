import { expect, test } from '@jest/globals';
import { acceptedRun } from '../../lambdas/jobs/domain/job-run.ts';
import type { Job } from '../../lambdas/jobs/use/job.ts';
import { workPage } from '../../lambdas/jobs/use/work-page.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { reconcileRecentJob } from '../../lambdas/reconciliation/use/reconcile.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { ReconcileHarness } from './reconcile-harness.ts';

/** Number of payments at the first processor. Their charges are in no list, so they must be read by id. */
const REFUNDS = 120;

async function runAfterAnHour(harness: ReconcileHarness, books: readonly ProcessorBooks[]): Promise<void> {
  const { clock } = harness;
  harness.wait(60);
  const job = reconcileRecentJob(harness.tools({ books })) as Job;
  const atMs = Math.floor(clock.nowMs() / 60_000) * 60_000;
  let cursor: string | undefined;
  do {
    const at = { ...acceptedRun('reconcile-recent', atMs, atMs), ...defined({ cursor }) };
    ({ cursor } = await workPage({ job, clock, report: () => undefined }, at, 'whole_page'));
  } while (cursor !== undefined);
}

test.each(['respond', 'time out'])(
  'a difference at one processor is reported while reads by charge id at the other processor %s',
  async (how) => {
    const harness = new ReconcileHarness();
    const { clock, processor: first } = harness;
    const second = { ...createSandboxInProcess({ clock }), name: 'second' };
    const atSecond = harness.with({ processor: second });
    const slow: ProcessorBooks = {
      ...first,
      readCharge: async (_id, { timeoutMs }) => {
        const untilMs = clock.nowMs() + timeoutMs;
        // Reads that began at the same time end at the same time.
        await new Promise(setImmediate);
        clock.advance(Math.max(0, untilMs - clock.nowMs()));
        throw new AmbiguousError('processor_timeout', 'no response');
      },
    };
    const books = [how === 'respond' ? first : slow, second];
    const ids = [];
    for (let of = 0; of < REFUNDS; of += 1) ids.push(await harness.paid(`first-${of}`));
    const id = await atSecond.paid('second');
    for (let hour = 0; hour < 30; hour += 1) harness.wait(60);
    for (const each of ids) await harness.change(`${each}/refunds`, 'r', { amount: 100 });
    clock.advance(1_000);
    const refunded = await atSecond.change(`${id}/refunds`, 'r', { amount: 100 });
    expect(refunded.status).toBe(201);
    const [charge] = second.charges(id);
    invariant(charge !== undefined, 'the payment has no charge');
    await second.inside.refund(charge.chargeId, 300);
    for (let hour = 0; hour < 6; hour += 1) await runAfterAnHour(harness, books);
    expect(harness.differences()).toMatchObject([{ subject: id, status: 'confirmed' }]);
  },
);

test.each([
  ['time out', new AmbiguousError('processor_timeout', 'no response'), 8],
  ['return unreadable charges', new AmbiguousError('processor_answer_unreadable', 'no amount'), 20],
  ['fail because of a bug', new TypeError('undefined is not a charge'), 20],
])(
  'a run that compares 20 open mismatches again makes a limited number of reads if the reads %s',
  async (_what, error, most) => {
    const harness = new ReconcileHarness();
    const { processor } = harness;
    for (let each = 0; each < 20; each += 1) {
      const id = await harness.paid(`open-${each}`);
      await harness.inside.refund(harness.chargeOf(id).chargeId, 300);
    }
    await runAfterAnHour(harness, [processor]);
    expect(harness.differences()).toHaveLength(20);
    harness.wait(48 * 60);
    let reads = 0;
    const read = (): Promise<never> => {
      reads += 1;
      return Promise.reject(error);
    };
    await runAfterAnHour(harness, [{ ...processor, readCharge: read, chargesOfPayment: read }]);
    expect(reads).toBe(most);
    await runAfterAnHour(harness, [processor]);
    expect(harness.differences()).toMatchObject(Array.from({ length: 20 }, () => ({ status: 'confirmed' })));
  },
);
