import * as z from 'zod';
import type { Clock } from '../../../lambdas/kernel/world.ts';
import type { ProcessorCharge } from '../../../lambdas/payments/domain/processor-charge.ts';
import { parsePaymentId } from '../../../lambdas/payments/ids.ts';
import type { ProcessorBooks } from '../../../lambdas/payments/use/processor.ts';
import { parse, statusFault } from '../../../lambdas/processors/answers.ts';
import { tillhouseContract } from './contract.ts';
import { type Sale, sale, type TillhouseOptions, tillhouseApi } from './tillhouse-api.ts';

const list = z.object({ sales: z.array(sale) });

export function createTillhouseBooks(
  options: TillhouseOptions & { readonly clock: Pick<Clock, 'nowMs'> },
): ProcessorBooks {
  const { shop, mode, clock } = options;
  const call = tillhouseApi(options);
  const listed = async (query: string, timeoutMs: number): Promise<readonly ProcessorCharge[]> => {
    const answer = await call('GET', `/sales?${query}`, { timeoutMs });
    if (answer.status !== 200) throw statusFault(answer, clock.nowMs());
    return parse(list, answer).sales.map(processorCharge);
  };
  return {
    name: tillhouseContract.name,
    mode,
    account: shop,
    readCharge: async (chargeId, limit) => {
      const answer = await call('GET', `/sales/${chargeId}`, limit);
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw statusFault(answer, clock.nowMs());
      return processorCharge(parse(sale, answer));
    },
    chargesOfPayment: (paymentId, { timeoutMs }) => listed(`payment=${paymentId}`, timeoutMs),
    listCharges: async ({ fromSeconds, untilSeconds }, { timeoutMs }) => ({
      charges: await listed(`from=${fromSeconds}&until=${untilSeconds}`, timeoutMs),
    }),
  };
}

/** The sale's id is the operation id of the charge request. */
export function processorCharge({ id, payment, cents, currency, state, returns, made }: Sale): ProcessorCharge {
  const paymentId = parsePaymentId(payment);
  return {
    chargeId: id,
    ...(paymentId === undefined ? {} : { paymentId }),
    operationId: id,
    status: ({ waiting: 'pending', paid: 'succeeded', refused: 'declined' } as const)[state],
    amountMinor: cents,
    capturedMinor: state === 'paid' ? cents : 0,
    currency,
    refunds: returns.map(({ name, cents: amountMinor }) => ({
      kind: 'refund',
      refundId: name,
      chargeId: id,
      amountMinor,
      status: 'succeeded',
    })),
    disputes: [],
    createdAtSeconds: made,
  };
}
