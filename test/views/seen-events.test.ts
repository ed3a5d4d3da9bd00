import { expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ProjectedEvents } from '../../lambdas/views/use/projected-events.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { takenAt } from './ledger-reader-suite.ts';
import { MemoryViews } from './memory-views.ts';

const owner = { tenantId: tenantId('ten_seen'), mode: 'live' as const };

/** Views whose worker crashes before its last write. */
class DyingViews extends MemoryViews {
  override async put(rows: Parameters<MemoryViews['put']>[0]): Promise<void> {
    if (rows.some(({ partition }) => partition.startsWith('SEEN#'))) throw new RetryableError('gone', 'dead');
    return super.put(rows);
  }
}

test('an event is reported as projected only after all its rows were written', async () => {
  const chains = Array.from({ length: 60 }, (_, index) => takenAt(owner, `k-${index}`, 1_000 + index));
  const events = eventsOf(systemDigest, chains.flat());
  const places = chains.map(([first]) => ({ paymentId: first?.payment.id ?? ('' as never), sequence: 2 }));
  const views = new MemoryViews();
  for (const event of events.filter((_, index) => index % 2 === 0))
    await projectEvent({ runner: idempotentRunner, views }, event);
  const dying = new DyingViews();
  for (const event of events)
    await projectEvent({ runner: idempotentRunner, views: dying }, event).catch(() => undefined);

  expect(await new ProjectedEvents(views).unprocessed(places)).toEqual(places.filter((_, index) => index % 2 === 1));
  expect(await new ProjectedEvents(dying).unprocessed(places)).toEqual(places);
  expect(dying.all().length).toBeGreaterThan(60);
});
