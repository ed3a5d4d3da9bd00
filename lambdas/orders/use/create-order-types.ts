import type { Answer } from '../../kernel/answer.ts';
import type { AlarmMetric } from '../../kernel/contract/metrics.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, OrderId, TenantId } from '../../kernel/ids.ts';
import type { RepeatOutcome } from '../../once/use/judge-record.ts';
import type { CreatePaymentTools } from '../../payments/use/create-payment-types.ts';
import type { Processor } from '../../payments/use/processor.ts';
import type { OrderLine } from '../domain/order-transition.ts';
import type { Mailer, ReferralProgram, StockKeeper } from './order-parties.ts';
import type { OrderStore } from './order-store.ts';

export interface OrderTools extends CreatePaymentTools {
  readonly orders: OrderStore;
  readonly stock: StockKeeper;
  readonly referrals: ReferralProgram;
  readonly mailer: Mailer;
  /** Where a new payment goes. @default to the one processor */
  readonly choose?: (payment: { readonly tenantId: TenantId; readonly currency: string }) => Processor;
  /** Told of what a party answered that trying again cannot help. */
  readonly report: (error: unknown) => void;
  /** Told, perhaps more than once, of what needs a person. @default nobody is */
  readonly alarm?: (what: AlarmMetric) => void;
}

export interface CreateOrder {
  /** Derived from tenant, mode, method, path and idempotency key. */
  readonly orderId: OrderId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly fingerprint: Fingerprint;
  readonly requestId: string;
  /** When the client asked, on this process's clock: its time runs from here. @default now */
  readonly receivedAtMs?: number;
  /** Minor units. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly items: readonly OrderLine[];
  readonly email: string;
  readonly referrer?: string;
}

export type CreateOrderOutcome =
  /** Executed by this call; `unknown` when the order could not be brought to its end in time. */
  | { readonly kind: 'first'; readonly answer: Answer; readonly unknown: boolean }
  | Exclude<RepeatOutcome, { kind: 'key_expired' }>
  | { readonly kind: 'order_key_expired'; readonly orderId: OrderId };
