import { expect, test } from '@jest/globals';
import { RegistryRow } from '../../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../../lambdas/kernel/contract/tables.ts';
import { parseOrphan } from '../../../lambdas/payments/store/queue-items.ts';
import { storyNamed } from '../stories/story.ts';
import { TABLES } from '../tables.ts';
import { lengthOf, perform } from './perform.ts';
import { SimulatedSystem } from './system.ts';

const MINUTE_MS = 60_000;

test('an orphaned callback among a thousand of another program is retried every minute, and adopted once its payment exists', async () => {
  globalThis.spendCases?.(1);
  const { history } = storyNamed('orphan-among-callbacks-of-another-program');
  const system = await SimulatedSystem.begin(history.seed);
  /** Times at which a run tried the orphan, and at which the orphan was adopted. */
  const [tries, adopted]: [number[], number[]] = [[], []];
  system.database.listen((changes) => {
    for (const { table, before, after } of changes) {
      const row = after ?? before;
      const partition = row?.[KeyAttribute.partition];
      if (table !== TABLES.registry || row === undefined || typeof partition !== 'string') continue;
      if (!partition.startsWith(RegistryRow.orphan) || parseOrphan(row).event.paymentId === undefined) continue;
      if (after === undefined) adopted.push(system.nowMs);
      else if (before !== undefined) tries.push(system.nowMs);
    }
  });
  const startMs = system.nowMs;
  perform(system, history);
  for (let minute = 2; minute < 20; minute += 1)
    system.at(startMs + minute * MINUTE_MS, `run ${minute}`, () => system.runJob('retry-orphans'));
  await system.run(startMs + lengthOf(history) + 10 * MINUTE_MS);

  const paidMs = startMs + Math.max(...history.steps.map(({ atMs }) => atMs));
  const triedMinutes = new Set(tries.map((atMs) => Math.floor((atMs - startMs) / MINUTE_MS)));
  expect([...triedMinutes]).toEqual(Array.from({ length: 14 }, (_, place) => place + 2));
  expect(adopted).toHaveLength(1);
  expect(Math.floor(((adopted[0] ?? 0) - paidMs) / MINUTE_MS)).toBeLessThan(2);
});
