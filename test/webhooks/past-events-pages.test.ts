import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { ledgerPastEvents } from '../../lambdas/webhooks/use/past-events.ts';
import { MemoryTransitions } from '../payments/memory-transitions.ts';
import { eventsOf } from '../support/event-fixtures.ts';
import { BEGIN_MS, chainFor, paymentPlans } from '../support/view-histories.ts';

const HOUR_MS = 60 * 60 * 1000;
/** A range of two days has nearly three thousand minutes, twenty to a page. */
const MOST_PAGES = 1_000;

describe('the events of a range of time', () => {
  test('are all of the tenant’s and nobody else’s, each once, whatever the pages cut through', async () => {
    const ranges = fc.record({
      plans: paymentPlans,
      limit: fc.integer({ min: 1, max: 3 }),
      fromMs: fc.integer({ min: -2, max: 40 * HOUR_MS }).map((ms) => BEGIN_MS + ms),
      lengthMs: fc.integer({ min: 1, max: 50 * HOUR_MS }),
    });
    await fc.assert(
      fc.asyncProperty(ranges, async ({ plans, limit, fromMs, lengthMs }) => {
        const written = plans.flatMap(chainFor);
        const past = ledgerPastEvents(new MemoryTransitions(() => written), systemDigest, () => undefined);
        const range = { tenantId: 'ten_a' as never, mode: 'test', fromMs, untilMs: fromMs + lengthMs } as const;
        const found: string[] = [];
        let cursor: string | undefined;
        for (let pages = 0; pages < MOST_PAGES; pages += 1) {
          const page = await past.page({ ...range, limit, ...(cursor === undefined ? {} : { cursor }) });
          expect(page.events.length).toBeLessThanOrEqual(limit);
          found.push(...page.events.map(({ event }) => event.id));
          cursor = page.cursor;
          if (cursor === undefined) break;
        }
        const expected = eventsOf(systemDigest, written)
          .filter(({ tenant, mode }) => tenant === range.tenantId && mode === 'test')
          .filter(({ occurredAtMs }) => occurredAtMs >= range.fromMs && occurredAtMs < range.untilMs);
        expect([...found].sort()).toEqual(expected.map(({ event }) => event.id).sort());
      }),
      { numRuns: 60 },
    );
  });
});
