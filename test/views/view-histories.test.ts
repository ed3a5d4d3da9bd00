/** Tests the guarantee "exact views". */
import { describe, test } from '@jest/globals';
import type { PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import type { BooksOwner } from '../../lambdas/views/use/ledger-reader.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { fc } from '../support/properties.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { whole } from '../support/slice.ts';
import { checkViews, OWNERS } from './check-views.ts';
import { MemoryViews } from './memory-views.ts';
import { ScheduledViews } from './scheduled-views.ts';
import { BEGIN_MS, chainFor, paymentPlans } from './view-histories.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/**
 * A delivery of an event. Each event has one delivery without a planned crash, and up to two that crash at a call. All
 * deliveries are shuffled and run concurrently.
 */
interface Delivery {
  readonly event: PayonceEvent;
  readonly diesAt: number | undefined;
  readonly afterCall: boolean;
}

const deliveriesOf = (events: readonly PayonceEvent[]): fc.Arbitrary<readonly Delivery[]> =>
  fc
    .tuple(
      ...events.map((event) =>
        fc
          .array(fc.record({ diesAt: fc.integer({ min: 1, max: 14 }), afterCall: fc.boolean() }), { maxLength: 2 })
          .map((dying): readonly Delivery[] => [
            ...dying.map((death) => ({ event, ...death })),
            { event, diesAt: undefined, afterCall: false },
          ]),
      ),
    )
    .chain((perEvent) => {
      const all = perEvent.flat();
      return fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length });
    });

describe('the views, with events in any order, redeliveries and crashes', () => {
  test('match the Ledger while days are closed and reopened', async () => {
    const histories = paymentPlans
      .map((plans) => plans.map(chainFor))
      .chain((chains) => {
        const events = eventsOf(systemDigest, chains.flat());
        return fc.record({ chains: fc.constant(chains), deliveries: deliveriesOf(events) });
      });
    await fc.assert(
      fc.asyncProperty(histories, fc.scheduler(), async ({ chains, deliveries }, scheduler) => {
        const views = new MemoryViews();
        const clock = new SimulatedClock(BEGIN_MS + 10 * DAY_MS);
        const entropy = countingEntropy();
        const died: Delivery[] = [];
        const deliver = async (delivery: Delivery): Promise<void> => {
          const { event, diesAt, afterCall } = delivery;
          try {
            await projectEvent(
              { runner: idempotentRunner, views: new ScheduledViews(views, scheduler, diesAt, afterCall) },
              event,
            );
          } catch {
            died.push(delivery);
          }
        };
        const close = (owner: BooksOwner) =>
          closeDays({ views: new ScheduledViews(views, scheduler), clock, entropy }, owner, 2);

        const running = [
          ...deliveries.map(deliver),
          ...OWNERS.flatMap((owner) => [close(owner), close(owner).then(() => close(owner))]),
        ];
        await scheduler.waitFor(Promise.all(running));
        // The queue redelivers unacknowledged messages, including a message whose delivery lost too many races.
        for (const { event } of died) await projectEvent({ runner: idempotentRunner, views }, event);

        await checkViews(views, chains);
        for (const owner of OWNERS) await closeDays({ views, clock, entropy }, owner, 10);
        await checkViews(views, chains);
      }),
      { numRuns: whole(250, { slice: 25 }) },
    );
  });
});
