import type * as z from 'zod';
import type { Processor } from '../lambdas/payments/use/processor.ts';
import type { OptionalAbility } from '../lambdas/processors/sandbox/sandbox-abilities.ts';
import { errorAnswer } from '../lambdas/processors/sandbox/sandbox-answers.ts';
import type { SandboxEvent } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { chargeAnswer, listAnswer, refundAnswer } from '../lambdas/processors/sandbox/sandbox-charge.ts';

/**
 * The conformance suite of the processor protocol (docs/guides/processor-protocol.md). Each point is a requirement for
 * a processor.
 */

export interface Answered {
  readonly status: number;
  /** Parsed JSON; undefined when the body is not JSON. */
  readonly body: unknown;
}

export interface Asked {
  readonly key?: string;
  readonly body?: object;
  /** Sends the request without a signature and without a bearer token. */
  readonly unsigned?: true;
}

export interface Subject {
  readonly ask: (method: 'GET' | 'POST', path: string, asked?: Asked) => Promise<Answered>;
  readonly freshKey: () => string;
  /** Payment sources: one that is charged immediately, one that is declined, and optionally one that is disputed. */
  readonly sources: { readonly ok: string; readonly declined: string; readonly disputed?: string };
  /** Maximum delay in milliseconds until a look-up finds a created charge; 0 if look-ups are strongly consistent. */
  readonly lagMs: number;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** True if requests have a signature or a bearer token. The processor must then refuse a request that has neither. */
  readonly isSigned: boolean;
  /** The declared abilities. The processor must refuse requests that need any other ability. */
  readonly abilities: Pick<Processor['abilities'], 'holdValidityMs' | 'partialCapture' | 'refund' | 'partialRefund'>;
  /** Receiver of the callbacks. Absent if the processor does not call back to this machine. */
  readonly callbacks?: Callbacks;
}

export interface Callbacks {
  /** Returns the callbacks in order, without those whose signature is invalid. */
  readonly about: (charge: string) => readonly SandboxEvent[];
  /** Responds to the first callback about a payment with status 500. */
  readonly refuseFirst: (payment: string) => void;
  readonly patienceMs: number;
}

export interface Point {
  readonly name: string;
  readonly must: string;
  /**
   * @returns the reason why the requirement cannot be examined; undefined when the processor meets it
   * @throws {@link Failure} when the processor deviates
   */
  readonly examine: (subject: Subject) => Promise<string | undefined>;
}

export interface Finding {
  readonly point: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  /** Observed deviation, or the reason why the point was skipped; null when it passed. */
  readonly seen: string | null;
}

class Failure extends Error {}

const AMOUNT = 1_999;
const PART = 500;
const POLL_MS = 500;

const error = errorAnswer;
type Charge = z.infer<typeof chargeAnswer>;

function hold(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Failure(otherwise);
}

function parse<Shape>(schema: z.ZodType<Shape>, { status, body }: Answered, expected: number): Shape {
  hold(status === expected, `it returned ${status} instead of ${expected}`);
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Failure(`${issue?.path.join('.') || 'the answer'}: ${issue?.message ?? 'is not valid'}`);
}

function refusal(answer: Answered, status: number, code?: string): void {
  const { error: problem } = parse(error, answer, status);
  hold(code === undefined || problem.code === code, `the error code is ${problem.code} instead of ${code ?? ''}`);
}

const order = (source: string, operation: string, changes: object = {}) => ({
  amount: AMOUNT,
  currency: 'EUR',
  source,
  capture: 'automatic',
  metadata: { payment: `conform_${operation}`, operation },
  ...changes,
});

async function charged(subject: Subject, changes: object = {}, source = subject.sources.ok) {
  const key = subject.freshKey();
  const body = order(source, key, changes);
  const charge = parse(chargeAnswer, await subject.ask('POST', '/charges', { key, body }), 201);
  return { key, body, charge };
}

const read = async ({ ask }: Subject, id: string): Promise<Charge> =>
  parse(chargeAnswer, await ask('GET', `/charges/${id}`), 200);

async function listed(subject: Subject, query: string, isComplete: (ids: readonly string[]) => boolean) {
  for (let waited = 0; ; waited += POLL_MS) {
    const { data } = parse(listAnswer, await subject.ask('GET', `/charges?${query}`), 200);
    const ids = data.map(({ id }) => id);
    if (isComplete(ids) || waited >= subject.lagMs) return ids;
    await subject.wait(POLL_MS);
  }
}

const passed = undefined;

function provides(ability: OptionalAbility, { status }: Answered): void {
  hold(
    ![400, 404, 405, 501].includes(status),
    `it returned ${status}: if it has no ${ability}, name them in --without and processorWithout`,
  );
}

function lacks(ability: OptionalAbility, answer: Answered, hadEffect: boolean): void {
  hold(!hadEffect && answer.status >= 400, `it has ${ability}: do not name them in --without and processorWithout`);
  refusal(answer, 400);
}

/** Sends a change twice with the same key and body, then once with the same key and another body. */
async function changesOnce(
  subject: Subject,
  path: string,
  body: { readonly amount: number; readonly metadata?: object },
  { status, ability }: { readonly status: 200 | 201; readonly ability: OptionalAbility },
): Promise<readonly Answered[]> {
  const key = subject.freshKey();
  const first = await subject.ask('POST', path, { key, body });
  provides(ability, first);
  const second = await subject.ask('POST', path, { key, body });
  hold(first.status === status, `the first call returned ${first.status} instead of ${status}`);
  hold(second.status === status, `the same call with the same key returned ${second.status} instead of ${status}`);
  return [first, second, await subject.ask('POST', path, { key, body: { ...body, amount: body.amount - 1 } })];
}

const NO_HOLDS = 'the processor has no holds';

/** @returns the reason why holds cannot be examined */
async function refusesManualCapture(subject: Subject): Promise<string> {
  const key = subject.freshKey();
  const body = order(subject.sources.ok, key, { capture: 'manual' });
  const answer = await subject.ask('POST', '/charges', { key, body });
  lacks('holds', answer, (await listed(subject, `key=${key}`, () => false)).length > 0);
  return NO_HOLDS;
}

async function authorized(subject: Subject): Promise<Charge> {
  const key = subject.freshKey();
  const body = order(subject.sources.ok, key, { capture: 'manual' });
  const answer = await subject.ask('POST', '/charges', { key, body });
  provides('holds', answer);
  return parse(chargeAnswer, answer, 201);
}

async function refusesRefund(subject: Subject, id: string, amount: number, ability: OptionalAbility): Promise<void> {
  const answer = await subject.ask('POST', `/charges/${id}/refunds`, { key: subject.freshKey(), body: { amount } });
  lacks(ability, answer, (await read(subject, id)).refunds.length > 0);
}

export const POINTS: readonly Point[] = [
  {
    name: 'health',
    must: 'GET /health returns 200',
    examine: async ({ ask }) => {
      const { status } = await ask('GET', '/health');
      hold(status === 200, `it returned ${status}`);
      return passed;
    },
  },
  {
    name: 'signature',
    must: 'a call without a valid signature is refused with 401 or 403, and has no effect',
    examine: async (subject) => {
      if (!subject.isSigned) return 'neither a signing key nor a bearer token was given';
      const key = subject.freshKey();
      const { status } = await subject.ask('POST', '/charges', {
        key,
        body: order(subject.sources.ok, key),
        unsigned: true,
      });
      hold([401, 403].includes(status), `it returned ${status}`);
      hold((await listed(subject, `key=${key}`, () => false)).length === 0, 'it created a charge');
      return passed;
    },
  },
  {
    name: 'charge',
    must: 'POST /charges charges the requested amount',
    examine: async (subject) => {
      const { charge, body } = await charged(subject);
      hold(charge.status === 'succeeded', `the charge is ${charge.status}`);
      hold(
        charge.amount === AMOUNT && charge.amount_captured === AMOUNT,
        `it captured ${charge.amount_captured} of ${charge.amount}`,
      );
      hold(charge.currency === body.currency && charge.capture === body.capture, 'currency or capture differ');
      hold(charge.metadata['operation'] === body.metadata.operation, 'the metadata is not stored');
      return passed;
    },
  },
  {
    name: 'decline',
    must: 'a declined charge returns 402, even when repeated with the same key',
    examine: async (subject) => {
      const key = subject.freshKey();
      const body = order(subject.sources.declined, key);
      refusal(await subject.ask('POST', '/charges', { key, body }), 402);
      refusal(await subject.ask('POST', '/charges', { key, body }), 402);
      return passed;
    },
  },
  {
    name: 'key',
    must: 'calls with the same key and body create one charge, even when concurrent',
    examine: async (subject) => {
      const { key, body, charge } = await charged(subject);
      const again = parse(chargeAnswer, await subject.ask('POST', '/charges', { key, body }), 201);
      hold(again.id === charge.id, 'the same key created a second charge');
      const other = subject.freshKey();
      const both = { key: other, body: order(subject.sources.ok, other) };
      const answers = await Promise.all([subject.ask('POST', '/charges', both), subject.ask('POST', '/charges', both)]);
      hold(
        answers.every(({ status }) => [201, 409].includes(status)),
        `two concurrent calls returned ${answers.map(({ status }) => status).join(' and ')}`,
      );
      const ids = await listed(subject, `key=${other}`, (found) => found.length > 0);
      hold(ids.length === 1, `two concurrent calls created ${ids.length} charges`);
      return passed;
    },
  },
  {
    name: 'body',
    must: 'another body with a known key is refused with 422 idempotency_key_mismatch',
    examine: async (subject) => {
      const { key, body, charge } = await charged(subject);
      refusal(
        await subject.ask('POST', '/charges', { key, body: { ...body, amount: PART } }),
        422,
        'idempotency_key_mismatch',
      );
      hold((await read(subject, charge.id)).amount === AMOUNT, 'the charge was changed');
      return passed;
    },
  },
  {
    name: 'look-up',
    must: 'GET /charges?key= and ?payment= return exactly the matching charge, within the declared lag',
    examine: async (subject) => {
      const { key, body, charge } = await charged(subject);
      for (const query of [`key=${key}`, `payment=${body.metadata.payment}`]) {
        const ids = await listed(subject, query, (found) => found.includes(charge.id));
        hold(ids.length === 1 && ids[0] === charge.id, `?${query} lists ${ids.length} charges`);
      }
      const none = parse(listAnswer, await subject.ask('GET', `/charges?key=${subject.freshKey()}`), 200);
      hold(none.data.length === 0, 'a look-up by an unknown key finds a charge');
      return passed;
    },
  },
  {
    name: 'read',
    must: 'GET /charges/{id} returns the charge, or 404 for an unknown id',
    examine: async (subject) => {
      const { charge } = await charged(subject);
      hold((await read(subject, charge.id)).id === charge.id, 'it returned another charge');
      refusal(await subject.ask('GET', '/charges/ch_unknown'), 404);
      return passed;
    },
  },
  {
    name: 'list',
    must: 'GET /charges?created_from&created_to lists the charges of a range, oldest first',
    examine: async (subject) => {
      const { charge } = await charged(subject);
      const range = `created_from=${charge.created}&created_to=${charge.created + 60}`;
      const find = async (): Promise<boolean> => {
        for (let cursor = ''; ; ) {
          const { data, next } = parse(listAnswer, await subject.ask('GET', `/charges?${range}${cursor}`), 200);
          hold(
            data.every(({ created }, index) => created >= (data[index - 1]?.created ?? 0)),
            'the list is not ordered by time',
          );
          if (data.some(({ id }) => id === charge.id) || next === null) return data.some(({ id }) => id === charge.id);
          cursor = `&cursor=${encodeURIComponent(next)}`;
        }
      };
      hold(await find(), 'the list does not contain the charge');
      return passed;
    },
  },
  {
    name: 'refund',
    must: 'calls with the same key create one refund; another body with the key, or an amount above the remainder, is refused',
    examine: async (subject) => {
      const { charge } = await charged(subject);
      const { refund: hasRefunds, partialRefund: hasParts } = subject.abilities;
      if (!hasRefunds) {
        await refusesRefund(subject, charge.id, AMOUNT, 'refunds');
        return 'the processor has no refunds';
      }
      if (!hasParts) await refusesRefund(subject, charge.id, PART, 'partial-refunds');
      const path = `/charges/${charge.id}/refunds`;
      const metadata = { operation: subject.freshKey() };
      const [amount, ability] = hasParts ? ([PART, 'partial-refunds'] as const) : ([AMOUNT, 'refunds'] as const);
      const [first, second, other] = await changesOnce(subject, path, { amount, metadata }, { status: 201, ability });
      const ids = [first, second].map((each) => parse(refundAnswer, each ?? { status: 0, body: null }, 201).id);
      hold(ids[0] === ids[1], 'the same key created a second refund');
      refusal(other ?? { status: 0, body: null }, 422, 'idempotency_key_mismatch');
      const key = subject.freshKey();
      refusal(await subject.ask('POST', path, { key, body: { amount: AMOUNT } }), 400);
      if (hasParts)
        parse(
          refundAnswer,
          await subject.ask('POST', path, { key: subject.freshKey(), body: { amount: AMOUNT - PART } }),
          201,
        );
      const { amount_refunded: refunded, refunds } = await read(subject, charge.id);
      hold(
        refunds.length === (hasParts ? 2 : 1) && refunded <= AMOUNT,
        `the charge has ${refunds.length} refunds of ${refunded} in total`,
      );
      hold(
        refunds.some((each) => each.metadata['operation'] === metadata.operation),
        'the metadata of the refund is not stored',
      );
      return passed;
    },
  },
  {
    name: 'capture',
    must: 'an authorized charge is captured once, in part if requested; another body with the key is refused',
    examine: async (subject) => {
      const { holdValidityMs, partialCapture: hasParts } = subject.abilities;
      if (holdValidityMs === 0) return refusesManualCapture(subject);
      const charge = await authorized(subject);
      hold(
        charge.status === 'authorized' && charge.amount_captured === 0,
        `the charge is ${charge.status}, with ${charge.amount_captured} captured`,
      );
      const path = `/charges/${charge.id}/capture`;
      if (!hasParts) {
        const answer = await subject.ask('POST', path, { key: subject.freshKey(), body: { amount: PART } });
        lacks('partial-captures', answer, (await read(subject, charge.id)).amount_captured > 0);
      }
      const [amount, ability] = hasParts ? ([PART, 'partial-captures'] as const) : ([AMOUNT, 'holds'] as const);
      const [, second, other] = await changesOnce(subject, path, { amount }, { status: 200, ability });
      const { amount_captured: captured, status } = parse(chargeAnswer, second ?? { status: 0, body: null }, 200);
      hold(captured === amount && status === 'succeeded', `the charge is ${status}, with ${captured} captured`);
      refusal(other ?? { status: 0, body: null }, 422, 'idempotency_key_mismatch');
      refusal(await subject.ask('POST', path, { key: subject.freshKey(), body: {} }), 400);
      return passed;
    },
  },
  {
    name: 'void',
    must: 'an authorized charge can be voided; its void_reason is requested, and captures are refused',
    examine: async (subject) => {
      if (subject.abilities.holdValidityMs === 0) return NO_HOLDS;
      const charge = await authorized(subject);
      const key = subject.freshKey();
      for (const path of [`/charges/${charge.id}/void`, `/charges/${charge.id}/void`]) {
        const { status, void_reason: reason } = parse(chargeAnswer, await subject.ask('POST', path, { key }), 200);
        hold(
          status === 'voided' && reason === 'requested',
          `the charge is ${status}, with the reason ${String(reason)}`,
        );
      }
      refusal(await subject.ask('POST', `/charges/${charge.id}/capture`, { key: subject.freshKey(), body: {} }), 400);
      return passed;
    },
  },
  {
    name: 'callback',
    must: 'each change to a charge causes a signed callback, repeated with the same id until the response is 2xx',
    examine: async (subject) => {
      const { callbacks } = subject;
      if (callbacks === undefined) return 'no port for callbacks was given';
      const key = subject.freshKey();
      const body = order(subject.sources.ok, key);
      callbacks.refuseFirst(body.metadata.payment);
      const charge = parse(chargeAnswer, await subject.ask('POST', '/charges', { key, body }), 201);
      const received = await arrived(
        subject,
        callbacks,
        charge.id,
        (events) => events.filter(({ type }) => type === 'charge.succeeded').length > 1,
      );
      const succeeded = received.filter(({ type }) => type === 'charge.succeeded');
      hold(succeeded.length > 1, `the refused callback arrived ${succeeded.length} times`);
      hold(new Set(succeeded.map(({ id }) => id)).size === 1, 'the repeated callback had another id');
      hold(succeeded[0]?.data.payment === charge.metadata['payment'], 'the callback does not name the payment');
      return passed;
    },
  },
  {
    name: 'dispute',
    must: 'the charge lists a dispute, and a callback reports it',
    examine: async (subject) => {
      const { callbacks, sources } = subject;
      if (callbacks === undefined || sources.disputed === undefined)
        return 'no port for callbacks or no disputed source was given';
      const { charge } = await charged(subject, {}, sources.disputed);
      const received = await arrived(subject, callbacks, charge.id, (events) =>
        events.some(({ type }) => type === 'dispute.opened'),
      );
      const named = received.find(({ type }) => type === 'dispute.opened')?.data.dispute;
      hold(named !== undefined, 'no callback reports the dispute');
      const { disputes } = await read(subject, charge.id);
      hold(
        disputes.some(({ id, status }) => id === named && status === 'open'),
        'the charge does not list the dispute',
      );
      return passed;
    },
  },
];

async function arrived(
  { wait }: Subject,
  { about, patienceMs }: Callbacks,
  charge: string,
  isComplete: (events: readonly SandboxEvent[]) => boolean,
): Promise<readonly SandboxEvent[]> {
  for (let waited = 0; waited < patienceMs && !isComplete(about(charge)); waited += POLL_MS) await wait(POLL_MS);
  return about(charge);
}

export async function conform(subject: Subject, report: (point: string) => void): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { name, examine } of POINTS) {
    report(name);
    const seen = await examine(subject).then(
      (skipped) => ({
        result: skipped === undefined ? ('passed' as const) : ('skipped' as const),
        seen: skipped ?? null,
      }),
      (failed: unknown) => {
        if (failed instanceof Failure) return { result: 'failed' as const, seen: failed.message };
        throw failed;
      },
    );
    findings.push({ point: name, ...seen });
  }
  return findings;
}
