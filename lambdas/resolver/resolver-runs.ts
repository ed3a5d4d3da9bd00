import type { Resolved } from '../app/resolve.ts';
import { type ResolveAllTools, sweepsOf } from '../app/resolve-all.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

export interface ResolverTools extends Omit<ResolveAllTools, 'report' | 'told'> {
  readonly telemetry: Telemetry;
}

/** One run over all queues, each after the other; one that cannot be read now does not hold up the others. */
export function resolverRuns(tools: ResolverTools): () => Promise<Readonly<Record<string, Resolved>>> {
  const { telemetry } = tools;
  const sweeps = sweepsOf({
    ...tools,
    report: (error) => telemetry.fault('resolver', error),
    told: (queue, resolved, inReview) => {
      const { finished, failed, undecidable } = resolved;
      const counts = { resolved: finished, unavailable: failed, undecidable, order_needs_review: inReview };
      telemetry.run(`resolve ${queue}`, counts, { ...resolved });
    },
  });
  return async () => {
    const came: Record<string, Resolved> = {};
    const startedAtMs = tools.clock.nowMs();
    for (const [queue, sweep] of Object.entries(sweeps)) came[queue] = await sweep({ startedAtMs });
    return came;
  };
}

/** A row that the code in place cannot read is for a person: it stays in its queue, and is told of at every reading. */
export function unreadableRows(telemetry: Telemetry): (error: unknown) => void {
  return (error) => {
    telemetry.fault('resolver', error);
    telemetry.run('resolve unreadable', { undecidable: 1 }, { unreadable: 1 });
  };
}
