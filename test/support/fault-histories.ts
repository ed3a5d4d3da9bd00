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
 */
export async function surveyFaults(
  run: (faults: readonly PlannedFault[]) => Promise<HistoryRun>,
  depth: number,
): Promise<HistorySurvey> {
  const findings: HistorySurvey['findings'][number][] = [];
  let histories = 0;
  let generation: readonly (readonly PlannedFault[])[] = [[]];
  for (let count = 0; count <= depth; count += 1) {
    const next: (readonly PlannedFault[])[] = [];
    for (const faults of generation) {
      const { calls, violations } = await run(faults);
      histories += 1;
      if (violations.length > 0) findings.push({ faults, violations });
      const struck = faults.at(-1)?.point ?? 0;
      for (let point = struck + 1; point <= calls.length; point += 1) {
        next.push(...FAULT_KINDS.map((kind) => [...faults, { point, kind }]));
      }
    }
    generation = next;
  }
  return { histories, findings };
}
