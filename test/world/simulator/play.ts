import type { History, Violation } from './contract.ts';
import { Watch } from './oracles/watch.ts';
import { lengthOf, perform, type StepEnd } from './perform.ts';
import type { SimulatedPostgres } from './postgres.ts';
import { SimulatedSystem } from './system.ts';

/** Number of days without faults, within which all unfinished work must be completed. */
const QUIET_DAYS = 40;
const HOUR_MS = 3_600_000;
/** In milliseconds. Exceeds the ten minutes that an oracle allows for a write. */
const AFTERWARDS_MS = 11 * 60_000;

export interface Played {
  readonly system: SimulatedSystem;
  readonly ends: readonly StepEnd[];
  /** All violations found at the same time as the first violation. */
  readonly violations: readonly Violation[];
}

/**
 * Stops at the first violation.
 *
 * @param postgres PostgreSQL database, if PostgreSQL is the authority
 *
 * @default DynamoDB is the authority
 */
export async function play(history: History, postgres?: SimulatedPostgres): Promise<Played> {
  globalThis.spendCases?.(1);
  const system = await SimulatedSystem.begin(history.seed, history.muted, await postgres?.empty());
  const watch = new Watch(system);
  const startMs = system.nowMs;
  const ends = perform(system, history);
  const lastMs = lengthOf(history) + HOUR_MS;
  const looks = history.steps.flatMap(({ atMs }) => [atMs, Math.min(lastMs, atMs + AFTERWARDS_MS)]);
  for (const atMs of [...looks, lastMs].toSorted((one, other) => one - other).map((afterMs) => startMs + afterMs)) {
    await system.run(atMs);
    const violations = watch.afterStep();
    if (violations.length > 0) return { system, ends, violations };
  }
  await system.becomeQuiet(QUIET_DAYS);
  const violations = [...watch.onceQuiet(), ...((await postgres?.wrongRows(system.account.database)) ?? [])];
  return { system, ends, violations };
}
