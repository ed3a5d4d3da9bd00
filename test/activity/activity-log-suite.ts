import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ActivityChain, ActivityDraft } from '../../lambdas/activity/domain/activity.ts';
import { type ActivityLog, verifyActivity } from '../../lambdas/activity/use/activity-log.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { BY_OPERATOR } from '../support/causes.ts';

export interface ActivityLogUnderTest {
  readonly log: ActivityLog;
  record(draft: ActivityDraft): Promise<unknown>;
  forge(chain: string, sequence: number): Promise<unknown>;
}

const ALL = { order: 'oldest_first', limit: 100 } as const;

export function describeActivityLog(name: string, make: () => Promise<ActivityLogUnderTest>): void {
  let made = 0;
  let subject: ActivityLogUnderTest;
  let shop: Exclude<ActivityChain, string>;
  beforeEach(async () => {
    subject = await make();
    made += 1;
    shop = { tenantId: tenantId(`ten_log_${process.pid}_${made}`), mode: 'test' };
  });

  const draft = (about: string, chain: ActivityChain = shop): ActivityDraft => ({
    chain,
    action: 'correction.made',
    actor: BY_OPERATOR,
    about: [about, 'pay_1'],
    details: { reason: '“x” 決済' },
    occurredAtMs: Date.UTC(2026, 2, 1) + about.length,
  });

  describe(`the ${name} activity log`, () => {
    test('returns every field of an entry, in both orders and in pages', async () => {
      expect(await subject.log.listActivity(shop, ALL)).toEqual([]);
      const drafts = ['a', 'bb', 'ccc', 'dddd'].map((about) => draft(about));
      for (const each of drafts) await subject.record(each);
      await subject.record(draft('other', { ...shop, mode: 'live' }));
      const entries = await subject.log.listActivity(shop, ALL);
      const chain = `${shop.tenantId}#test`;
      expect(entries).toMatchObject(drafts.map((each, index) => ({ ...each, chain, sequence: index + 1 })));
      const page = (order: 'newest_first' | 'oldest_first', from: number, limit: number) =>
        subject.log.listActivity(shop, { order, from, limit });
      expect(await page('oldest_first', 1, 2)).toEqual(entries.slice(1, 3));
      expect(await page('newest_first', 4, 2)).toEqual(entries.slice(1, 3).toReversed());
      expect(await subject.log.listActivity(shop, { order: 'newest_first', limit: 9 })).toEqual(entries.toReversed());
    });

    test('links the entries of concurrent writers into one chain', async () => {
      await Promise.all(Array.from({ length: 5 }, (_, index) => subject.record(draft(String(index)))));
      expect(await verifyActivity({ log: subject.log, digest: systemDigest }, shop)).toEqual({ entries: 5 });
    });

    test('passes verification up to the first changed entry', async () => {
      for (const about of ['a', 'b', 'c', 'd']) await subject.record(draft(about));
      await subject.forge(`${shop.tenantId}#test`, 3);
      const verified = await verifyActivity({ log: subject.log, digest: systemDigest }, shop);
      expect(verified).toEqual({ entries: 2, broken: 3 });
    });
  });
}
