import { type Call, causedByRequest, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { readKeyedRequest } from '../../http/keyed-request.ts';
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
import { createPaymentBody, loopbackProblem, requestedPayment } from './payment-objects.ts';
import { runCounts } from './run-counts.ts';

const PATH = '/v1/payments';

export interface NewPaymentTools extends CreatePaymentTools {
  /** Selects the processor of a new payment. @default `processor` */
  readonly choose?: ChooseProcessor;
  readonly emailHashes: EmailHashes;
}

export type PaymentsTools = ChangePaymentTools & NewPaymentTools;

export const postPayment: Route<PaymentsTools> = { method: 'POST', path: PATH, scope: Scopes.paymentsWrite, handle };

async function handle(call: Call<PaymentsTools>): Promise<Handled> {
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  const { tools, request } = call;
  const operationId = chargeOperation(parsed.value.paymentId);
  call.logFields.operationId = operationId;
  const wait = preferredWait(request.header('prefer'), call.enterWait);
  const notes: RunNotes = { takenOver: false, fenced: false };
  const ready = await readyPayment(tools, parsed.value);
  if (ready.kind === 'refused') return refusal(ready.problem, request);
  const outcome = await awaitFirst(tools, operationId, wait, () => ready.value(notes));
  return {
    answer: wait.applied(outcomeAnswer(outcome, request.requestId)),
    outcome: outcome.kind,
    counts: runCounts(outcome, notes),
  };
}

/**
 * Prepares a payment request, over any transport: selects the processor and hashes the e-mail address.
 *
 * @returns a function that creates the payment, or the problem of a source that the processor does not accept
 * @throws as {@link hashOfNew}
 */
export async function readyPayment(
  tools: NewPaymentTools,
  asked: CreatePayment,
): Promise<Parsed<(notes: RunNotes) => Promise<CreatePaymentOutcome>>> {
  const processor = processorFor(tools, asked);
  const misfit = sourceProblem(processor, asked.source);
  // Only a new payment is refused. A payment that has begun continues, so that a retry gets its answer.
  const hasBegun = async () => (await tools.store.readRecord(chargeOperation(asked.paymentId))) !== undefined;
  if (misfit !== undefined && !(await hasBegun())) return { kind: 'refused', problem: misfit };
  const email = asked.metadata?.[MetadataName.receiptEmail];
  const keyed = email === undefined ? {} : await hashOfNew(tools.emailHashes, asked, email, hasBegun);
  return valid((notes) => createPayment({ ...tools, processor }, { ...asked, ...keyed }, notes));
}

/** Returns the problem of a `source` in a form that the API accepts but the processor does not. */
function sourceProblem(processor: KnownProcessors['processor'], source: string): Problem | undefined {
  const form = typeof processor === 'string' ? undefined : processor.source;
  if (form === undefined || form.pattern.test(source)) return undefined;
  return problem('invalid_request', `source must be ${form.allowed}.`, 'source');
}

function readRequest({ tools: { digest }, ...call }: Call<PaymentsTools>): Parsed<CreatePayment> {
  const { caller, request, receivedAtMs } = call;
  const read = readKeyedRequest(digest, request, createPaymentBody);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
  const misplaced = loopbackProblem(caller.mode, body.return_url);
  if (misplaced !== undefined) return misplaced;
  return valid({
    ...caller,
    paymentId: derivePaymentId(digest, { ...caller, method: 'POST', path: PATH, key }),
    fingerprint,
    requestId: request.requestId,
    cause: causedByRequest(call),
    receivedAtMs,
    ...requestedPayment(body),
  });
}
