import { beforeEach, describe, expect, test } from '@jest/globals';
import { ViewsRow } from '../../lambdas/kernel/contract/rows.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { totalKey } from '../../lambdas/views/domain/lists.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { initialRebuildState } from '../../lambdas/views/use/rebuild-views.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { comparedPayment, differsBy } from '../reconciliation/mismatch-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { takenAt } from './ledger-reader-suite.ts';
import { RebuildWorld } from './rebuild-world.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const TODAY_MS = Date.UTC(2026, 2, 10);
const owner = { tenantId: tenantId('ten_rebuild'), mode: 'test' as const };

let harness: RebuildWorld;

beforeEach(() => {
  const days = [1, 2, 3].flatMap((day) => takenAt(owner, `k-${day}`, TODAY_MS - day * DAY_MS));
  harness = new RebuildWorld(TODAY_MS + DAY_MS / 2, days);
});

async function projectAll(): Promise<void> {
  for (const event of eventsOf(systemDigest, harness.written))
    await projectEvent({ runner: idempotentRunner, views: harness.views }, event);
}

describe('a rebuild of the views', () => {
  test('fills an empty table with all rows except the marks of projected events, and closes the days', async () => {
    const { counts, differences } = await harness.rebuild();
    const rebuilt = harness.views.all();
    await harness.views.clear();
    await projectAll();
    await closeDays({ views: harness.views, clock: harness.clock, entropy: countingEntropy() }, owner, 10);

    expect(differences).toEqual([]);
    expect(counts).toEqual({ projected: 3, removed: 0, daysClosed: 3, compared: 3 });
    const withoutTokens = (rows: ReturnType<typeof harness.views.all>) =>
      rows
        .filter(({ partition }) => !partition.startsWith(ViewsRow.projected))
        .map((row) => ({ ...row, body: row.body.replace(/"token":"[^"]*"/, '') }));
    expect(withoutTokens(rebuilt)).toEqual(withoutTokens(harness.views.all()));
    expect(rebuilt.filter(({ partition }) => partition.startsWith(ViewsRow.projected))).toEqual([]);
  });

  test('removes rows that cannot be derived from the Ledger, and corrects the totals', async () => {
    await projectAll();
    const stray = takenAt(owner, 'never-happened', TODAY_MS - 2 * DAY_MS);
    for (const event of eventsOf(systemDigest, stray))
      await projectEvent({ runner: idempotentRunner, views: harness.views }, event);
    await closeDays({ views: harness.views, clock: harness.clock, entropy: countingEntropy() }, owner, 10);
    const key = totalKey(owner, TODAY_MS - 2 * DAY_MS);
    const before = await harness.views.read(key);

    const { counts, differences } = await harness.rebuild();

    expect(before?.body).toContain('2000');
    expect((await harness.views.read(key))?.body).not.toContain('2000');
    expect(counts.removed).toBeGreaterThan(0);
    expect(differences).toEqual([]);
    expect(harness.views.all().filter(({ chainId }) => chainId === stray[0]?.payment.id)).toEqual([]);
  });

  test('reads each chain once per pass over the Ledger, and one transition for each row of the Views', async () => {
    await projectAll();
    const { store } = harness;
    const limits: number[] = [];
    const { differences } = await harness.rebuild({
      store: {
        listTransitions: (paymentId, page) => {
          limits.push(page.limit);
          return store.listTransitions(paymentId, page);
        },
      },
    });
    expect(differences).toEqual([]);
    expect(limits.filter((limit) => limit > 1)).toHaveLength(2 * 3);
    expect(limits.filter((limit) => limit === 1).length).toBeGreaterThan(2 * 3);
  });

  test('reports a payment that this code cannot read, keeps its rows, and rebuilds the rows of all other payments', async () => {
    await projectAll();
    const unreadable = harness.written[0]?.payment.id;
    const { store } = harness;
    const before = harness.views.all();
    const { counts, differences } = await harness.rebuild({
      store: {
        listTransitions: async (paymentId, page) => {
          if (paymentId === unreadable) throw new TypeError('a transition of another version');
          return store.listTransitions(paymentId, page);
        },
      },
    });
    expect(differences).toEqual([{ kind: 'unreadable', chainId: unreadable, unreadable: 'TypeError' }]);
    expect(counts).toMatchObject({ projected: 2 });
    const rowsOf = (rows: typeof before) => rows.filter(({ chainId }) => chainId === unreadable);
    expect(rowsOf(harness.views.all())).toEqual(rowsOf(before));
  });

  test('changes the row format of payments, and every payment stays in its list during the change', async () => {
    await projectAll();
    const shown = () =>
      harness.views.all().filter(({ partition }) => partition.startsWith('PAYMENT#ten_rebuild#test#'));
    // Rows in the format of an earlier version.
    const old = shown().map((row) => ({ ...row, body: row.body.replace('"status"', '"state"') }));
    await harness.views.put(old);
    const counts: number[] = [];
    const { views } = harness;
    const watched = new Proxy(views, {
      get: (target, name: keyof typeof views) => {
        if (name !== 'exchange') return target[name].bind(target);
        return async (changes: Parameters<typeof views.exchange>[0]) => {
          const applied = await target.exchange(changes);
          counts.push(shown().length);
          return applied;
        };
      },
    });
    const { differences } = await harness.rebuild({ views: watched });

    expect(differences).toEqual([]);
    expect(new Set(counts)).toEqual(new Set([old.length]));
    expect(shown().map(({ body }) => body.includes('"status"'))).toEqual(old.map(() => true));
    expect(old).toHaveLength(3);
  });

  test('keeps the rows of comparisons with a processor and reports no difference for them', async () => {
    const digest = systemDigest;
    const { owner: _owner, ...nobodys } = comparedPayment('n', { subject: 'ch_1' });
    for (const about of [comparedPayment('k'), nobodys]) {
      await recordComparison({ views: harness.views, digest }, about, differsBy(1700), TODAY_MS);
    }
    const before = harness.views.all();

    const { counts, differences } = await harness.rebuild();

    expect(counts.removed).toBe(0);
    expect(differences).toEqual([]);
    expect(harness.views.all().filter(({ partition }) => partition.startsWith('MISMATCH'))).toEqual(before);
    expect(before).toHaveLength(4);
  });

  test('resumes after an interruption at any page', async () => {
    await harness.rebuild();
    const { length: pages } = harness.states;
    const whole = harness.views.all().length;
    for (let page = 0; page < pages; page += 1) {
      const later = new RebuildWorld(TODAY_MS + DAY_MS / 2, harness.written);
      await expect(later.rebuild({}, initialRebuildState(2), page)).rejects.toThrow('the process has crashed');
      const state = later.states.at(-1) ?? initialRebuildState(2);
      const { differences } = await later.rebuild({}, JSON.parse(JSON.stringify(state)) as typeof state);

      expect(differences).toEqual([]);
      expect(later.views.all()).toHaveLength(whole);
    }
    expect(pages).toBeGreaterThan(8);
  });
});

describe('a comparison', () => {
  test('finds no difference in correct views', async () => {
    await projectAll();
    expect((await harness.compare()).differences).toEqual([]);
  });

  test('reports missing, stray and altered rows, and wrong totals', async () => {
    await projectAll();
    await closeDays({ views: harness.views, clock: harness.clock, entropy: countingEntropy() }, owner, 10);
    const rows = harness.views.all();
    const find = (start: string) => rows.find(({ partition }) => partition.startsWith(start));
    const [book, event, total] = [find('BOOK#ten_rebuild#test#all'), find('EVENT#'), find('TOTAL#')];
    if (book === undefined || event === undefined || total === undefined) throw new Error('the rows do not exist');
    await harness.views.exchange([{ key: book }]);
    await harness.views.put([
      { ...event, body: event.body.replace('1000', '9000') },
      { ...total, body: total.body.replace('1000', '9000') },
      { ...book, sort: `${book.sort}x` },
    ]);

    const { differences } = await harness.compare();

    expect(new Set(differences.map(({ kind }) => kind))).toEqual(new Set(['wrong_or_missing', 'stray', 'total']));
    expect(differences.map(({ key }) => key?.partition)).toEqual(
      expect.arrayContaining([book.partition, total.partition]),
    );
  });

  test('waits for events that are projected late', async () => {
    await projectAll();
    const late = takenAt(owner, 'late', TODAY_MS);
    harness.write(late);
    let looks = 0;
    const { differences } = await harness.rebuild(
      {
        clock: {
          nowMs: () => harness.clock.nowMs(),
          sleep: async () => {
            looks += 1;
            if (looks === 2) await projectAll();
          },
        },
      },
      initialRebuildState(1, 'compare_ledger'),
    );

    expect(differences).toEqual([]);
    expect(looks).toBe(2);
  });
});
