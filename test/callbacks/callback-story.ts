import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { sourceOf } from '../../lambdas/callbacks/receive-callback.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { assertBalanced } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { CallbackEvent } from '../../lambdas/payments/use/effect-store.ts';
import { callback } from '../payments/payment-fixtures.ts';
import { beforeEachCall, type Story } from '../support/fault-histories.ts';
import { Actor, FaultPlan } from '../support/fault-plan.ts';
import { World, type WorldOptions } from '../world/world.ts';

/** The histories must detect a faulty receiver. */
export type CallbackReceiver = (actor: Actor, event: CallbackEvent, world: CallbackWorld) => Promise<unknown>;

/** Checks the invariants of the callbacks about the charge of one asynchronous payment. */
export class CallbackWorld extends World {
  readonly eventId: string;
  readonly #request: CreatePayment;

  constructor(options: WorldOptions, request: CreatePayment, eventId = 'evt_1') {
    super(options);
    this.eventId = eventId;
    this.#request = request;
  }

  /** The callback is not delivered yet. Returns the id of the charge. */
  async prepare(): Promise<string> {
    await this.pay(this.#request);
    const charge = this.chargeOf(this.#request);
    await this.processor.inside.approve(charge);
    return charge;
  }

  async violations(acknowledged: readonly CallbackEvent[]): Promise<readonly string[]> {
    const transitions = await this.transitionsOf(this.#request);
    const found: string[] = [];
    const sets = transitions.filter(({ postings }) => postings.length > 0);
    if (sets.length > 1) found.push(`I2: ${sets.length} sets of postings`);
    for (const { postings } of sets) assertBalanced(postings);
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the chain is broken');
    for (const event of acknowledged) {
      const { eventId } = event;
      const record = await this.store.readEffect(callbackOperation(systemDigest, sourceOf(this.processor), eventId));
      if (record === undefined) found.push(`${eventId} was acknowledged without being stored`);
      if (sets.length === 0) found.push(`${eventId} was acknowledged without postings`);
    }
    return found;
  }
}

export const engineReceiver: CallbackReceiver = (actor, event, world) => {
  const { effects, books } = world.toolsOf(actor);
  const [asked] = books;
  invariant(asked !== undefined, 'the simulated system has no processor books');
  return world.deliver(event, { effects, books: asked });
};

/**
 * The rival delivers the same event, or another event that reports the same fact, just before call number `rivalAt`.
 */
interface Race {
  readonly rivalAt?: number;
  readonly event?: 'same' | 'other';
}

/** The five calls are readEffect, readCharge, listTransitions, readCharge and recordEffect. */
export const RACES: readonly Race[] = [{}, ...beforeEachCall(5, [{ event: 'same' }, { event: 'other' }] as const)];

/**
 * The story has a delivery and a redelivery with faults and, if neither is acknowledged, a last delivery without
 * faults.
 */
export function callbackStory(make: () => CallbackWorld, how: CallbackReceiver): Story<Race> {
  return async (faults, { rivalAt, event: rival }) => {
    const world = make();
    const charge = await world.prepare();
    const plan = new FaultPlan(faults);
    const acknowledged: CallbackEvent[] = [];
    const violations: string[] = [];
    const deliver = async (name: string, event: CallbackEvent): Promise<void> => {
      const actor = new Actor(name, plan);
      if ('result' in (await actor.run(() => how(actor, event, world)))) acknowledged.push(event);
      violations.push(...(await world.violations(acknowledged)));
    };

    const event = callback(world.eventId, charge);
    plan.holdAt(rivalAt, () => deliver('rival', rival === 'same' ? event : callback(`${world.eventId}_2`, charge)));
    await deliver('first', event);
    await deliver('redelivery', event);
    const calls = plan.calm();
    if (!acknowledged.includes(event)) await deliver('last', event);
    if (!acknowledged.includes(event)) violations.push('the callback is never acknowledged');
    return { calls, violations };
  };
}
