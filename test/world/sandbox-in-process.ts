import { AsyncLocalStorage } from 'node:async_hooks';
import { hash } from 'node:crypto';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { type Mode, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { HttpAnswer, HttpCall, SendRequest } from '../../lambdas/outbound/http-call.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import type { ProcessorAbilities } from '../../lambdas/payments/domain/settlement.ts';
import type { ChangeOrder, Processor, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import type { Charge, ChargeStatus, SandboxEvent } from '../../lambdas/processors/sandbox/sandbox-api.ts';
import { createSandboxBooks } from '../../lambdas/processors/sandbox/sandbox-books.ts';
import { processorCharge } from '../../lambdas/processors/sandbox/sandbox-charge.ts';
import { createSandboxClient, MAX_CHARGE_BYTES } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { advance } from '../../sandbox/advancing.ts';
import type { Books } from '../../sandbox/books.ts';
import { newEvent } from '../../sandbox/events.ts';
import { createSandbox } from '../../sandbox/routes.ts';
import type { SandboxWorld } from '../../sandbox/world.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { isContradicted } from './contradicted-charge.ts';
import { feesAtSandbox } from './fees-at-sandbox.ts';
import type { AppliedChange, Contradicted, InsideSandbox, SentRequest } from './inside-sandbox.ts';
import { emptyBooks } from './sandbox-books.ts';

/** No server listens there. */
const SANDBOX_URL = 'http://sandbox.example';

/** Number of failures that open the breaker of the sandbox client (lambdas/processors/sandbox/sandbox-client.ts). */
const BREAKER_FAILURES = 5;
const BREAKER_PAUSE_MS = 10_000;

/** Placeholder change for look-ups that test whether the processor is reachable. */
const NO_CHANGE: ChangeOrder = {
  operationId: storedOperationId('any'),
  paymentId: paymentIdFor('any'),
  chargeId: 'ch_any',
  currency: 'EUR',
  change: { kind: 'void' },
};

export interface TimedCall extends HttpCall {
  /**
   * In Unix milliseconds.
   *
   * @default the time of arrival
   */
  readonly askedAtMs?: number;
  readonly by?: string;
}

/** Called by the real client. Waits and timeouts use the clock. */
export interface SandboxInProcess extends Processor, ProcessorBooks {
  readonly mode: Mode;
  readonly inside: InsideSandbox;
  /** For other clients of this processor. With a lag, look-ups show an earlier state of the books. */
  readonly send: SendRequest;
  /** Includes declined charges, oldest first. */
  charges(paymentId: string): readonly ProcessorCharge[];
  /** Counts requests with and without a response. */
  sends(operationId: string): number;
}

export interface SandboxInProcessOptions {
  /** @default test */
  readonly mode?: Mode;
  readonly clock: Clock;
  /**
   * Lagging look-ups show an earlier state.
   *
   * @default strongly consistent look-ups, and idempotency keys kept for 24 hours
   */
  readonly abilities?: Partial<Processor['abilities']>;
  /** @default the prefix and a number */
  readonly newId?: (prefix: string, count: number) => string;
  /** @default callbacks are not delivered */
  readonly onEvent?: (event: SandboxEvent) => void;
  /**
   * Schedules a later action of the processor itself.
   *
   * @default the processor takes no later actions
   */
  readonly later?: (afterMs: number, what: () => Promise<void>) => void;
}

interface Caller {
  readonly timesOutAtMs: number;
  readonly timedOut: () => void;
}

export function createSandboxInProcess(options: SandboxInProcessOptions): SandboxInProcess {
  const { clock, mode = 'test', newId = (prefix, count) => `${prefix}${count}` } = options;
  const history = createHistory(clock, options.onEvent);
  const callers = new AsyncLocalStorage<Caller>();
  let ids = 0;
  const world: SandboxWorld = {
    books: history.observe(emptyBooks()),
    tasks: {
      enqueue: async (task, delaySeconds) => {
        if (task.kind === 'advance') options.later?.(delaySeconds * 1_000, () => advance(world, task));
      },
    },
    callbacks: { address: async () => undefined, secret: async () => '' },
    runner: idempotentRunner,
    nowMs: () => clock.nowMs(),
    newId: (prefix) => {
      ids += 1;
      return newId(prefix, ids);
    },
    wait: (milliseconds) => waitAs(callers.getStore(), clock, milliseconds),
    livemode: mode === 'live',
    baseUrl: SANDBOX_URL,
  };
  const sent: SentRequest[] = [];
  const line = createLine(world, clock, callers, (call) => {
    const request = history.requestOf(call);
    if (request !== undefined) sent.push(request);
  });
  const send: SendRequest = async (call) => {
    const answer = history.asOf(await line.send(call), call, abilities);
    history.noteRead(call, answer);
    return answer;
  };
  const { abilities: defaults, ...client } = createSandboxClient({ url: SANDBOX_URL, mode, clock, send });
  const abilities = { ...defaults, ...options.abilities };
  const books = createSandboxBooks({
    url: SANDBOX_URL,
    mode,
    clock,
    send: async (call) => {
      const answer = await line.send(call);
      history.noteRead(call, answer);
      return answer;
    },
  });
  const { sends, delayNext, deliverDelayed, connection } = line;
  const actions = actionsOn(world, history, line.ask);
  return {
    ...client,
    ...books,
    abilities,
    send,
    sends,
    charges: (paymentId) => history.charges().filter((charge) => charge.paymentId === paymentId),
    inside: {
      get all() {
        return history.charges();
      },
      applied: history.applied,
      sent,
      isShown: (...asked) => history.isShown(...asked),
      madeByKeyAtMs: (chargeId) => history.madeByKeyAtMs(chargeId),
      contradicted: (chargeId) => history.contradicted(chargeId),
      changedAtMs: (chargeId) => history.changedAtMs(chargeId),
      wasRefused: (chargeId) => history.wasRefused(chargeId),
      statesOf: (chargeId) => history.statesOf(chargeId),
      feesOf: (chargeId) => history.feesOf(chargeId),
      ...actions,
      get hasFailing() {
        return actions.hasFailing;
      },
      delayNext,
      deliverDelayed,
      goDown: async () => {
        connection.isUp = false;
        // Refused connections count as failures until the breaker opens.
        for (let failure = 1; failure <= BREAKER_FAILURES; failure += 1)
          await client.findChange(NO_CHANGE, { timeoutMs: 1_000 }).catch(() => {});
      },
      recover: async () => {
        connection.isUp = true;
        await clock.sleep(BREAKER_PAUSE_MS);
      },
    },
  };
}

interface History {
  observe(books: Books): Books;
  charges(): readonly ProcessorCharge[];
  newest(partId: string): Charge;
  /** Returns undefined for a call without an idempotency key. */
  requestOf(call: TimedCall): SentRequest | undefined;
  /**
   * Replaces the charges in a response with their states one lag earlier. A read of the books by a charge's id does not
   * lag.
   */
  asOf(answer: HttpAnswer, call: HttpCall, abilities: ProcessorAbilities): HttpAnswer;
  readonly applied: readonly AppliedChange[];
  noteRead(call: TimedCall, answer: HttpAnswer): void;
  isShown(chargeId: string, hasCallback?: boolean, isCompared?: boolean): boolean;
  madeByKeyAtMs(chargeId: string): number | undefined;
  contradicted(chargeId: string): Contradicted | undefined;
  changedAtMs(chargeId: string): number | undefined;
  wasRefused(chargeId: string): boolean;
  statesOf(chargeId: string): number;
  feesOf(chargeId: string): Readonly<Record<string, number>> | undefined;
}

/**
 * Reads with at least this timeout (milliseconds) are treated as reads of the whole charge; reads with a shorter one,
 * as look-ups of one change.
 */
const READ_TIMEOUT_MS = 2_001;

/** State of a charge, with the time when the books first showed it. */
interface Version {
  readonly atMs: number;
  readonly charge: Charge;
}

/** Uses only the books' confirmed writes. */
function createHistory(clock: Clock, onEvent: SandboxInProcessOptions['onEvent'] = () => {}): History {
  const versions = new Map<string, Version[]>();
  /** In Unix milliseconds, by the state's digest. A charge can have a thousand states. */
  const firstShown = new Map<string, number>();
  const shown = new Map<string, ProcessorCharge>();
  const applied: AppliedChange[] = [];
  /**
   * Charges whose newest state no function has read, except functions that may not have recorded it. The value is true
   * if the callbacks function has read this state.
   */
  const unread = new Map<string, boolean>();
  /** Charges whose newest state was in a list that the comparison of the books read. */
  const compared = new Set<string>();
  const madeByKey = new Map<string, number>();
  const named = new Set<string>();
  const contradicted = new Map<string, Contradicted>();
  const note = (charge: Charge, isKeyed: boolean): void => {
    if (!isKeyed) unread.set(charge.id, false);
    compared.delete(charge.id);
    const shownBefore = versions.get(charge.id)?.at(-1)?.charge;
    const state = hash('sha1', JSON.stringify(charge));
    const sameAtMs = firstShown.get(state);
    const shownAtMs = sameAtMs ?? clock.nowMs();
    firstShown.set(state, shownAtMs);
    const isNew = shownBefore !== undefined && isContradicted(shownBefore, charge);
    const last = isNew ? { atMs: clock.nowMs(), shownAtMs } : contradicted.get(charge.id);
    if (last !== undefined) contradicted.set(charge.id, sameAtMs === undefined ? last : { ...last, shownAtMs });
    versions.set(charge.id, [...(versions.get(charge.id) ?? []), { atMs: clock.nowMs(), charge }]);
    shown.set(charge.id, processorCharge(charge));
    const { operation } = charge.metadata;
    if (operation !== undefined) named.add(operation);
  };
  const before = (untilMs: number, { id }: Charge): Charge[] => {
    const found = versions.get(id)?.findLast(({ atMs }) => atMs <= untilMs);
    return found === undefined ? [] : [found.charge];
  };
  const isNewest = (charge: Charge): boolean =>
    JSON.stringify(charge) === JSON.stringify(versions.get(charge.id)?.at(-1)?.charge);
  return {
    applied,
    noteRead: ({ method, url, timeoutMs, by }, { status, text }) => {
      const { data = [] } = by === 'upkeep-jobs' && status === 200 ? (JSON.parse(text) as { data?: Charge[] }) : {};
      for (const each of data) if (isNewest(each)) compared.add(each.id);
      const [, id = ''] = /charges\/([^/?]+)$/.exec(url) ?? [];
      const newest = versions.get(id)?.at(-1)?.charge;
      if (method !== 'GET' || status !== 200 || timeoutMs < READ_TIMEOUT_MS || newest === undefined) return;
      if (!unread.has(id) || !isNewest(JSON.parse(text) as Charge)) return;
      if (by === 'callbacks') unread.set(id, true);
      // The ledger function compares a decision with the books, but records no facts from the books.
      else if (by !== 'ledger') unread.delete(id);
    },
    isShown: (chargeId, hasCallback = true, isCompared = false) =>
      !unread.has(chargeId) || (hasCallback && unread.get(chargeId) === true) || (isCompared && compared.has(chargeId)),
    madeByKeyAtMs: (chargeId) => madeByKey.get(chargeId),
    contradicted: (chargeId) => contradicted.get(chargeId),
    changedAtMs: (chargeId) => versions.get(chargeId)?.at(-1)?.atMs,
    wasRefused: (chargeId) =>
      versions.get(chargeId)?.some(({ charge: { status } }) => status === 'declined' || status === 'voided') === true,
    statesOf: (chargeId) => versions.get(chargeId)?.length ?? 0,
    feesOf: (chargeId) => feesAtSandbox(versions.get(chargeId)?.at(-1)?.charge),
    charges: () => [...shown.values()],
    requestOf: ({ url, headers, body, by, askedAtMs = clock.nowMs() }) => {
      const operationId = headers['idempotency-key'];
      if (operationId === undefined) return undefined;
      const [, chargeId, kind] = /charges\/([^/]+)\/(capture|void|refunds)$/.exec(url) ?? [];
      const { amount = 0, metadata } = JSON.parse(body ?? '{}') as { amount?: number; metadata?: { payment?: string } };
      const atMs = clock.nowMs();
      const charge = versions.get(chargeId ?? '')?.at(-1)?.charge;
      const lately = since(versions.get(chargeId ?? '') ?? [], askedAtMs - LONG_BEFORE_MS);
      const paymentId = metadata?.payment ?? charge?.metadata['payment'] ?? '';
      return {
        kind: kind === undefined ? 'charge' : kind === 'refunds' ? 'refund' : (kind as AppliedChange['kind']),
        operationId,
        paymentId,
        chargeId,
        amountMinor: amount,
        atMs,
        askedAtMs,
        by,
        isRepeated:
          applied.some((each) => each.operationId === operationId) || (kind === undefined && named.has(operationId)),
        leftBeforeMinor: Math.max(...(lately?.map(leftOf) ?? [Number.POSITIVE_INFINITY])),
        wasOverBefore: lately?.every(({ status }) => OVER.has(status)) === true,
        wasOfAnother: lately?.every(({ metadata: of }) => namesAnother(of, paymentId)) === true,
      };
    },
    newest: (partId) => {
      const charges = [...versions.values()].flatMap((each) => each.at(-1)?.charge ?? []);
      const found = charges.find(
        ({ id, refunds }) => id === partId || refunds.some((refund) => isNamed(refund, partId)),
      );
      invariant(found !== undefined, `unknown object: ${partId}`);
      return found;
    },
    observe: (books) => ({
      ...books,
      add: async (charge, event, ...rest) => {
        const outcome = await books.add(charge, event, ...rest);
        if (outcome === 'key_taken') return outcome;
        note(charge, rest[0] !== undefined);
        if (rest[0] !== undefined) madeByKey.set(charge.id, clock.nowMs());
        onEvent(event);
        return outcome;
      },
      change: async (seen, change) => {
        const outcome = await books.change(seen, change);
        if (outcome === 'conflict') return outcome;
        const { charge, events, operation } = change;
        note(charge, operation !== undefined);
        events.forEach(onEvent);
        if (operation !== undefined) {
          const kind = KINDS[charge.status] ?? 'refund';
          const isRefund = charge.refunds.length > seen.charge.refunds.length;
          const paymentId = charge.metadata['payment'];
          applied.push({ operationId: operation.key, paymentId, kind: isRefund ? 'refund' : kind });
        }
        return outcome;
      },
    }),
    asOf: (answer, { method, url, timeoutMs, maxAnswerBytes = 0 }, { lookup }) => {
      if (lookup.kind !== 'eventual' || method !== 'GET' || answer.status !== 200) return answer;
      // Only searches, and look-ups of a single change, show an older state. A read of the books by the charge's id
      // shows the current state, also when it is retried with a shorter timeout.
      const isRead = timeoutMs >= READ_TIMEOUT_MS || maxAnswerBytes > MAX_CHARGE_BYTES;
      if (isRead && isOfOneCharge(url)) return answer;
      const untilMs = clock.nowMs() - lookup.maxLagMs;
      const body = JSON.parse(answer.text) as Charge | { readonly data: readonly Charge[] };
      const old = 'data' in body ? { ...body, data: body.data.flatMap((each) => before(untilMs, each)) } : body;
      // A read by id never lacks the charge: if the charge is newer than the lag, show its first state.
      const [charge] = 'data' in old ? [old] : [...before(untilMs, old), versions.get(old.id)?.[0]?.charge ?? old];
      return { ...answer, text: JSON.stringify(charge) };
    },
  };
}

function isOfOneCharge(url: string): boolean {
  return /charges\/[^/?]+$/.test(url);
}

const LONG_BEFORE_MS = 30_000;

/** Oldest first; undefined if the charge is newer than `sinceMs`. */
function since(versions: readonly Version[], sinceMs: number): readonly Charge[] | undefined {
  const first = versions.findLastIndex(({ atMs }) => atMs <= sinceMs);
  return first === -1 ? undefined : versions.slice(first).map(({ charge }) => charge);
}

const namesAnother = (of: Charge['metadata'], paymentId: string): boolean =>
  [of['payment'], of['operation']].some((named) => named?.startsWith('pay_') === true && named !== paymentId);
const OVER: ReadonlySet<ChargeStatus> = new Set(['succeeded', 'declined', 'voided']);
function leftOf({ amount_captured: captured, amount_refunded: refunded, disputes }: Charge): number {
  return disputes.reduce((left, { amount, status }) => left - (status === 'won' ? 0 : amount), captured - refunded);
}

const KINDS: Readonly<Partial<Record<ChargeStatus, 'capture' | 'void'>>> = { succeeded: 'capture', voided: 'void' };

function isNamed({ id, metadata }: Charge['refunds'][number], refundId: string): boolean {
  return id === refundId || metadata['operation'] === refundId;
}

interface Line extends Pick<SandboxInProcess, 'sends'>, Pick<InsideSandbox, 'delayNext' | 'deliverDelayed'> {
  readonly send: SendRequest;
  /** Sends a request for a party other than the client. @throws Error unless the response is 2xx */
  readonly ask: (path: string, body?: object, method?: 'POST' | 'PUT') => Promise<unknown>;
  readonly connection: { isUp: boolean };
}

function createLine(
  world: SandboxWorld,
  clock: Clock,
  callers: AsyncLocalStorage<Caller>,
  onSend: (call: HttpCall) => void,
): Line {
  const app = createSandbox(world);
  const connection = { isUp: true };
  const sends = new Map<string, number>();
  const delayed: HttpCall[] = [];
  let toDelay = 0;

  const deliver = async ({ url, method, headers, body }: Omit<HttpCall, 'timeoutMs'>): Promise<HttpAnswer> => {
    const response = await app.fetch(new Request(url, { method, headers, ...(body === undefined ? {} : { body }) }));
    const retryAfter = response.headers.get('retry-after');
    return { status: response.status, retryAfter, headers: response.headers, text: await response.text() };
  };
  const send: SendRequest = async (call) => {
    if (!connection.isUp) throw new RetryableError('processor_unreachable', 'The processor cannot be reached.');
    const key = call.headers['idempotency-key'];
    onSend(call);
    if (key !== undefined) sends.set(key, (sends.get(key) ?? 0) + 1);
    if (key !== undefined && toDelay > 0) {
      toDelay -= 1;
      delayed.push(call);
      await clock.sleep(call.timeoutMs);
      throw timedOut();
    }
    const silence = Promise.withResolvers<'silence'>();
    const caller = { timesOutAtMs: clock.nowMs() + call.timeoutMs, timedOut: () => silence.resolve('silence') };
    const answer = await Promise.race([callers.run(caller, () => deliver(call)), silence.promise]);
    if (answer === 'silence') throw timedOut();
    return answer;
  };
  return {
    send,
    connection,
    sends: (operationId) => sends.get(operationId) ?? 0,
    ask: async (path, body = {}, method = 'POST') => {
      const headers = { 'content-type': 'application/json' };
      const { status, text } = await deliver({ url: SANDBOX_URL + path, method, headers, body: JSON.stringify(body) });
      if (status >= 300) throw new Error(`the sandbox refused ${path}: ${text}`);
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new Error(`the sandbox answered ${path} with no JSON: ${text}`);
      }
    },
    delayNext: (count) => {
      toDelay = count;
    },
    deliverDelayed: async () => {
      for (const call of delayed.splice(0)) await deliver(call);
    },
  };
}

function timedOut(): AmbiguousError {
  return new AmbiguousError('processor_timeout', 'The processor did not answer in time.');
}

/** Never resolves if the caller times out before the sleep ends. */
async function waitAs(caller: Caller | undefined, clock: Clock, milliseconds: number): Promise<void> {
  const leftMs = caller === undefined ? milliseconds + 1 : Math.max(0, caller.timesOutAtMs - clock.nowMs());
  if (milliseconds < leftMs) return clock.sleep(milliseconds);
  await clock.sleep(leftMs);
  caller?.timedOut();
  return new Promise(() => {});
}

type Actions = Omit<InsideSandbox, keyof History | keyof Line | 'all' | 'sent' | 'goDown' | 'recover'>;

function actionsOn(world: SandboxWorld, history: History, ask: Line['ask']): Actions {
  const end = async (chargeId: string, to: 'succeed' | 'decline'): Promise<void> => {
    const before = history.newest(chargeId);
    await advance(world, { kind: 'advance', chargeId, to, attempt: 1, partId: null, heldEventId: null });
    if (history.newest(chargeId) === before)
      throw new Error(`the sandbox did not ${to} the charge, which is ${before.status}`);
  };
  const idIn = (made: unknown): string => (made as { readonly id: string }).id;
  let hasFailing = false;
  return {
    charge: async ({ paymentId, operationId, amountMinor, currency = 'EUR', source = 'tok_ok' }) => {
      const metadata = {
        ...(paymentId === undefined ? {} : { payment: paymentId }),
        ...(operationId === undefined ? {} : { operation: operationId }),
      };
      const order = { amount: amountMinor, currency, source, capture: 'automatic', metadata };
      const id = idIn(await ask('/charges', order));
      const made = history.charges().find(({ chargeId }) => chargeId === id);
      invariant(made !== undefined, 'the charge is not in the books');
      return made;
    },
    read: async (chargeId) => history.newest(chargeId),
    approve: (chargeId) => end(chargeId, 'succeed'),
    decline: (chargeId) => end(chargeId, 'decline'),
    capture: async (chargeId, amount) => void (await ask(`/charges/${chargeId}/capture`, { amount })),
    void: async (chargeId) => void (await ask(`/charges/${chargeId}/void`)),
    expire: async (chargeId) => void (await ask(`/control/charges/${chargeId}/expire`)),
    refund: async (chargeId, amount, begins = 'succeeded') => {
      if (begins === 'pending') await ask('/control/change-failures', { count: 1, source: 'tok_async' }, 'PUT');
      return idIn(await ask(`/charges/${chargeId}/refunds`, { amount }));
    },
    endRefund: async (refundId, status) => {
      const id = history.newest(refundId).refunds.find((refund) => isNamed(refund, refundId))?.id;
      await ask(`/control/refunds/${id}/${status === 'failed' ? 'fail' : 'succeed'}`);
    },
    dispute: async (chargeId, amount) => idIn(await ask(`/control/charges/${chargeId}/dispute`, { amount })),
    closeDispute: async (disputeId, outcome) => void (await ask(`/control/disputes/${disputeId}/close`, { outcome })),
    correct: async (chargeId, changes, callback) => {
      const seen = await world.books.charge(chargeId);
      invariant(seen !== undefined, `unknown charge: ${chargeId}`);
      const charge = { ...seen.charge, ...changes };
      const events = callback === undefined ? [] : [newEvent(world, charge, { type: callback })];
      await world.books.change(seen, { charge, events });
    },
    get hasFailing() {
      return hasFailing;
    },
    failNext: async (count, source) => {
      hasFailing = true;
      await ask('/control/failures', { count, source }, 'PUT');
    },
    failNextChange: async (count, source) => {
      hasFailing = true;
      await ask('/control/change-failures', { count, source }, 'PUT');
    },
  };
}
