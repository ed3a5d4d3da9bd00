import { Act, type Field } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { amountToEnter, enteredAmount, money, words } from '../show.ts';

type Whole = Schemas['Payment'];

interface OfPayment {
  readonly payment: Whole;
  readonly done: (answer: unknown) => void;
}

const REASON: Field = { name: 'reason', label: 'Reason (visible to the tenant)' };

const pathOf = ({ id }: Whole) => `/v1/admin/payments/${encodeURIComponent(id)}`;

/** Offers a refund. */
export function Refund({ payment, done }: OfPayment) {
  const { status, currency, amount_captured: captured, amount_refunded: refunded } = payment;
  const left = captured - refunded;
  return (
    <Act
      name="Refund"
      does="Refunds this payment, in full or in part. This cannot be undone. The tenant receives the event."
      role="operator"
      because={
        status !== 'succeeded'
          ? `The status is ${words(status)}; only a succeeded payment can be refunded.`
          : left <= 0
            ? 'The payment is fully refunded.'
            : undefined
      }
      path={`${pathOf(payment)}/refunds`}
      initial={{ amount: amountToEnter(left, currency) }}
      fields={[{ name: 'amount', label: `Amount in ${currency}`, currency }, REASON]}
      effect={({ amount = '' }) => (
        <Then
          amount={enteredAmount(amount, currency)}
          from={left}
          currency={currency}
          text={(given, rest) => `The payer gets ${given} back. ${rest} of ${money(captured, currency)} stays.`}
        />
      )}
      done={done}
    />
  );
}

/** Offers to capture or cancel an authorized payment, or to cancel one that waits for its payer. */
export function HoldActs({ payment, done }: OfPayment) {
  const { status, amount, currency } = payment;
  const isHeld = status === 'requires_capture';
  return (
    <>
      {isHeld && (
        <Act
          name="Capture"
          does="Charges the authorized amount, or less. The rest is released. This cannot be undone."
          role="operator"
          path={`${pathOf(payment)}/capture`}
          initial={{ amount: amountToEnter(amount, currency) }}
          fields={[{ name: 'amount', label: `Amount in ${currency}`, currency }, REASON]}
          effect={({ amount: entered = '' }) => (
            <Then
              amount={enteredAmount(entered, currency)}
              from={amount}
              currency={currency}
              text={(given, rest) => `The payer is charged ${given}. ${rest} is released.`}
            />
          )}
          done={done}
        />
      )}
      {(isHeld || status === 'requires_action') && (
        <Act
          name="Cancel payment"
          does={`The payer is not charged ${money(amount, currency)}. This cannot be undone. The tenant receives the event.`}
          role="operator"
          path={`${pathOf(payment)}/cancel`}
          fields={[REASON]}
          done={done}
        />
      )}
    </>
  );
}

/** Describes the effect of an amount before the action. */
function Then({
  amount,
  from,
  currency,
  text,
}: {
  readonly amount: number | undefined;
  /** The largest amount, in minor units. */
  readonly from: number;
  readonly currency: string;
  readonly text: (amount: string, rest: string) => string;
}) {
  if (amount === undefined || amount === 0) return <></>;
  return (
    <p class="preview">
      {amount > from
        ? `${money(amount, currency)} is more than the ${money(from, currency)} that are left.`
        : text(money(amount, currency), money(from - amount, currency))}
    </p>
  );
}
