import { RetryableError } from '../../kernel/faults.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { redriveOperation } from '../ids.ts';
import type { DeadLetter, DeadLetters } from './dead-letters.ts';
import { type CallMadeAgain, callAgain, type RedriveTools } from './redrive-dead-letters.ts';

export interface DelayedCallTools extends Pick<RedriveTools, 'report'> {
  readonly deadLetters: Pick<DeadLetters, 'put'>;
  readonly makeLast: RedriveTools['makeAgain'];
  readonly recordGivenUp: (deadLetter: DeadLetter, id: string) => Promise<void>;
  readonly runner: OperationRunner;
}

/**
 * Makes the last attempt of a call whose earlier attempts failed, and dead-letters the call if this attempt fails, too.
 * The message serves as the record: it is deleted only after this function has returned, and a redelivery repeats the
 * call with the same key.
 *
 *   caller   call ✗ … ✗ ── delayed message ── "queued" in the order
 *   message                    └─ 30 s ── call ─▶ done: the outcome is in the order
 *                                              └▶ given up: dead letter, "failed" or "unknown" in the order
 *
 * A repeated delivery can end without a call, for example because the payment has since been refunded. The outcome is
 * then unknown, because an earlier delivery may have made the call.
 *
 * @param id the message's id, which the order's chain records as the cause
 * @param isRepeated whether the message was delivered before
 * @throws RetryableError while the vendor must not be called yet (Retry-After, an open breaker, or an earlier send
 * without a known outcome), or when the dead letter or the order cannot be written: the message must be redelivered
 */
export async function makeDelayedCall(
  tools: DelayedCallTools,
  deadLetter: DeadLetter,
  id: string,
  isRepeated: boolean,
): Promise<CallMadeAgain['kind']> {
  return tools.runner.run<DeadLetter, CallMadeAgain, CallMadeAgain['kind']>(redriveOperation(id), {
    claim: async () => ({ kind: 'claimed', held: deadLetter }),
    execute: (held) => callAgain({ ...tools, makeAgain: tools.makeLast }, held, id, mustWait),
    commit: async (result) => {
      if (result.kind === 'stays') {
        const mayHaveCalled = isRepeated && result.isUnmade === true;
        const { reason, mayBeApplied = deadLetter.mayBeApplied || mayHaveCalled } = result;
        const dead = { ...deadLetter, attempts: deadLetter.attempts + 1, reason, mayBeApplied };
        await tools.deadLetters.put(dead);
        await tools.recordGivenUp(dead, id);
      }
      return result.kind;
    },
  });
}

/** The call was not sent, or its outcome could not be recorded. */
function mustWait(error: unknown): boolean {
  return error instanceof RetryableError && error.retryAfterSeconds !== undefined;
}
