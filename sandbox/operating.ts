import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { KeyedRequest } from './books.ts';
import { change } from './changing.ts';
import { type Decision, refused } from './charge.ts';
import { answered, type Behavior, magicSource } from './magic-sources.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';
import type { SandboxWorld } from './world.ts';

export interface Operation {
  readonly decide: (charge: Charge) => Decision;
  readonly request?: KeyedRequest | undefined;
  /** The response has this status if the operation was already applied under the same key. */
  readonly status: 200 | 201;
}

export interface RequestedChange extends Omit<Operation, 'decide'> {
  readonly decide: (charge: Charge, refundBegins: 'pending' | 'succeeded') => Decision;
  /** Null for a capture or void. */
  readonly refundId: string | null;
}

const PROMPT: Behavior = { effect: 'succeed', answer: { kind: 'honest', delayMs: 0 } };

/**
 * Behaves as the magic source of a switched-on failure does at the first send of a charge: the change can be declined,
 * not applied, or left without a response. A refund can be pending at first.
 */
export async function changeOnRequest(world: SandboxWorld, chargeId: string, asked: RequestedChange): Promise<Reply> {
  const { decide, refundId, ...operation } = asked;
  const switched = await world.books.takeSwitchedFailure('changes');
  const { effect, answer, sequel } = magicSource(switched ?? '')?.first ?? PROMPT;
  if (effect === 'nothing') {
    return answered(world.wait, answer, undefined);
  }
  const pending = effect === 'wait' && refundId !== null;
  if (pending && sequel !== undefined) {
    const to = sequel.to === 'decline' ? 'fail_refund' : 'succeed_refund';
    const task = { kind: 'advance', chargeId, to, attempt: 1, partId: refundId, heldEventId: null } as const;
    await world.tasks.enqueue(task, sequel.afterSeconds);
  }
  const reply = await operate(world, chargeId, {
    ...operation,
    decide: (charge) =>
      effect === 'decline'
        ? refused('card_declined', 'The card was declined.')
        : decide(charge, pending ? 'pending' : 'succeeded'),
  });
  return answered(world.wait, answer, reply);
}

export async function operate(world: SandboxWorld, chargeId: string, operation: Operation): Promise<Reply> {
  const { decide, request, status } = operation;
  const outcome = await change(world, chargeId, decide, { request });
  switch (outcome.kind) {
    case 'missing':
      return errorReply(404, 'not_found', `There is no charge ${chargeId}.`);
    case 'known':
      return outcome.operation.fingerprint === request?.fingerprint
        ? { status, body: outcome.operation.body }
        : errorReply(422, 'idempotency_key_mismatch', 'The key was already used with a different operation.');
    case 'busy':
      return busy();
    case 'decided': {
      const { decision } = outcome;
      return decision.kind === 'refused'
        ? errorReply(400, decision.code, decision.message)
        : jsonReply(decision.answer.status, decision.answer.body);
    }
  }
}

export function busy(): Reply {
  return errorReply(409, 'busy', 'Other requests are changing this charge. Nothing was done.');
}
