import type * as z from 'zod';
import { type Call as CallBy, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readJsonObject } from '../../http/json-body.ts';
import { keyedCounts, readDryRun, readKeyedRequest } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { type Parsed, valid } from '../../http/problems.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveCorrectionId } from '../ids.ts';
import { type CorrectLedger, correctLedger, previewCorrection } from '../use/correct-ledger.ts';
import type { KeyedEffectTools } from '../use/keyed-effect.ts';
import { previewHandled } from './dry-run.ts';
import { correctionBody } from './ledger-schemas.ts';
import { operatorAnswer } from './operator-answers.ts';

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
  call.logFields.operationId = parsed.value.operationId;
  const outcome = await correctLedger(call.tools, parsed.value);
  return {
    answer: operatorAnswer(outcome, call.request.requestId),
    outcome: outcome.kind,
    counts: keyedCounts(outcome),
  };
}

async function preview({ tools, caller, request }: Call, dry: Parsed<Body>): Promise<Handled> {
  if (dry.kind === 'refused') return refusal(dry.problem, request);
  const outcome = await previewCorrection(tools, requestedCorrection(dry.value, caller));
  if (outcome.kind === 'preview') return previewHandled(outcome);
  return { answer: operatorAnswer(outcome, request.requestId), outcome: outcome.kind, counts: [] };
}

type Body = z.infer<typeof correctionBody>;

function requestedCorrection({ payment, reason, reverses, postings = [] }: Body, by: Operator) {
  const legs = postings.map(({ account, direction, amount }) => ({ account, direction, amountMinor: amount }));
  const change =
    reverses === undefined ? ({ kind: 'post', legs } as const) : ({ kind: 'reverse', sequence: reverses } as const);
  return { payment, reason, by, asked: { kind: 'correction', change } as const };
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
