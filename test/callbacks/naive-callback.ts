import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { sourceOf } from '../../lambdas/callbacks/receive-callback.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import { nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf, readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { requestedAt } from '../support/causes.ts';
import type { CallbackReceiver } from './callback-story.ts';

/** The write does not depend on the check, and the posting and the record are written separately. */
export const naiveReceiver: CallbackReceiver = async (actor, event, world) => {
  const { processor, clock } = world;
  const { effects } = world.toolsOf(actor);
  const operationId = callbackOperation(systemDigest, sourceOf(processor), event.eventId);
  if ((await effects.readEffect(operationId)) !== undefined) return;
  const charge = await processor.readCharge(event.chargeId, { timeoutMs: 1_000 });
  if (charge?.paymentId === undefined) throw new Error('the event names no payment');
  const chain = await readChain(effects, charge.paymentId);
  if (chain === undefined) throw new Error('the payment does not exist');

  const undecided = chainOf(chain.transitions.slice(0, 2));
  const decision = decide({ kind: 'succeeded', chargeId: event.chargeId }, undecided.state);
  if (decision.kind !== 'append') throw new Error('the naive receiver posts without a decision');
  const record = {
    operationId,
    owner: ownerToken('naive'),
    recordedAtMs: clock.nowMs(),
    expiresAtSeconds: Math.ceil(clock.nowMs() / 1000) + 60,
  };
  for (let newest = chain; ; ) {
    const posting = nextTransition(systemDigest, newest, decision.draft, requestedAt(clock.nowMs()));
    const anyKey = callbackOperation(systemDigest, 'posting', crypto.randomUUID());
    const posted = await effects.recordEffect({ record: { ...record, operationId: anyKey }, transitions: [posting] });
    if (posted.kind === 'recorded') break;
    newest = (await readChain(effects, charge.paymentId)) ?? newest;
  }
  await effects.recordEffect({ record, transitions: [] });
};
