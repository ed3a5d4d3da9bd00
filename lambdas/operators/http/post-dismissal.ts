import * as z from 'zod';
import type { Handled } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed } from '../../http/endpoint.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveQueueRequestId } from '../ids.ts';
import { DISMISSAL_REASONS, type DismissTools, dismissCallback } from '../use/dismiss-callback.ts';
import { dismissal, dismissalPath, dismissalReason } from './attention-answers.ts';
import { recordedAnswer } from './recorded-answer.ts';

interface PostDismissalTools extends DismissTools {
  readonly digest: Digest;
}

const dismissalBody = z
  .strictObject({
    reason: z.enum(DISMISSAL_REASONS, `must be one of ${DISMISSAL_REASONS.join(', ')}`).meta(dismissalReason),
  })
  .meta({ id: 'DismissCallback' });

export const postDismissal = keyed({
  path: '/v1/admin/callbacks/{id}/dismiss',
  role: 'operator',
  body: dismissalBody,
  handle: dismiss,
  docs: {
    operationId: 'dismissCallback',
    tag: 'Operators',
    summary: 'Dismiss an unmatched callback',
    description:
      'Removes a callback about a charge that belongs to no known payment, after you have looked the charge up at the processor. The activity log keeps the charge and the reason. ' +
      'The charge itself does not change. A later callback about the charge is listed again.',
    path: dismissalPath,
    key: ['dismissal', 'the callback is dismissed once'],
    requests: { nothing_due: { summary: 'No refund is due to the payer', value: { reason: 'nothing_due' } } },
    answers: { 201: { description: 'The dismissal.', schema: dismissal } },
  },
});

async function dismiss(call: KeyedCall<PostDismissalTools, typeof dismissalBody, Operator>): Promise<Handled> {
  const { tools, request, caller, id, key, fingerprint, body } = call;
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/callbacks/${id}/dismiss`, key };
  const outcome = await dismissCallback(tools, {
    operationId: deriveQueueRequestId(tools.digest, scope),
    fingerprint,
    by: causedByOperator(call),
    callback: id,
    reason: body.reason,
  });
  return recordedAnswer(outcome, request, problem('not_found', 'There is no such unmatched callback.'));
}
