import type { Cause } from '../../kernel/cause.ts';
import { AmbiguousError, RetryableError } from '../../kernel/faults.ts';
import type { Mode, OrderId } from '../../kernel/ids.ts';
import type { CallMadeAgain } from '../../outbound/use/redrive-dead-letters.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { Order } from '../domain/order.ts';
import { isMoneyMissing, type OrderFact } from '../domain/order-facts.ts';
import { type AppendTools, recordFacts } from './drive-order.ts';
import { readOrderPayment } from './order-calls.ts';
import { readOrderChain } from './order-chain.ts';

export interface OrderRedriveTools extends AppendTools {
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  /** The only mode in which external services are called. `none`: they are not deployed. @default both modes */
  readonly ordersOf?: Mode | 'none';
}

interface CallAgain {
  readonly orderId: OrderId;
  readonly cause: Cause;
  readonly call: () => Promise<CallMadeAgain>;
  readonly applied: 'email_sent' | 'credited';
  readonly refused: 'email_refused' | 'credit_refused';
}

/**
 * Only `stays` keeps the dead letter. If a redrive was interrupted before it recorded the outcome, the next redrive
 * repeats the call with the same key, so that the call has no second effect.
 *
 * @throws the faults of the call, and RetryableError with a retry time if the outcome could not be recorded: the dead
 * letter stays in its queue, and the next redrive or redelivery records the outcome
 */
export async function callForOrderAgain(
  tools: OrderRedriveTools,
  { orderId, cause, call, applied, refused }: CallAgain,
): Promise<CallMadeAgain> {
  const chain = await readOrderChain(tools.orders, orderId);
  if (chain === undefined) return { kind: 'stays', reason: 'order_unknown', isUnmade: true };
  if (hasEffect(chain.order, applied)) return { kind: 'applied' };
  if (chain.order.failure !== undefined) return { kind: 'refused', reason: 'order_canceled' };
  if (applied === 'email_sent' && chain.details.detailsErased) return { kind: 'refused', reason: 'order_erased' };
  const { ordersOf = chain.order.mode } = tools;
  if (ordersOf !== chain.order.mode) return { kind: 'stays', reason: 'parties_elsewhere', isUnmade: true };
  const payment = await readOrderPayment(tools, chain.order);
  if (payment === undefined) return { kind: 'stays', reason: 'payment_unavailable', isUnmade: true };
  if (isMoneyMissing(payment, chain.order)) return { kind: 'stays', reason: 'payment_refunded', isUnmade: true };
  const result = await call();
  if (result.kind === 'stays') return result;
  const fact: OrderFact = { kind: result.kind === 'applied' ? applied : refused };
  await recordFacts(tools, orderId, [fact], cause).catch(retryLater);
  return result;
}

/**
 * For a delayed call, the retry time causes a redelivery of the message. Without it, the call would be dead-lettered as
 * failed, although only its outcome could not be recorded.
 */
function retryLater(cause: unknown): never {
  if (!(cause instanceof RetryableError || cause instanceof AmbiguousError)) throw cause;
  throw new RetryableError(cause.code, cause.message, { cause, retryAfterSeconds: 1 });
}

function hasEffect({ email, referral }: Order, applied: CallAgain['applied']): boolean {
  return applied === 'email_sent' ? email.status === 'sent' : referral.status === 'credited';
}
