import pMap from 'p-map';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentWorld } from '../payments/payment-world.ts';
import { everyNth } from './fault-histories.ts';
import { FAULT_KINDS, type FaultKind, FaultPlan, type PlannedFault } from './fault-plan.ts';

/** A world whose calls follow the plan. */
export type MakeWorld = (plan: FaultPlan) => { readonly world: PaymentWorld; readonly request: CreatePayment };

/** How a rival meets the first attempt. */
interface Race {
  /** The rival acts right before this call of the first attempt; undefined: there is none. */
  readonly rivalAt?: number;
  /** Whether the first attempt's lease has ended when the rival comes. */
  readonly leaseEnded?: boolean;
}

interface History extends Race {
  readonly faults: readonly PlannedFault[];
}

interface Finding {
  readonly history: History;
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

export interface Survey {
  readonly histories: number;
  readonly findings: readonly Finding[];
}

export interface SurveyOptions {
  /** How many faults a history may have: 1 finds every single fault, 2 every pair. */
  readonly faults: number;
  /** @default all */
  readonly kinds?: readonly FaultKind[];
  /** @default every shape of race */
  readonly races?: readonly Race[];
  /** Of the histories with the most faults, one of so many is run, evenly spread. @default 1: every one */
  readonly oneOf?: number;
  /** How many worlds run at once. @default 1 */
  readonly concurrency?: number;
}

/** Longer than any lease. Milliseconds. */
const BEYOND_LEASE_MS = 26_000;

/** claim, charge, commit. */
const CALLS_OF_FIRST = 3;

export const ALONE: readonly Race[] = [{}];

/** No rival, and one before each call of the first attempt, its lease running or ended. */
const EVERY_RACE: readonly Race[] = [
  ...ALONE,
  ...Array.from({ length: CALLS_OF_FIRST }, (_, index) => index + 1).flatMap((rivalAt) => [
    { rivalAt, leaseEnded: false },
    { rivalAt, leaseEnded: true },
  ]),
];

/**
 * First attempt (with a rival inside it, when the history has one), then the client's retry after the lease, then quiet:
 * the invariants are looked at after each step, and in the end the client must have its answer.
 */
async function runHistory(make: MakeWorld, history: History): Promise<Finding> {
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
  const calls = [...plan.calls];
  const answer = await world.settle(request);
  await look('in quiet');
  if (answer === undefined) violations.push('I7: no stored answer');
  // Within the send window quiet ends in the truth, or in an honest "not known yet".
  if (answer !== undefined && answer.status !== 201 && answer.status !== 202) {
    violations.push(`the client was told ${answer.status}`);
  }
  return { history, calls, violations };
}

/**
 * Runs every history with up to `faults` faults: every call of every run is struck with every kind, and the calls that
 * the strike brings about are struck in turn, so that nothing is left out and nothing is run twice.
 */
export async function survey(make: MakeWorld, options: SurveyOptions): Promise<Survey> {
  const { kinds = FAULT_KINDS, races = EVERY_RACE, concurrency = 1, oneOf = 1 } = options;
  const findings: Finding[] = [];
  let histories = 0;
  let generation: readonly History[] = races.map((race) => ({ ...race, faults: [] }));
  for (let faults = 0; faults <= options.faults; faults += 1) {
    const part = faults === options.faults ? everyNth(generation, oneOf) : generation;
    const runs = await pMap(part, (history) => runHistory(make, history), { concurrency });
    histories += runs.length;
    findings.push(...runs.filter(({ violations }) => violations.length > 0));
    generation = runs.flatMap((run) => oneFaultMore(run, kinds));
  }
  return { histories, findings };
}

function oneFaultMore({ history, calls }: Finding, kinds: readonly FaultKind[]): readonly History[] {
  const struck = history.faults.at(-1)?.point ?? 0;
  return calls
    .map((_, index) => index + 1)
    .filter((point) => point > struck)
    .flatMap((point) => kinds.map((kind) => ({ ...history, faults: [...history.faults, { point, kind }] })));
}

/** The promises that were broken, each once, for example `I1`. */
export function brokenPromises({ findings }: Survey): readonly string[] {
  const promises = findings.flatMap(({ violations }) => violations.map((text) => /\bI\d\b/.exec(text)?.[0] ?? text));
  return [...new Set(promises)].sort();
}
