import { Act, type Field } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { type Change, type Proposal, proposalFor } from '../proposals.ts';
import { amountToEnter, enteredAmount, money } from '../show.ts';

type Whole = Schemas['Payment'];

interface OfPayment {
  readonly payment: Whole;
  /** All refunds, captures and cancellations. Undefined until they were read. */
  readonly changes: readonly Change[] | undefined;
  readonly done: (answer: unknown) => void;
}

function proposed(kind: Parameters<typeof proposalFor>[0], { payment, changes }: OfPayment): Proposal {
  if (changes !== undefined) return proposalFor(kind, payment, changes);
  return { amount: 0, because: 'The earlier changes of the payment are not read yet.' };
}

const REASON: Field = { name: 'reason', label: 'Reason (visible to the tenant)' };

const pathOf = ({ id }: Whole) => `/v1/admin/payments/${encodeURIComponent(id)}`;

/** Offers a refund. */
export function Refund(props: OfPayment) {
  const { payment, done } = props;
  const { currency, amount_captured: captured } = payment;
  const { amount: left, because, withheld = '' } = proposed('refund', props);
  return (
    <Act
      name="Refund"
      does={`Refunds this payment, in full or in part. This cannot be undone. The tenant receives the event. ${withheld}`}
      role="operator"
      because={because}
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
export function HoldActs(props: OfPayment) {
  const { payment, done } = props;
  const { status, amount, currency } = payment;
  const isHeld = status === 'requires_capture';
  const capture = proposed('capture', props);
  return (
    <>
      {isHeld && (
        <Act
          name="Capture"
          does="Charges the authorized amount, or less. The rest is released. This cannot be undone."
          role="operator"
          because={capture.because}
          path={`${pathOf(payment)}/capture`}
          initial={{ amount: amountToEnter(capture.amount, currency) }}
          fields={[{ name: 'amount', label: `Amount in ${currency}`, currency }, REASON]}
          effect={({ amount: entered = '' }) => (
            <Then
              amount={enteredAmount(entered, currency)}
              from={capture.amount}
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
          because={proposed('cancel', props).because}
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
