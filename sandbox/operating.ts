import type { Charge } from '../lambdas/kernel/contract/sandbox-api.ts';
import type { KeyedRequest } from './books.ts';
import { change } from './changing.ts';
import type { Decision } from './charge.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';
import type { SandboxWorld } from './world.ts';

/** A requested capture, void, refund or control operation. */
export interface Operation {
  readonly decide: (charge: Charge) => Decision;
  readonly request?: KeyedRequest | undefined;
  /** The status of the answer if the operation was applied before, under the same key. */
  readonly status: 200 | 201;
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
        : errorReply(422, 'idempotency_key_mismatch', 'The key was used before with another operation.');
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
  return errorReply(409, 'busy', 'Other requests are changing this charge; nothing was done.');
}
