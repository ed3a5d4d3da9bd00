import * as z from 'zod';
import type { Clock } from '../../../lambdas/kernel/world.ts';
import { createCircuitBreaker } from '../../../lambdas/outbound/circuit-breaker.ts';
import type { HttpAnswer } from '../../../lambdas/outbound/http-call.ts';
import type {
  ChangeOrder,
  ChangeOutcome,
  ChargeOrder,
  ChargeOutcome,
  Processor,
} from '../../../lambdas/payments/use/processor.ts';
import {
  isProcessorUnhealthy,
  mismatch,
  parse,
  sanitizedFailure,
  statusFault,
} from '../../../lambdas/processors/answers.ts';
import { tillhouseContract } from './contract.ts';
import { type Sale, sale, type TillhouseOptions, tillhouseApi } from './tillhouse-api.ts';
import { processorCharge } from './tillhouse-books.ts';

// Every function that uses the client also uses the books, so this file exports both.
export { createTillhouseBooks } from './tillhouse-books.ts';

interface TillhouseClientOptions extends TillhouseOptions {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly onBreakerOpened: () => void;
  /** The text on the payer's bank statement. @default the shop's name */
  readonly label?: string;
}

const refusal = z.object({ why: z.string() });

export function createTillhouseClient(options: TillhouseClientOptions): Processor {
  const { url, shop, mode, clock, label } = options;
  const call = tillhouseApi(options);
  const breaker = createCircuitBreaker({
    settings: { consecutiveFailures: 5, openForMs: 10_000 },
    probe: async () => mustBeFine(await call('GET', '/pulse', { timeoutMs: 2_000 })),
    isFailure: isProcessorUnhealthy,
    onOpened: options.onBreakerOpened,
  });
  const mustBeFine = (answer: HttpAnswer): void => {
    if (answer.status !== 200) throw statusFault(answer, clock.nowMs());
  };

  return {
    name: tillhouseContract.name,
    mode,
    account: shop,
    endpoint: url,
    apiVersion: '1',
    abilities: tillhouseContract.abilities,
    ready: () => breaker.ready(),
    charge: async (order, limit) => {
      if (order.capture === 'manual') return { kind: 'rejected', failure: HOLDS_NOTHING };
      return breaker.write(async () => {
        const body = { ...wanted(order), token: order.source, ...(label === undefined ? {} : { label }) };
        const answer = await call('PUT', `/sales/${order.operationId}`, limit, body);
        if (answer.status === 402) return { kind: 'declined', failure: failureIn(answer) };
        mustBeFine(answer);
        return chargeOutcome(order, parse(sale, answer));
      });
    },
    findCharge: (order, limit) =>
      breaker.read(async () => {
        const answer = await call('GET', `/sales/${order.operationId}`, limit);
        if (answer.status === 404) return { kind: 'absent' };
        mustBeFine(answer);
        return chargeOutcome(order, parse(sale, answer));
      }),
    change: async (order, limit) => {
      const { change, chargeId, operationId } = order;
      if (change.kind !== 'refund') return { kind: 'refused', failure: HOLDS_NOTHING };
      return breaker.write(async (): Promise<ChangeOutcome> => {
        const body = { cents: change.amountMinor };
        const answer = await call('PUT', `/sales/${chargeId}/returns/${operationId}`, limit, body);
        if (answer.status === 422) return { kind: 'refused', failure: failureIn(answer) };
        mustBeFine(answer);
        return returned(order, parse(sale, answer)) ?? fail('the sale does not contain the return');
      });
    },
    findChange: (order, limit) =>
      breaker.read(async () => {
        const answer = await call('GET', `/sales/${order.chargeId}`, limit);
        mustBeFine(answer);
        return returned(order, parse(sale, answer)) ?? { kind: 'absent' };
      }),
    showCharge: (chargeId, limit) =>
      breaker.read(async () => {
        const answer = await call('GET', `/sales/${chargeId}`, limit);
        mustBeFine(answer);
        return processorCharge(parse(sale, answer));
      }),
  };
}

const HOLDS_NOTHING = { code: 'unsupported', message: 'Tillhouse sells at once, and holds nothing.' };

function wanted({ paymentId, amountMinor, currency }: ChargeOrder) {
  return { payment: paymentId, cents: amountMinor, currency };
}

function chargeOutcome(order: ChargeOrder, made: Sale): ChargeOutcome {
  const { payment, cents, currency } = wanted(order);
  const asOrdered = made.payment === payment && made.cents === cents && made.currency === currency;
  if (!asOrdered) throw mismatch('The sale differs from the request.');
  const { id: chargeId } = made;
  switch (made.state) {
    case 'waiting':
      return { kind: 'pending', chargeId };
    case 'paid':
      return { kind: 'succeeded', chargeId };
    case 'refused':
      return { kind: 'declined', chargeId, failure: { code: 'refused', message: 'The payer’s bank said no.' } };
  }
}

function returned({ operationId, chargeId }: ChangeOrder, made: Sale): ChangeOutcome | undefined {
  const found = made.returns.find(({ name }) => name === operationId);
  if (found === undefined) return undefined;
  const fact = {
    kind: 'refund',
    refundId: operationId,
    chargeId,
    amountMinor: found.cents,
    status: 'succeeded',
  } as const;
  return { kind: 'applied', facts: [fact] };
}

function failureIn(answer: HttpAnswer) {
  return sanitizedFailure({ code: 'refused', message: parse(refusal, answer).why });
}

function fail(message: string): never {
  throw mismatch(message);
}
