import type * as z from 'zod';
import { type Call as CallBy, type Handled, refusal } from '../../http/authenticated-api.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { readJsonObject } from '../../http/json-body.ts';
import { keyedCounts, payloadMismatch, readDryRun, readKeyedRequest, replayed } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { type Parsed, problem, valid } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import { deriveCorrectionId } from '../../kernel/ids.ts';
import {
  type CorrectLedger,
  type CorrectLedgerOutcome,
  correctLedger,
  previewCorrection,
} from '../../payments/use/correct-ledger.ts';
import type { KeyedEffectTools } from '../../payments/use/keyed-effect.ts';
import type { Operator } from '../../tenants/operators.ts';
import { previewHandled } from './dry-run.ts';
import { correctionBody } from './ledger-schemas.ts';

const PATH = '/v1/admin/corrections';

type Call = CallBy<KeyedEffectTools, Operator>;

export const postCorrection: OperatorRoute<KeyedEffectTools> = {
  method: 'POST',
  path: PATH,
  role: 'operator',
  handle,
};

async function handle(call: Call): Promise<Handled> {
  const dry = readDryRun(call.request, correctionBody);
  if (dry !== undefined) return preview(call, dry);
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  call.seen.operationId = parsed.value.operationId;
  const outcome = await correctLedger(call.tools, parsed.value);
  return {
    answer: outcomeAnswer(outcome, call.request.requestId),
    outcome: outcome.kind,
    counts: keyedCounts(outcome),
  };
}

async function preview({ tools, caller, request }: Call, dry: Parsed<Body>): Promise<Handled> {
  if (dry.kind === 'refused') return refusal(dry.problem, request);
  const outcome = await previewCorrection(tools, requestedCorrection(dry.value, caller));
  if (outcome.kind === 'preview') return previewHandled(outcome);
  return { answer: outcomeAnswer(outcome, request.requestId), outcome: outcome.kind, counts: [] };
}

type Body = z.infer<typeof correctionBody>;

function requestedCorrection({ payment, reason, reverses, postings = [] }: Body, { name: operator }: Operator) {
  const legs = postings.map(({ account, direction, amount }) => ({ account, direction, amountMinor: amount }));
  const change =
    reverses === undefined ? ({ kind: 'post', legs } as const) : ({ kind: 'reverse', sequence: reverses } as const);
  return { payment, reason, operator, change };
}

function readRequest({ tools: { digest }, ...call }: Call): Parsed<CorrectLedger> {
  const { caller, request } = call;
  const read = readKeyedRequest(digest, request, correctionBody, readJsonObject, ['reason']);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
  return valid({
    cause: causedByOperator(call),
    operationId: deriveCorrectionId(digest, { person: caller.person, method: 'POST', path: PATH, key }),
    fingerprint,
    ...requestedCorrection(body, caller),
  });
}

function outcomeAnswer(outcome: CorrectLedgerOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'not_found':
      return problemAnswer(problem('not_found', 'There is no such payment.'), requestId);
    case 'key_expired': {
      const detail =
        'This Idempotency-Key has made a correction, and its answer is no longer stored. Read the payment.';
      return problemAnswer(problem('idempotency_key_expired', detail), requestId, {
        members: { payment_id: outcome.paymentId },
      });
    }
    case 'nothing_to_reverse': {
      const detail = 'reverses must be the sequence of a transition of this payment that has postings.';
      return problemAnswer(problem('invalid_request', detail, 'reverses'), requestId);
    }
    case 'already_reversed': {
      const detail = 'These postings were reversed before. To restore them, reverse the correction that reversed them.';
      return problemAnswer(problem('already_reversed', detail, 'reverses'), requestId, {
        members: { correction_id: outcome.correctionId },
      });
    }
    case 'unbalanced': {
      const [more, less] = outcome.byMinor > 0 ? ['debits', 'credits'] : ['credits', 'debits'];
      const detail = `The ${more} are ${Math.abs(outcome.byMinor)} more than the ${less}, in minor units.`;
      return problemAnswer(problem('unbalanced', detail, 'postings'), requestId);
    }
  }
}
