import type { KeyedRequest } from './books.ts';
import { decide, type Operation } from './charge.ts';
import type { SandboxWorld } from './charging.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';

/** Each conflict means that a rival's change went in, so this many rivals at once are served. */
const MAX_ATTEMPTS = 10;

/**
 * Captures, voids or refunds. A change is conditioned on the version that it was decided on, so two refunds of 70 out
 * of 100 cannot both be booked:
 *
 *   A: read v1 → decide        change v1 → changed (v2)
 *   B:          read v1 → decide                   change v1 → conflict   read v2 → decide → refused
 */
export async function operate(
  world: SandboxWorld,
  chargeId: string,
  operation: Operation,
  request: KeyedRequest | undefined,
): Promise<Reply> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const seen = await world.books.charge(chargeId);
    if (seen === undefined) {
      return errorReply(404, 'not_found', `There is no charge ${chargeId}.`);
    }
    const earlier = request && (await world.books.operation(chargeId, request.key));
    if (earlier !== undefined) {
      return earlier.fingerprint === request?.fingerprint
        ? { status: operation.kind === 'refund' ? 201 : 200, body: earlier.body }
        : errorReply(422, 'idempotency_key_mismatch', 'The key was used before with another operation.');
    }
    const decision = decide(operation, seen.charge);
    if (decision.kind === 'refused') {
      return errorReply(400, decision.code, decision.message);
    }
    const reply = jsonReply(decision.answer.status, decision.answer.body);
    const booked = request && { ...request, body: reply.body };
    if ((await world.books.change(seen, decision.charge, booked)) === 'changed') {
      return reply;
    }
  }
  return errorReply(409, 'busy', 'Other requests are changing this charge; nothing was done.');
}
