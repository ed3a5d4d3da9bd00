import * as z from 'zod';
import { type Call, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { chargeOperation, type PaymentId, parsePaymentId } from '../../kernel/ids.ts';
import type { ProcessorCharge } from '../domain/processor-charge.ts';
import type { PaymentStore } from '../use/payment-store.ts';
import { type KnownProcessors, pinnedBooks } from '../use/pinned-processor.ts';
import type { ProcessorBooks } from '../use/processor.ts';
import { belongsTo } from '../use/read-payment.ts';

export interface ListChargesTools extends KnownProcessors {
  readonly store: Pick<PaymentStore, 'readPayment'>;
  readonly books: readonly ProcessorBooks[];
}

const BOOKS_TIMEOUT_MS = 5_000;

const minor = (what: string) =>
  z
    .int()
    .min(0)
    .meta({ description: `${what}, in minor units.` });
const status = (what: string) => z.string().meta({ description: `${what} at the processor, in Payonce’s terms.` });

/** A charge as the processor's books have it now. The API documents are generated from it. */
export const charge = z
  .looseObject({
    id: z.string().meta({ description: 'The id at the processor.', example: 'ch_k3jx5aqhz4m2' }),
    object: z.literal('charge'),
    processor: z.string().meta({ description: 'The name of the processor.' }),
    own: z.boolean().meta({ description: 'Whether the request of this payment made it.' }),
    status: z.enum(['pending', 'requires_action', 'authorized', 'succeeded', 'declined', 'voided']),
    amount: minor('The amount that was asked for'),
    amount_captured: minor('What was captured'),
    currency: z.string(),
    fee: minor('The processor’s fee').nullable(),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    refunds: z.array(z.looseObject({ id: z.string(), status: status('Of the refund'), amount: minor('The amount') })),
    disputes: z.array(z.looseObject({ id: z.string(), status: status('Of the dispute'), amount: minor('The amount') })),
    created: z.int().meta({ description: 'Unix time in seconds.' }),
  })
  .meta({ id: 'Charge' });

export const chargeList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(charge).meta({ description: 'All charges with the payment’s id in their metadata, oldest first.' }),
    has_more: z.literal(false),
  })
  .meta({ id: 'ChargeList' });

/** What the books of the payment's processor say now. It reads and changes nothing. @throws as `ProcessorBooks` */
export async function listCharges({ tools, caller, request, id }: Call<ListChargesTools>): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const paymentId = parsePaymentId(id);
  const history = paymentId === undefined ? undefined : await tools.store.readPayment(paymentId);
  if (paymentId === undefined || history === undefined || !belongsTo(history.newest.payment, caller))
    return refusal(problem('not_found', 'There is no such payment.'), request);
  const books = pinnedBooks(tools, history.first);
  if (books === undefined) {
    const detail = 'This deployment does not call the processor of this payment any more.';
    return refusal(problem('processor_unavailable', detail), request);
  }
  const charges = await books.chargesOfPayment(paymentId, { timeoutMs: BOOKS_TIMEOUT_MS });
  const data = charges
    .toSorted((one, other) => one.createdAtSeconds - other.createdAtSeconds)
    .map((each) => chargeObject(each, books.name, paymentId));
  return found({ object: 'list', data, has_more: false });
}

function chargeObject(made: ProcessorCharge, processor: string, paymentId: PaymentId): z.infer<typeof charge> {
  const { chargeId, status: state, amountMinor, capturedMinor, currency, feeMinor, failure, createdAtSeconds } = made;
  return {
    id: chargeId,
    object: 'charge',
    processor,
    own: made.operationId === chargeOperation(paymentId),
    status: state,
    amount: amountMinor,
    amount_captured: capturedMinor,
    currency,
    fee: feeMinor ?? null,
    failure: failure === undefined ? null : { code: failure.code, message: failure.message },
    refunds: made.refunds.map((each) => ({ id: each.refundId, status: each.status, amount: each.amountMinor })),
    disputes: made.disputes.map((each) => ({ id: each.disputeId, status: each.status, amount: each.amountMinor })),
    created: createdAtSeconds,
  };
}
