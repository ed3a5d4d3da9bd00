import pMap from 'p-map';
import { sourceOf } from '../../lambdas/callbacks/receive-callback.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { callbackOperation } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { assertBalanced } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { CallbackEvent } from '../../lambdas/payments/use/effect-store.ts';
import { callback } from '../payments/payment-fixtures.ts';
import { everyNth } from '../support/fault-histories.ts';
import { Actor, Crash, FAULT_KINDS, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { World, type WorldOptions } from '../world/world.ts';

/** The code that receives a callback: the engine, or a mutant that must be detected. */
export type TakeIn = (actor: Actor, event: CallbackEvent, world: CallbackWorld) => Promise<unknown>;

/** A payment whose charge has succeeded. The processor redelivers its callback until it is acknowledged. */
export class CallbackWorld extends World {
  /** The id of the delivered event. */
  readonly eventId: string;
  readonly #request: CreatePayment;

  constructor(options: WorldOptions, request: CreatePayment, eventId = 'evt_1') {
    super(options);
    this.eventId = eventId;
    this.#request = request;
  }

  /** Creates a payment that waits for its callback; its charge has succeeded. @returns the charge's id */
  async prepare(): Promise<string> {
    await this.pay(this.#request);
    const charge = this.chargeOf(this.#request);
    await this.processor.inside.approve(charge);
    return charge;
  }

  async violations(acknowledged: readonly CallbackEvent[]): Promise<readonly string[]> {
    const effects = this.store;
    const transitions = await effects.listTransitions(this.#request.paymentId, { afterSequence: 0, limit: 100 });
    const found: string[] = [];
    const sets = transitions.filter(({ postings }) => postings.length > 0);
    if (sets.length > 1) found.push(`I2: ${sets.length} sets of postings`);
    for (const { postings } of sets) assertBalanced(postings);
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the chain is broken');
    for (const event of acknowledged) {
      const { eventId } = event;
      const record = await effects.readEffect(callbackOperation(systemDigest, sourceOf(event), eventId));
      if (record === undefined) found.push(`${eventId} was acknowledged and is not stored`);
      if (sets.length === 0) found.push(`${eventId} was acknowledged and nothing is posted`);
    }
    return found;
  }
}

/** Receives the callback with the engine. */
export const takeIn: TakeIn = (actor, event, world) => {
  const { effects, books } = world.toolsOf(actor);
  const [asked] = books;
  invariant(asked !== undefined, 'a callback needs books');
  return world.deliver(event, { effects, books: asked });
};

interface History {
  readonly faults: readonly PlannedFault[];
  /** A rival's delivery immediately before this call: of the same event, or of another event with the same fact. */
  readonly rival?: { readonly at: number; readonly event: 'same' | 'other' };
}

interface Finding {
  readonly history: History;
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

export interface CallbackSurvey {
  readonly histories: number;
  readonly findings: readonly Finding[];
}

/** readEffect, readCharge, listTransitions, recordEffect. */
const CALLS = 4;

const EVERY_RIVAL: readonly History[] = [
  { faults: [] },
  ...Array.from({ length: CALLS }, (_, index) => index + 1).flatMap((at) =>
    (['same', 'other'] as const).map((event) => ({ faults: [], rival: { at, event } })),
  ),
];

/** One delivery with faults, then redeliveries until one is acknowledged. */
async function runHistory(make: () => CallbackWorld, how: TakeIn, history: History): Promise<Finding> {
  const world = make();
  const charge = await world.prepare();
  const plan = new FaultPlan(history.faults);
  const acknowledged: CallbackEvent[] = [];
  const violations: string[] = [];
  const deliver = async (name: string, event: CallbackEvent): Promise<void> => {
    const actor = new Actor(name, plan);
    try {
      await how(actor, event, world);
      acknowledged.push(event);
    } catch (error) {
      const known = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof Crash;
      if (!known && !actor.crashed) throw error;
    }
    violations.push(...(await world.violations(acknowledged)));
  };

  const event = callback(world.eventId, charge);
  const { rival } = history;
  if (rival !== undefined) {
    const other = rival.event === 'same' ? event : callback(`${world.eventId}_2`, charge);
    plan.interruption = { point: rival.at, act: () => deliver('rival', other) };
  }
  await deliver('first', event);
  await deliver('redelivery', event);
  const calls = [...plan.calls];
  plan.active = false;
  if (!acknowledged.includes(event)) await deliver('last', event);
  if (!acknowledged.includes(event)) violations.push('it is never taken in');
  return { history, calls, violations };
}

interface SurveyOptions {
  readonly faults: number;
  /** Also with a rival before each call. @default true */
  readonly rivals?: boolean;
  /** Runs one of this many histories with the most faults, evenly distributed. @default 1: all */
  readonly oneOf?: number;
  readonly concurrency?: number;
}

/** Every history with up to `faults` faults at any calls, alone and with a rival before each call. */
export async function surveyCallbacks(
  make: () => CallbackWorld,
  how: TakeIn,
  { faults, rivals = true, concurrency = 1, oneOf = 1 }: SurveyOptions,
): Promise<CallbackSurvey> {
  const findings: Finding[] = [];
  let histories = 0;
  let generation: readonly History[] = rivals ? EVERY_RIVAL : [{ faults: [] }];
  for (let count = 0; count <= faults; count += 1) {
    const part = count === faults ? everyNth(generation, oneOf) : generation;
    const runs = await pMap(part, (history) => runHistory(make, how, history), { concurrency });
    histories += runs.length;
    findings.push(...runs.filter(({ violations }) => violations.length > 0));
    generation = runs.flatMap(({ history, calls }) => {
      const struck = history.faults.at(-1)?.point ?? 0;
      const points = calls.map((_, index) => index + 1).filter((point) => point > struck);
      return points.flatMap((point) =>
        FAULT_KINDS.map((kind) => ({ ...history, faults: [...history.faults, { point, kind }] })),
      );
    });
  }
  return { histories, findings };
}
