import { expect, test } from '@jest/globals';
import { settledUntil } from '../../cli/verify.ts';
import { moveCarriedUntil, SETTLED_AFTER_MS } from '../../lambdas/jobs/use/carried-until.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

test.each([
  ['dynamodb', Number.POSITIVE_INFINITY],
  ['postgres', 0],
  ['dsql', 0],
])(
  'payonce verify does not require archived copies of rows that may not yet be copied from PostgreSQL: %s',
  async (authority, beforeMs) => {
    const clock = new SimulatedClock();
    const { database, activity, jobMarks } = new Stores(clock);
    const opened = { client: database.client, tables: TABLES, pacing: { clock, entropy: countingEntropy() } };
    expect(await settledUntil(opened)).toBe(Number.POSITIVE_INFINITY);
    await activity.recordSettings({ authority });
    expect(await settledUntil(opened)).toBe(beforeMs);
    const copiedMs = clock.nowMs();
    await moveCarriedUntil(jobMarks, [copiedMs], copiedMs);
    expect(await settledUntil(opened)).toBe(0);
    await moveCarriedUntil(jobMarks, [copiedMs + SETTLED_AFTER_MS], copiedMs + SETTLED_AFTER_MS);
    expect(await settledUntil(opened)).toBe(copiedMs);
  },
);
