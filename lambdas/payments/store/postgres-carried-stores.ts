import type { CommitOutcome } from '../../once/use/record-store.ts';
import type { PostgresTools } from '../../postgres/attempts.ts';
import { type CarryTools, carryAfterCommit } from '../../postgres/carry.ts';
import type { Effect, EffectOutcome } from '../use/effect-store.ts';
import type { Commit, PaymentStore } from '../use/payment-store.ts';
import { PostgresEffects } from './postgres-effects.ts';
import { PostgresStore } from './postgres-store.ts';

type Carrying = Pick<CarryTools, 'carrier' | 'observer'>;

/**
 * Stores payments in PostgreSQL, and copies a payment after each commit. A claim is not copied before its call, so that
 * the call does not wait for DynamoDB.
 */
export class CarriedPostgresStore extends PostgresStore {
  readonly #carrying: Carrying;

  constructor(tools: PostgresTools, carrying: Carrying) {
    super(tools);
    this.#carrying = carrying;
  }

  override async commit(commit: Commit): Promise<CommitOutcome> {
    const outcome = await super.commit(commit);
    if (outcome.kind === 'committed') await carryAll(this.#carrying, [commit.transition]);
    return outcome;
  }
}

/** Stores effects in PostgreSQL, and copies the payment after each effect. */
export class CarriedPostgresEffects extends PostgresEffects {
  readonly #carrying: Carrying;

  constructor(tools: PostgresTools, transitions: Pick<PaymentStore, 'listTransitions'>, carrying: Carrying) {
    super(tools, transitions);
    this.#carrying = carrying;
  }

  override async recordEffect(effect: Effect): Promise<EffectOutcome> {
    const outcome = await super.recordEffect(effect);
    if (outcome.kind === 'recorded') await carryAll(this.#carrying, effect.transitions);
    return outcome;
  }
}

/** Copies the payment of the transitions, if there are any. */
async function carryAll(carrying: Carrying, [first]: readonly Commit['transition'][]): Promise<void> {
  if (first !== undefined) await carryAfterCommit(carrying, first.payment.id);
}
