import type { Resolved } from '../../lambdas/resolving/use/process-entries.ts';
import { type ResolveAllTools, sweepsOf } from '../../lambdas/resolving/use/resolve-all.ts';
import { BY_RUN } from '../support/causes.ts';

export async function sweepAll(tools: ResolveAllTools): Promise<Readonly<Record<string, Resolved>>> {
  const results: Record<string, Resolved> = {};
  const startedAtMs = tools.clock.nowMs();
  for (const [queue, sweep] of Object.entries(sweepsOf(tools)))
    results[queue] = await sweep({ cause: BY_RUN, startedAtMs });
  return results;
}
