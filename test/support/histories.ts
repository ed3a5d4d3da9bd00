import type { CreatePayment } from '../../lambdas/app/create-payment-types.ts';
import { FAULT_KINDS, FaultPlan, type PlannedFault } from './fault-plan.ts';
import type { World } from './world.ts';

/** A world whose calls follow the plan. */
export type MakeWorld = (plan: FaultPlan) => { readonly world: World; readonly request: CreatePayment };

interface History {
  readonly faults: readonly PlannedFault[];
  /** The rival acts right before this call of the first attempt; undefined: there is none. */
  readonly rivalAt?: number;
  /** Whether the first attempt's lease has ended when the rival comes. */
  readonly leaseEnded?: boolean;
}

interface Finding {
  readonly history: History;
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

/** Longer than any lease. Milliseconds. */
const BEYOND_LEASE_MS = 26_000;

/**
 * First attempt (with a rival inside it, when the history has one), then the client's retry after the lease, then quiet:
 * the invariants are looked at after each step, and in the end the client must have its answer.
 */
export async function runHistory(make: MakeWorld, history: History): Promise<Finding | undefined> {
  const plan = new FaultPlan(history.faults);
  const { world, request } = make(plan);
  const violations: string[] = [];
  const look = async (when: string): Promise<void> => {
    const found = await world.violations(request);
    violations.push(...found.map((violation) => `${when}: ${violation}`));
  };

  if (history.rivalAt !== undefined) {
    plan.interruption = {
      point: history.rivalAt,
      act: async () => {
        if (history.leaseEnded === true) world.clock.advance(BEYOND_LEASE_MS);
        await world.attempt('rival', request);
        await look('after the rival');
      },
    };
  }
  await world.attempt('first', request);
  await look('after the first attempt');
  world.clock.advance(BEYOND_LEASE_MS);
  await world.attempt('retry', request);
  await look('after the retry');
  const answer = await world.settle(request);
  await look('in quiet');
  if (answer === undefined) violations.push('I7: no stored answer');
  // With sends left and time left, quiet ends in the truth or in an honest "not known yet".
  if (answer !== undefined && answer.status !== 201 && answer.status !== 202) {
    violations.push(`the client was told ${answer.status}`);
  }
  return violations.length === 0 ? undefined : { history, calls: plan.calls, violations };
}

/** How many calls the fault-free history makes. */
async function countCalls(make: MakeWorld, history: Omit<History, 'faults'>): Promise<number> {
  const plan = new FaultPlan();
  const { world, request } = make(plan);
  if (history.rivalAt !== undefined) {
    plan.interruption = {
      point: history.rivalAt,
      act: async () => {
        if (history.leaseEnded === true) world.clock.advance(BEYOND_LEASE_MS);
        await world.attempt('rival', request);
      },
    };
  }
  await world.attempt('first', request);
  world.clock.advance(BEYOND_LEASE_MS);
  await world.attempt('retry', request);
  return plan.calls.length;
}

/** A fault makes a run longer: this many calls beyond the fault-free ones are struck too. */
const EXTRA_POINTS = 8;

/** Every shape of race: none, and a rival before each call of the first attempt, its lease running or ended. */
function* races(callsOfFirst: number): Generator<Omit<History, 'faults'>> {
  yield {};
  for (let rivalAt = 1; rivalAt <= callsOfFirst; rivalAt += 1) {
    yield { rivalAt, leaseEnded: false };
    yield { rivalAt, leaseEnded: true };
  }
}

/** Every single fault at every point. */
export function* singleFaults(calls: number): Generator<readonly PlannedFault[]> {
  for (let point = 1; point <= calls + EXTRA_POINTS; point += 1) {
    for (const kind of FAULT_KINDS) yield [{ point, kind }];
  }
}

/** Every pair of faults at two points. */
export function* pairsOfFaults(calls: number): Generator<readonly PlannedFault[]> {
  for (let first = 1; first <= calls + EXTRA_POINTS; first += 1) {
    for (let second = first + 1; second <= calls + EXTRA_POINTS; second += 1) {
      for (const kind of FAULT_KINDS) {
        for (const other of FAULT_KINDS) {
          yield [
            { point: first, kind },
            { point: second, kind: other },
          ];
        }
      }
    }
  }
}

/** All races, each with all faults that `faultsFor` gives. */
async function* allHistories(
  make: MakeWorld,
  faultsFor: (calls: number) => Iterable<readonly PlannedFault[]>,
): AsyncGenerator<History> {
  const callsOfFirst = 3;
  for (const race of races(callsOfFirst)) {
    const calls = await countCalls(make, race);
    for (const faults of faultsFor(calls)) yield { ...race, faults };
  }
}

export interface Survey {
  readonly histories: number;
  readonly findings: readonly Finding[];
}

/** Runs every race with all faults that `faultsFor` gives, and reports what broke a promise. */
export async function survey(
  make: MakeWorld,
  faultsFor: (calls: number) => Iterable<readonly PlannedFault[]>,
): Promise<Survey> {
  const findings: Finding[] = [];
  let histories = 0;
  for await (const history of allHistories(make, faultsFor)) {
    histories += 1;
    const finding = await runHistory(make, history);
    if (finding !== undefined) findings.push(finding);
  }
  return { histories, findings };
}

/** The promises that were broken, each once, for example `I1`. */
export function brokenPromises({ findings }: Survey): readonly string[] {
  const promises = findings.flatMap(({ violations }) => violations.map((text) => /\bI\d\b/.exec(text)?.[0] ?? text));
  return [...new Set(promises)].sort();
}
