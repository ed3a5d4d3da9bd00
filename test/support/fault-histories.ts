import { FAULT_KINDS, type FaultKind, type PlannedFault } from './fault-plan.ts';

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

interface SurveyOptions {
  /** How many histories run at once; they must share nothing. @default one after the other */
  readonly atOnce?: number;
  /** With what a call is struck, by its name. @default every kind */
  readonly kindsOf?: (call: string) => readonly FaultKind[];
  /** Of the histories with the most faults, one of so many. @default 1 */
  readonly oneOf?: number;
}

/** A read that was applied and one that was not are the same: on the DynamoDB API each history takes its time. */
export function kindsByEffect(call: string): readonly FaultKind[] {
  return /\.(?:GetItem|Query)Command$/.test(call) ? ['crash_before', 'throttle', 'ambiguous_lost'] : FAULT_KINDS;
}

/**
 * Runs every history with up to `depth` faults: every call of every run is struck with every kind, and the calls that the
 * strike brings about are struck in turn.
 */
export async function surveyFaults(
  run: (faults: readonly PlannedFault[]) => Promise<HistoryRun>,
  depth: number,
  { atOnce = 1, kindsOf = () => FAULT_KINDS, oneOf = 1 }: SurveyOptions = {},
): Promise<HistorySurvey> {
  const findings: HistorySurvey['findings'][number][] = [];
  let histories = 0;
  let generation: readonly (readonly PlannedFault[])[] = [[]];
  for (let count = 0; count <= depth; count += 1) {
    const next: (readonly PlannedFault[])[] = [];
    const part = count === depth ? everyNth(generation, oneOf) : generation;
    for (let start = 0; start < part.length; start += atOnce) {
      const some = part.slice(start, start + atOnce);
      const runs = await Promise.all(some.map(async (faults) => ({ faults, ...(await run(faults)) })));
      histories += runs.length;
      findings.push(
        ...runs.flatMap(({ faults, violations }) => (violations.length > 0 ? [{ faults, violations }] : [])),
      );
      next.push(...runs.flatMap(({ faults, calls }) => struckFurther(faults, calls, kindsOf)));
    }
    generation = next;
  }
  return { histories, findings };
}

/**
 * A slice of an enumeration: one of so many, evenly spread over all of it.
 *
 * @param nth has no factor in common with the number of kinds of faults; otherwise the slice has the same kind everywhere
 */
export function everyNth<Item>(all: readonly Item[], nth: number): readonly Item[] {
  return all.filter((_, index) => index % nth === 0);
}

/** The same faults and one more, at each call behind the last of them. */
function struckFurther(
  faults: readonly PlannedFault[],
  calls: readonly string[],
  kindsOf: (call: string) => readonly FaultKind[],
): (readonly PlannedFault[])[] {
  const from = faults.at(-1)?.point ?? 0;
  return calls
    .slice(from)
    .flatMap((call, index) => kindsOf(call).map((kind) => [...faults, { point: from + index + 1, kind }]));
}
