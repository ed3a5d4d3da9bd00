/** Tests the guarantee "exact views". */
import { describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import type { RebuildTools } from '../../lambdas/views/use/rebuild-views.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';
import { checkViews, OWNERS } from './check-views.ts';
import type { MemoryViews } from './memory-views.ts';
import { RebuildWorld } from './rebuild-world.ts';
import { ScheduledViews } from './scheduled-views.ts';
import { BEGIN_MS, chainFor, paymentPlans } from './view-histories.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW_MS = BEGIN_MS + 10 * DAY_MS;

/** Manual damage to a row: it is deleted, has another row's body or a later sequence number, or has a wrong key. */
type Damage = 'lost' | 'altered' | 'misplaced' | 'future' | 'foreign';
const damages = fc.array(
  fc.record({
    at: fc.nat(),
    damage: fc.constantFrom<Damage>('lost', 'altered', 'misplaced', 'future', 'foreign'),
  }),
  { maxLength: 6 },
);

async function damage(views: MemoryViews, { at, damage: kind }: { at: number; damage: Damage }): Promise<void> {
  const rows = views.all();
  const row = rows[at % Math.max(1, rows.length)];
  const other = rows[(at * 7 + 3) % Math.max(1, rows.length)];
  if (row === undefined || other === undefined) return;
  const wrong: Readonly<Record<Exclude<Damage, 'lost'>, ViewRow>> = {
    altered: { ...row, body: other.partition.split('#')[0] === row.partition.split('#')[0] ? other.body : row.body },
    misplaced: { ...row, sort: row.sort.replace(/^\d/, '1') },
    future: { ...row, sequence: row.sequence + 7 },
    foreign: { ...row, partition: row.partition.replace('#test#', '#live#') },
  };
  if (kind === 'lost') await views.exchange([{ key: row }]);
  else await views.put([wrong[kind]]);
}

/** The scheduler interleaves the calls of the rebuild with those of the projector. */
class ScheduledScan extends ScheduledViews {
  readonly #scan: RebuildTools['views'];

  constructor(store: RebuildTools['views'], scheduler: fc.Scheduler) {
    super(store, scheduler);
    this.#scan = store;
  }

  scan(step: Parameters<RebuildTools['views']['scan']>[0]): ReturnType<RebuildTools['views']['scan']> {
    return this.#scan.scan(step);
  }
}

describe('a rebuild', () => {
  test('restores damaged views from the Ledger while events arrive, and a later comparison finds no difference', async () => {
    const plans = fc.record({ plans: paymentPlans, known: fc.nat({ max: 100 }), harm: damages });
    await fc.assert(
      fc.asyncProperty(plans, fc.scheduler(), async ({ plans: payments, known, harm }, scheduler) => {
        const chains = payments.map(chainFor);
        const all = chains.flat().sort((left, right) => left.occurredAtMs - right.occurredAtMs);
        const early = all.filter((_, index) => index < (all.length * known) / 100);
        // The events of a payment cannot be computed without its first transition.
        const firsts = all.filter(({ sequence }) => sequence === 1);
        const harness = new RebuildWorld(NOW_MS, early);
        const { views } = harness;
        for (const event of eventsOf(systemDigest, [...firsts, ...early.filter(({ sequence }) => sequence > 1)])) {
          if (
            early.some(({ payment, sequence }) => payment.id === event.payment.id && sequence === event.event.sequence)
          )
            await projectEvent({ runner: idempotentRunner, views }, event);
        }
        const closing = { clock: harness.clock, entropy: countingEntropy() };
        for (const owner of OWNERS) await closeDays({ views, ...closing }, owner, 10);
        for (const each of harm) await damage(views, each);

        const failed: unknown[] = [];
        const traffic = async (): Promise<void> => {
          for (const transition of all.filter((each) => !early.includes(each))) {
            await scheduler.schedule(Promise.resolve(), 'commit');
            harness.write([transition]);
          }
          const late = eventsOf(systemDigest, all).filter(
            ({ payment, event }) =>
              !early.some((each) => each.payment.id === payment.id && each.sequence === event.sequence),
          );
          await Promise.all(
            late.map((event) =>
              projectEvent({ runner: idempotentRunner, views: new ScheduledViews(views, scheduler) }, event).catch(
                async () => {
                  failed.push(event);
                  await projectEvent({ runner: idempotentRunner, views }, event);
                },
              ),
            ),
          );
        };
        const closer = OWNERS.map((owner) =>
          closeDays({ views: new ScheduledViews(views, scheduler), ...closing }, owner, 3),
        );
        await scheduler.waitFor(
          Promise.all([harness.rebuild({ views: new ScheduledScan(views, scheduler) }), traffic(), ...closer]),
        );

        const { differences } = await harness.compare();
        expect(differences).toEqual([]);
        await checkViews(views, chains);
      }),
      { numRuns: whole(120, { slice: 15 }) },
    );
  });
});
