import { causedByRequest, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed } from '../../http/endpoint.ts';
import { preferredWait } from '../../http/prefer-wait.ts';
import { type Parsed, problem, valid } from '../../http/problems.ts';
import type { Problem } from '../../kernel/answer.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { MetadataName } from '../../kernel/contract/metadata.ts';
import { type EmailHashes, hashOfNew } from '../../kernel/email-hashes.ts';
import { awaitFirst } from '../../once/use/await-first.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import { chargeOperation, derivePaymentId } from '../ids.ts';
import type { ChangePaymentTools } from '../use/change-payment.ts';
import {
  type CreatePayment,
  type CreatePaymentOutcome,
  type CreatePaymentTools,
  createPayment,
} from '../use/create-payment.ts';
import { type ChooseProcessor, type KnownProcessors, processorFor } from '../use/pinned-processor.ts';
import { outcomeAnswer } from './outcome-answer.ts';
import { NO_PROCESSOR } from './payment-answers.ts';
import { createPaymentBody, loopbackProblem, payment, requestedPayment } from './payment-objects.ts';
import { PAYMENT_POSTS } from './payment-paths.ts';
import { runCounts } from './run-counts.ts';

export interface NewPaymentTools extends CreatePaymentTools {
  /** @default always the property `processor` */
  readonly choose?: ChooseProcessor;
  readonly emailHashes: EmailHashes;
}

export type PaymentsTools = ChangePaymentTools & NewPaymentTools;

type PostCall = KeyedCall<PaymentsTools, typeof createPaymentBody>;

export const postPayment = keyed({
  path: PAYMENT_POSTS.payments.path,
  scope: Scopes.paymentsWrite,
  body: createPaymentBody,
  handle,
  docs: {
    operationId: 'createPayment',
    tag: 'Payments',
    summary: 'Create a payment',
    description: 'Charges or, when `capture` is `manual`, authorizes the amount at the processor.',
    key: ['payment', 'the payer is charged once'],
    located: true,
    waits: true,
    requests: {
      smallest: { summary: 'Required fields only', value: { amount: 1000, currency: 'EUR', source: 'tok_ok' } },
      whole: {
        summary: 'All fields',
        value: {
          amount: 4250,
          currency: 'EUR',
          source: 'tok_ok',
          capture: 'manual',
          reference: 'order-6735',
          description: 'Two shirts',
          metadata: { order: '6735' },
        },
      },
    },
    answers: {
      201: { description: 'The amount was captured, or authorized when `capture` is manual.', schema: payment },
      202: {
        description:
          'The outcome is not known yet: the processor did not answer in time, decides later, or requires an action of the payer ' +
          '(`next_action`). GET shows the outcome later.',
        schema: payment,
      },
    },
    problems: [
      'payment_failed',
      'payment_canceled',
      'reference_already_used',
      'payment_not_attempted',
      ...NO_PROCESSOR,
    ],
  },
});

async function handle(call: PostCall): Promise<Handled> {
  const parsed = requested(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  const { tools, request } = call;
  const operationId = chargeOperation(parsed.value.paymentId);
  call.logFields.operationId = operationId;
  const wait = preferredWait(request.header('prefer'), call.enterWait);
  const notes: RunNotes = { takenOver: false, fenced: false };
  const ready = await preparePayment(tools, parsed.value);
  if (ready.kind === 'refused') return refusal(ready.problem, request);
  const outcome = await awaitFirst(tools, operationId, wait, () => ready.value(notes));
  return {
    answer: wait.applied(outcomeAnswer(outcome, request.requestId)),
    outcome: outcome.kind,
    counts: runCounts(outcome, notes),
  };
}

/**
 * @returns a function that creates the payment, or a problem if the processor does not accept the request
 * @throws as {@link hashOfNew}
 */
export async function preparePayment(
  tools: NewPaymentTools,
  asked: CreatePayment,
): Promise<Parsed<(notes: RunNotes) => Promise<CreatePaymentOutcome>>> {
  const processor = processorFor(tools, asked);
  const misfit = misfitProblem(processor, asked);
  // Refuse only a new payment. If the payment has already begun, continue, so that a retry gets its response.
  const hasBegun = async () => (await tools.store.readRecord(chargeOperation(asked.paymentId))) !== undefined;
  if (misfit !== undefined && !(await hasBegun())) return { kind: 'refused', problem: misfit };
  const email = asked.metadata?.[MetadataName.receiptEmail];
  const emailHash = email === undefined ? {} : await hashOfNew(tools.emailHashes, asked, email, hasBegun);
  return valid((notes) => createPayment({ ...tools, processor }, { ...asked, ...emailHash }, notes));
}

/** Returns a problem if the request is valid for the API but not for the processor. */
function misfitProblem(
  processor: KnownProcessors['processor'],
  { source, capture }: Pick<CreatePayment, 'source' | 'capture'>,
): Problem | undefined {
  if (typeof processor === 'string') return undefined;
  const { name, source: form, abilities } = processor;
  const refused = (param: string, allowed: string): Problem =>
    problem('invalid_request', `${param} must be ${allowed}.`, param);
  if (form?.pattern.test(source) === false) return refused('source', form.allowed);
  if (capture !== 'manual' || abilities.holdValidityMs > 0) return undefined;
  return refused('capture', `automatic: ${name} has no holds`);
}

function requested(call: PostCall): Parsed<CreatePayment> {
  const { caller, request, receivedAtMs, tools, key, fingerprint, body } = call;
  const misplaced = loopbackProblem(caller.mode, body.return_url);
  if (misplaced !== undefined) return misplaced;
  return valid({
    ...caller,
    paymentId: derivePaymentId(tools.digest, { ...caller, ...PAYMENT_POSTS.payments, key }),
    fingerprint,
    requestId: request.requestId,
    cause: causedByRequest(call),
    receivedAtMs,
    ...requestedPayment(body),
  });
}
