import { Act, type Field } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { type Change, type Proposal, proposalFor } from '../proposals.ts';
import { amountToEnter, amountWanted, enteredAmount, money } from '../show.ts';

type Whole = Schemas['Payment'];

interface OfPayment {
  readonly payment: Whole;
  /** All refunds, captures and cancellations. Undefined until they were read. */
  readonly changes: readonly Change[] | undefined;
  readonly says: (what: string) => (answer: unknown) => string;
}

function proposed(kind: Parameters<typeof proposalFor>[0], { payment, changes }: OfPayment): Proposal {
  if (changes !== undefined) return proposalFor(kind, payment, changes);
  return { amount: 0, because: 'The earlier changes of the payment are not read yet.' };
}

const REASON: Field = { name: 'reason', label: 'Reason (visible to the tenant)' };

const pathOf = ({ id }: Whole) => `/v1/admin/payments/${encodeURIComponent(id)}`;

/** Offers a refund. */
export function Refund(props: OfPayment) {
  const { payment, says } = props;
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
          entered={amount}
          from={left}
          currency={currency}
          text={(given, rest) => `The payer gets ${given} back. ${rest} of ${money(captured, currency)} stays.`}
        />
      )}
      says={says('The refund was made.')}
    />
  );
}

/** Offers to capture or cancel an authorized payment, or to cancel one that waits for its payer. */
export function HoldActs(props: OfPayment) {
  const { payment, says } = props;
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
              entered={entered}
              from={capture.amount}
              currency={currency}
              text={(given, rest) => `The payer is charged ${given}. ${rest} is released.`}
            />
          )}
          says={(answer) => says(capturedText(answer))(answer)}
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
          says={says('The payment was canceled. The payer is not charged.')}
        />
      )}
    </>
  );
}

function capturedText(answer: unknown): string {
  const { amount_captured: captured, currency } = answer as Whole;
  return `${money(captured, currency)} was captured.`;
}

/** Describes the effect of an amount before the action. */
function Then({
  entered,
  from,
  currency,
  text,
}: {
  readonly entered: string;
  /** The largest amount, in minor units. */
  readonly from: number;
  readonly currency: string;
  readonly text: (amount: string, rest: string) => string;
}) {
  if (entered.trim() === '') return <></>;
  const amount = enteredAmount(entered, currency);
  if (amount === undefined) return <p class="preview">{amountWanted('The amount', currency)}</p>;
  if (amount === 0) return <></>;
  return (
    <p class="preview">
      {amount > from
        ? `${money(amount, currency)} is more than the ${money(from, currency)} that are left.`
        : text(money(amount, currency), money(from - amount, currency))}
    </p>
  );
}
