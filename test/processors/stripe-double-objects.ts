export interface DoubleRefund {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly currency: string;
  readonly charge: string;
  readonly payment_intent: string;
  readonly created: number;
  readonly metadata: Readonly<Record<string, string>>;
  status: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled';
  failure_reason?: string;
  /** One fee for the refund itself and, if the refund failed, one for the failure. */
  fees: DoubleFee[];
}

interface DoubleDispute {
  readonly id: string;
  readonly object: 'dispute';
  readonly livemode: boolean;
  readonly amount: number;
  readonly currency: string;
  readonly charge: string;
  readonly payment_intent: string;
  status: string;
  /** Fees of the withdrawal and, after a won dispute, of the reinstatement. */
  readonly balance_transactions: DoubleFee[];
}

/** In the account's settlement currency. */
export interface DoubleFee {
  readonly fee: number;
  readonly currency: string;
  readonly reporting_category?: string;
}

interface DoubleCharge {
  readonly id: string;
  /** Undefined until Stripe has booked the fee. */
  readonly fee: DoubleFee | undefined;
}

export interface DoubleError {
  readonly type: string;
  readonly code?: string;
  readonly decline_code?: string;
  readonly message: string;
  readonly param?: string;
}

export interface DoubleIntent {
  readonly id: string;
  amount: number;
  amount_received: number;
  readonly currency: string;
  readonly capture_method: string;
  readonly payment_method: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly created: number;
  readonly searchableAtMs: number;
  status: string;
  cancellation_reason: string | null;
  last_payment_error: DoubleError | null;
  next_action: object | null;
  charge: DoubleCharge | undefined;
  readonly refunds: DoubleRefund[];
  readonly disputes: DoubleDispute[];
}

export function renderIntent(intent: DoubleIntent, expand: readonly string[]): object {
  const { charge: _charge, refunds: _refunds, disputes: _disputes, searchableAtMs: _atMs, ...fields } = intent;
  return {
    object: 'payment_intent',
    ...fields,
    amount_capturable: intent.status === 'requires_capture' ? intent.amount : 0,
    client_secret: `${intent.id}_secret_doubled`,
    livemode: false,
    latest_charge: renderCharge(intent, expand),
  };
}

export function renderRefund({ fees, ...refund }: DoubleRefund, expand: readonly string[]): object {
  const booked = (name: string, fee: DoubleFee | undefined) => {
    if (fee === undefined) return null;
    return expand.includes(name) ? { object: 'balance_transaction', ...fee } : `txn_${refund.id}`;
  };
  return {
    ...refund,
    balance_transaction: booked('balance_transaction', fees[0]),
    failure_balance_transaction: booked('failure_balance_transaction', fees[1]),
  };
}

function renderCharge({ id, charge, amount, refunds, disputes }: DoubleIntent, expand: readonly string[]) {
  if (charge === undefined) return null;
  const paths = expand.filter((path) => path === 'latest_charge' || path.startsWith('latest_charge.'));
  if (paths.length === 0) return charge.id;
  const txn = charge.fee === undefined ? null : `txn_${charge.id}`;
  const booked = { id: txn, object: 'balance_transaction', amount, ...charge.fee };
  return {
    id: charge.id,
    object: 'charge',
    payment_intent: id,
    disputed: disputes.length > 0,
    balance_transaction: txn !== null && paths.includes('latest_charge.balance_transaction') ? booked : txn,
    ...(paths.includes('latest_charge.refunds')
      ? {
          refunds: listOf(
            refunds
              .toReversed()
              .slice(0, 10)
              .map((refund) => renderRefund(refund, [])),
            refunds.length > 10,
          ),
        }
      : {}),
  };
}

export function listOf(data: readonly object[], hasMore: boolean): object {
  return { object: 'list', data, has_more: hasMore, url: '/v1/doubled' };
}
