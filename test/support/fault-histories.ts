import { FAULT_KINDS, type PlannedFault } from './fault-plan.ts';

/** What a run of one history tells. */
export interface HistoryRun {
  /** Every call that left a process, in order. */
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

export interface HistorySurvey {
  readonly histories: number;
  readonly findings: readonly { readonly faults: readonly PlannedFault[]; readonly violations: readonly string[] }[];
}

/**
 * Runs every history with up to `depth` faults: every call of every run is struck with every kind, and the calls that the
 * strike brings about are struck in turn.
 *
 * @param atOnce how many run at once; they must share nothing
 */
export async function surveyFaults(
  run: (faults: readonly PlannedFault[]) => Promise<HistoryRun>,
  depth: number,
  atOnce = 1,
): Promise<HistorySurvey> {
  const findings: HistorySurvey['findings'][number][] = [];
  let histories = 0;
  let generation: readonly (readonly PlannedFault[])[] = [[]];
  for (let count = 0; count <= depth; count += 1) {
    const next: (readonly PlannedFault[])[] = [];
    for (let start = 0; start < generation.length; start += atOnce) {
      const some = generation.slice(start, start + atOnce);
      const runs = await Promise.all(some.map(async (faults) => ({ faults, ...(await run(faults)) })));
      histories += runs.length;
      findings.push(
        ...runs.flatMap(({ faults, violations }) => (violations.length > 0 ? [{ faults, violations }] : [])),
      );
      next.push(...runs.flatMap(({ faults, calls }) => struckFurther(faults, calls)));
    }
    generation = next;
  }
  return { histories, findings };
}

/** The same faults and one more, at each call behind the last of them. */
function struckFurther(faults: readonly PlannedFault[], calls: readonly string[]): (readonly PlannedFault[])[] {
  const from = faults.at(-1)?.point ?? 0;
  return calls
    .slice(from)
    .flatMap((_call, index) => FAULT_KINDS.map((kind) => [...faults, { point: from + index + 1, kind }]));
}
