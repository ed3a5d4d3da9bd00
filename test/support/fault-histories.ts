import pMap, { pMapSkip } from 'p-map';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { FAULT_KINDS, type FaultKind, type PlannedFault } from './fault-plan.ts';
import { sliceOf } from './slice.ts';

export interface HistoryRun {
  /** All calls of all processes, in order. */
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

interface Finding<Race> extends HistoryRun {
  readonly race: Race;
  readonly faults: readonly PlannedFault[];
}

export interface HistorySurvey<Race = unknown> {
  readonly histories: number;
  /** Histories that violate a guarantee. */
  readonly findings: readonly Finding<Race>[];
}

export type Story<Race = undefined> = (faults: readonly PlannedFault[], race: Race) => Promise<HistoryRun>;

export interface SurveyOptions<Race = undefined> {
  /** Maximum number of faults in one history: 1 for every single fault, 2 for every pair. */
  readonly faults: number;
  /**
   * Races, each of them combined with every fault.
   *
   * @default histories run without a race
   */
  readonly races?: readonly Race[];
  /** Number of concurrent histories, which must share nothing. @default 1 */
  readonly atOnce?: number;
  /**
   * Returns the kinds of faults that a call with the given name can have.
   *
   * @default every kind
   */
  readonly kindsOf?: (call: string) => readonly FaultKind[];
  /**
   * Divisor for the histories that have the maximum number of faults: `npm test` runs one of every `oneOf` histories,
   * and `npm run prove` runs all. A list has one divisor for each number of faults, from no fault to the maximum. No
   * two divisors may have a common factor, and no divisor may have a common factor with the number of kinds of faults.
   *
   * @default 1
   */
  readonly oneOf?: number | readonly number[];
  /**
   * Ends the survey at the first violation with this text. For faulty code, in which a violation is expected.
   *
   * @default all histories are run
   */
  readonly until?: string;
}

/**
 * For a read, an applied call and a call that was not applied have the same effect, so only one kind of each such pair
 * is returned. This saves time on the DynamoDB API.
 */
export function faultKindsByEffect(call: string): readonly FaultKind[] {
  return /\.(?:GetItem|BatchGetItem|Query)Command$/.test(call)
    ? ['crash_before', 'throttle', 'ambiguous_lost']
    : FAULT_KINDS;
}

/**
 * Every call of every run gets a fault of every kind, including calls that exist only because of an earlier fault. In
 * `npm run prove`, no history is left out or run twice.
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
  const divisors = typeof oneOf === 'number' ? [...Array.from({ length: most }, () => 1), oneOf] : oneOf;
  // If two divisors had a common factor, the slices together would lack some histories. If a divisor had a common
  // factor with the number of kinds, a slice would lack some kinds of faults.
  const areCoprime = divisors.every((one, at) =>
    [FAULT_KINDS.length, ...divisors.slice(at + 1)].every((other) => commonFactor(one, other) === 1),
  );
  invariant(areCoprime, `oneOf is ${divisors.join()}: its divisors or the number of kinds have a common factor`);
  const findings: Finding<Race>[] = [];
  let histories = 0;
  let isFound = false;
  let generation = races.map((race) => ({ race, faults: [] as readonly PlannedFault[] }));
  for (let count = 0; count <= most; count += 1) {
    const part = sliceOf(generation, divisors[count] ?? 1);
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

function commonFactor(one: number, other: number): number {
  return other === 0 ? one : commonFactor(other, one % other);
}

/** Returns lists of faults: for each later call and each kind, `faults` and one more fault. */
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

/** In each race, the rival acts immediately before one of the first `calls` calls. */
export function beforeEachCall<Rival extends object>(
  calls: number,
  rivals: readonly Rival[],
): readonly (Rival & { readonly rivalAt: number })[] {
  return Array.from({ length: calls }, (_, index) => index + 1).flatMap((rivalAt) =>
    rivals.map((rival) => ({ ...rival, rivalAt })),
  );
}

/**
 * Lists the violated guarantees without duplicates: for each violation, the text that matches `pattern` or, without a
 * match, the complete violation.
 */
export function violatedGuarantees({ findings }: HistorySurvey, pattern = /\bI\d\b/): readonly string[] {
  const promises = findings.flatMap(({ violations }) => violations.map((text) => pattern.exec(text)?.[0] ?? text));
  return [...new Set(promises)].sort();
}
