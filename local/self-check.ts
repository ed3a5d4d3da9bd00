import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { LocalAws } from './local-aws.ts';
import { sentenceOf } from './sentence.mjs';

/** On a quiet machine, the payment and the run take about three seconds. */
const ENDED_WITHIN_MS = 300_000;
const POLL_MS = 250;
/** Each response has at least this time, even at the end of the check. */
const RESPONSE_MS = 10_000;
const JOB = 'resolve';
/** One function serves both, but generates each at its first request. */
const DOCUMENTS = ['/docs', '/v1/openapi.json'];

/** Describes a payment, a run, or a problem document, whose `status` is a number. */
const body = z
  .object({
    id: z.string(),
    status: z.union([z.string(), z.number()]),
    code: z.string(),
    next_action: z.object({ url: z.string() }),
  })
  .partial();

interface Answer extends z.infer<typeof body> {
  readonly httpStatus: number;
}

type Target = Pick<LocalAws, 'apiUrl' | 'apiKey' | 'operatorKey'>;

/**
 * Also starts the functions that a user's first requests invoke. Only the processor's callback completes the payment.
 *
 * @returns one sentence for each check that fails
 */
export async function selfCheck(aws: Target, withinMs = ENDED_WITHIN_MS): Promise<readonly string[]> {
  const untilMs = Date.now() + withinMs;
  const results = await Promise.allSettled([
    checkPayment(aws, untilMs),
    checkJob(aws, untilMs),
    checkDocuments(aws, untilMs),
  ]);
  return results.flatMap((result) => (result.status === 'rejected' ? [sentenceOf(result.reason)] : []));
}

async function checkPayment({ apiUrl, apiKey }: Target, untilMs: number): Promise<void> {
  const description = 'Created by npm start, to check that payments and callbacks work';
  const payment = { amount: 100, currency: 'EUR', source: 'tok_action', description };
  const begun = await ask(`${apiUrl}/v1/payments`, apiKey, untilMs, payment);
  if (begun.httpStatus !== 202 || begun.next_action === undefined)
    throw new Error(`The request for a payment returned ${describe(begun)}.`);
  // The sandbox sends the callback at the payer's decision, without a delay.
  const decided = await ask(begun.next_action.url, undefined, untilMs, { decision: 'approve' });
  if (decided.httpStatus !== 200) throw new Error(`The payer's approval returned ${describe(decided)}.`);
  const last = await untilEnded(`${apiUrl}/v1/payments/${begun.id}`, apiKey, untilMs);
  if (last.status === 'requires_action')
    throw new Error(`The payment ${begun.id} still requires an action: no callback of the processor completed it.`);
  if (last.status !== 'succeeded') throw new Error(`The payment ${begun.id} did not succeed: ${describe(last)}.`);
}

async function checkJob({ apiUrl, operatorKey }: Target, untilMs: number): Promise<void> {
  const runs = `${apiUrl}/v1/admin/jobs/${JOB}/runs`;
  const begun = await ask(runs, operatorKey, untilMs, {});
  if (begun.httpStatus !== 202) throw new Error(`The request for a run of the job ${JOB} returned ${describe(begun)}.`);
  const last = await untilEnded(`${runs}/${begun.id}`, operatorKey, untilMs);
  if (last.status !== 'succeeded') throw new Error(`The run ${begun.id} did not succeed: ${describe(last)}.`);
}

/** Two concurrent reads would start the function twice. */
async function checkDocuments({ apiUrl, apiKey }: Target, untilMs: number): Promise<void> {
  for (const path of DOCUMENTS) {
    const answer = await ask(`${apiUrl}${path}`, apiKey, untilMs);
    if (answer.httpStatus !== 200) throw new Error(`The request for ${path} returned ${describe(answer)}.`);
  }
}

const describe = ({ httpStatus, status, code }: Answer): string => `${httpStatus} ${code ?? status ?? ''}`.trimEnd();

async function untilEnded(url: string, key: string, untilMs: number): Promise<Answer> {
  for (;;) {
    const answer = await ask(url, key, untilMs);
    if (answer.status === 'succeeded' || answer.status === 'failed' || Date.now() >= untilMs) return answer;
    await sleep(POLL_MS);
  }
}

async function ask(url: string, key: string | undefined, untilMs: number, json?: object): Promise<Answer> {
  const answer = await fetch(url, {
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(json === undefined
        ? {}
        : { 'content-type': 'application/json', 'idempotency-key': `npm-start-${randomUUID()}` }),
    },
    ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
    signal: AbortSignal.timeout(Math.max(RESPONSE_MS, untilMs - Date.now())),
  });
  return { httpStatus: answer.status, ...body.catch({}).parse(await answer.json().catch(() => ({}))) };
}
