import type * as z from 'zod';
import type { Handled } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type SettingCall } from '../../http/endpoint.ts';
import { keyedCounts } from '../../http/keyed-request.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveCorrectionId } from '../ids.ts';
import { correctLedger, previewCorrection } from '../use/correct-ledger.ts';
import type { KeyedEffectTools } from '../use/keyed-effect.ts';
import { approval, NEEDS_APPROVAL } from './answer-schemas.ts';
import { previewResponse } from './dry-run.ts';
import { correction, dryRun } from './effect-answers.ts';
import { correctionBody } from './ledger-schemas.ts';
import { operatorAnswer } from './operator-answers.ts';

const PATH = '/v1/admin/corrections';

export const postCorrection = keyed({
  path: PATH,
  role: 'operator',
  body: correctionBody,
  notInFingerprint: ['reason'],
  dryRun: preview,
  handle: correct,
  docs: {
    operationId: 'createCorrection',
    tag: 'Ledger',
    summary: 'Correct the postings of a payment',
    description:
      'Appends a set of postings: the reverse of an earlier set, or a new set. Nothing is changed or removed, and the status and ' +
      'the amounts of the payment stay the same. A set can be reversed only once, but the reversing correction can itself be reversed.',
    key: ['correction', 'nothing is posted twice'],
    answers: {
      200: { description: 'A dry run: the postings that would be made.', schema: dryRun },
      201: { description: 'The correction.', schema: correction },
      202: { description: NEEDS_APPROVAL, schema: approval },
    },
    problems: ['unbalanced', 'already_reversed'],
  },
});

type Body = typeof correctionBody;

async function preview(call: SettingCall<KeyedEffectTools, Body, Operator>): Promise<Handled> {
  const { tools, caller, request, body } = call;
  const outcome = await previewCorrection(tools, requestedCorrection(body, caller));
  if (outcome.kind === 'preview') return previewResponse(outcome);
  return { answer: operatorAnswer(outcome, request.requestId), outcome: outcome.kind, counts: [] };
}

async function correct(call: KeyedCall<KeyedEffectTools, Body, Operator>): Promise<Handled> {
  const { tools, caller, request, key, fingerprint, body } = call;
  const operationId = deriveCorrectionId(tools.digest, { person: caller.person, method: 'POST', path: PATH, key });
  call.logFields.operationId = operationId;
  const cause = causedByOperator(call);
  const asked = { cause, operationId, fingerprint, ...requestedCorrection(body, caller) };
  const outcome = await correctLedger(tools, asked);
  return { answer: operatorAnswer(outcome, request.requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function requestedCorrection({ payment, reason, reverses, postings = [] }: z.output<Body>, by: Operator) {
  const legs = postings.map(({ account, direction, amount }) => ({ account, direction, amountMinor: amount }));
  const change =
    reverses === undefined ? ({ kind: 'post', legs } as const) : ({ kind: 'reverse', sequence: reverses } as const);
  return { payment, reason, by, asked: { kind: 'correction', change } as const };
}
