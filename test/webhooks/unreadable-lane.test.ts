import { expect, test } from '@jest/globals';
import { sweepWebhooks } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import { HANGING, MINUTE_MS, NORMAL, Site } from './webhook-site.ts';

const [SHARE, EXCESS] = [100, 2];

test.each(['readable', 'unreadable'])(
  'a backlog whose lane is %s arrives completely and does not delay other tenants',
  async (which) => {
    const site = new Site();
    await site.add(HANGING, 80);
    await site.add(NORMAL, 80);
    await site.addDue(HANGING, SHARE + EXCESS);
    await site.addDue(NORMAL, 3);
    const error = new SyntaxError('written by a future version');
    if (which === 'unreadable') site.store.readLane = () => Promise.reject(error);
    await sweepWebhooks(site.tools);
    await site.clock.until(site.clock.nowMs() + MINUTE_MS);
    const arrivedAt = (url: string) => site.arrivals.filter((each) => each.url === url).length;
    expect(arrivedAt(NORMAL.url)).toBe(3);
    // If the lane is unreadable, the excess deliveries wait for the next round, so that they do not occupy the shared
    // senders.
    const [faults, arrived] = which === 'readable' ? [[], SHARE + EXCESS] : [[error], SHARE];
    expect([site.failed, arrivedAt(HANGING.url)]).toEqual([faults, arrived]);
    await site.clock.until(site.clock.nowMs() + 10 * MINUTE_MS);
    await sweepWebhooks(site.tools);
    await site.clock.until(site.clock.nowMs() + MINUTE_MS);
    expect(arrivedAt(HANGING.url)).toBe(SHARE + EXCESS);
  },
);
