import pMap, { pMapSkip } from 'p-map';
import { FAULT_KINDS, type FaultKind, type PlannedFault } from './fault-plan.ts';
import { sliceOf } from './slice.ts';

/** What one run of a story gives. */
export interface HistoryRun {
  /** Every call that left a process, in order. */
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

interface Finding<Race> extends HistoryRun {
  readonly race: Race;
  readonly faults: readonly PlannedFault[];
}

export interface HistorySurvey<Race = unknown> {
  readonly histories: number;
  /** The histories that violate a guarantee. */
  readonly findings: readonly Finding<Race>[];
}

/** Runs the story once, under these faults. */
export type Story<Race = undefined> = (faults: readonly PlannedFault[], race: Race) => Promise<HistoryRun>;

export interface SurveyOptions<Race = undefined> {
  /** The most faults of one history: 1 gives every single fault, 2 every pair. */
  readonly faults: number;
  /** The story is run with every fault in each of these races. @default one, which is undefined */
  readonly races?: readonly Race[];
  /** How many histories run at once; they must share nothing. @default 1 */
  readonly atOnce?: number;
  /** The kinds of faults that a call can have, by its name. @default every kind */
  readonly kindsOf?: (call: string) => readonly FaultKind[];
  /** `npm test` runs one of this many of the histories with the most faults, and `npm run prove` runs all. @default 1: every one */
  readonly oneOf?: number;
  /** A text of a violation: after the first history with it, no other begins. For code that must be found to be wrong. @default all are run */
  readonly until?: string;
}

/** For a read, it makes no difference whether it was applied. Histories on the DynamoDB API take long enough to leave that out. */
export function kindsByEffect(call: string): readonly FaultKind[] {
  return /\.(?:GetItem|Query)Command$/.test(call) ? ['crash_before', 'throttle', 'ambiguous_lost'] : FAULT_KINDS;
}

/**
 * Runs every history of a story with up to `faults` faults. Every call of every run gets a fault of every kind; calls that are made
 * only because of that fault get one in turn. No history is left out, and none is run twice.
 */
export async function surveyFaults<Race = undefined>(
  story: Story<Race>,
  {
    faults: most,
    races = [undefined as Race],
    atOnce = 1,
    kindsOf = () => FAULT_KINDS,
    oneOf = 1,
    until,
  }: SurveyOptions<Race>,
): Promise<HistorySurvey<Race>> {
  const findings: Finding<Race>[] = [];
  let histories = 0;
  let isFound = false;
  let generation = races.map((race) => ({ race, faults: [] as readonly PlannedFault[] }));
  for (let count = 0; count <= most; count += 1) {
    const part = count === most ? sliceOf(generation, oneOf) : generation;
    const play = async (history: (typeof part)[number]) => {
      if (isFound) return pMapSkip;
      globalThis.spendCases?.(1);
      const run = await story(history.faults, history.race);
      if (until !== undefined && run.violations.some((each) => each.includes(until))) isFound = true;
      return { ...history, ...run };
    };
    const runs = await pMap(part, play, { concurrency: atOnce });
    histories += runs.length;
    findings.push(...runs.filter(({ violations }) => violations.length > 0));
    generation = runs.flatMap(({ race, faults, calls }) =>
      withOneMore(faults, calls, kindsOf).map((more) => ({ race, faults: more })),
    );
  }
  return { histories, findings };
}

/** The same faults and one more, at each call after the last of them. */
function withOneMore(
  faults: readonly PlannedFault[],
  calls: readonly string[],
  kindsOf: (call: string) => readonly FaultKind[],
): readonly (readonly PlannedFault[])[] {
  const from = faults.at(-1)?.point ?? 0;
  return calls
    .slice(from)
    .flatMap((call, index) => kindsOf(call).map((kind) => [...faults, { point: from + index + 1, kind }]));
}

/** Each of these rivals before each of the first `calls` calls. */
export function beforeEachCall<Rival extends object>(
  calls: number,
  rivals: readonly Rival[],
): readonly (Rival & { readonly rivalAt: number })[] {
  return Array.from({ length: calls }, (_, index) => index + 1).flatMap((rivalAt) =>
    rivals.map((rival) => ({ ...rival, rivalAt })),
  );
}

/** The guarantees that were violated, each once: what `pattern` finds in a violation, or else all of it. */
export function brokenPromises({ findings }: HistorySurvey, pattern = /\bI\d\b/): readonly string[] {
  const promises = findings.flatMap(({ violations }) => violations.map((text) => pattern.exec(text)?.[0] ?? text));
  return [...new Set(promises)].sort();
}
