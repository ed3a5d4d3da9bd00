import { describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { isPublicType } from '../../lambdas/views/domain/views.ts';
import { eventsOfRange } from '../../lambdas/views/use/read-event.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { fc } from '../support/properties.ts';
import { Stores } from '../world/stores.ts';
import { ProjectedViews } from './projected-views.ts';
import { BEGIN_MS, chainFor, paymentPlans } from './view-histories.ts';

const HOUR_MS = 60 * 60 * 1000;
/** Maximum number of pages, with one event per page. */
const MAX_PAGES = 1_000;

async function projected(written: readonly Transition[]): Promise<ProjectedViews> {
  const store = new Stores();
  await store.write(written);
  const made = new ProjectedViews(store);
  await made.range({ partition: 'none', from: '', until: '', limit: 1 });
  return made;
}

describe('the events of a time range', () => {
  test('contain each event of the tenant exactly once, and no other event, for any page size', async () => {
    const ranges = fc.record({
      plans: paymentPlans,
      limit: fc.integer({ min: 1, max: 3 }),
      fromMs: fc.integer({ min: -2, max: 40 * HOUR_MS }).map((ms) => BEGIN_MS + ms),
      lengthMs: fc.integer({ min: 1, max: 50 * HOUR_MS }),
    });
    await fc.assert(
      fc.asyncProperty(ranges, async ({ plans, limit, fromMs, lengthMs }) => {
        const written = plans.flatMap(chainFor);
        const views = await projected(written);
        const range = { tenantId: 'ten_a' as never, mode: 'test', fromMs, untilMs: fromMs + lengthMs } as const;
        const found: string[] = [];
        let cursor: string | undefined;
        for (let pages = 0; pages < MAX_PAGES; pages += 1) {
          const page = await eventsOfRange(views, { ...range, limit, ...(cursor === undefined ? {} : { cursor }) });
          expect(page.events.length).toBeLessThanOrEqual(limit);
          found.push(...page.events.map(({ eventId }) => eventId));
          cursor = page.cursor;
          if (cursor === undefined) break;
        }
        const expected = eventsOf(systemDigest, written)
          .filter(({ event }) => isPublicType(event.type as never))
          .filter(({ tenant, mode }) => tenant === range.tenantId && mode === 'test')
          .filter(({ occurredAtMs }) => occurredAtMs >= range.fromMs && occurredAtMs < range.untilMs);
        expect([...found].sort()).toEqual(expected.map(({ event }) => event.id).sort());
      }),
      { numRuns: 60 },
    );
  });
});
