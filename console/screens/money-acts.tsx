import { Act, type Field } from '../act.tsx';
import type { Schemas } from '../api.ts';
import {
  type Abilities,
  type Approval,
  type Change,
  type Proposal,
  proposalFor,
  waitingRequests,
} from '../proposals.ts';
import { amountToEnter, amountWanted, enteredAmount, money } from '../show.ts';

type Whole = Schemas['Payment'];

interface OfPayment {
  readonly payment: Whole;
  /** All refunds, captures and cancellations. Undefined until they were read. */
  readonly changes: readonly Change[] | undefined;
  /** Undefined until they were read. */
  readonly open: readonly Approval[] | undefined;
  readonly abilities: Abilities;
  readonly says: (what: string) => (answer: unknown) => string;
}

interface Proposed extends Proposal {
  readonly suggested: string;
  readonly waits: string;
}

function proposed(kind: Parameters<typeof proposalFor>[0], { payment, changes, open, abilities }: OfPayment): Proposed {
  if (changes === undefined || open === undefined)
    return {
      amount: 0,
      because: 'The earlier changes of the payment have not been loaded yet.',
      suggested: '',
      waits: '',
    };
  const proposal = proposalFor(kind, payment, changes, abilities);
  const { sum, text } = waitingRequests(kind, open);
  const rest = proposal.isWhole ? proposal.amount : proposal.amount - sum;
  const because = proposal.because ?? (proposal.isWhole && sum > 0 ? text : undefined);
  const suggested = rest > 0 ? amountToEnter(rest, payment.currency) : '';
  return { ...proposal, ...(because !== undefined && { because }), suggested, waits: text };
}

const REASON: Field = { name: 'reason', label: 'Reason (visible to the tenant)' };

/** @param isWhole set if only the proposed amount is possible */
function amountIn(currency: string, isWhole: true | undefined): Field {
  return { name: 'amount', label: `Amount in ${currency}`, currency, ...(isWhole && { isHidden: true }) };
}

const pathOf = ({ id }: Whole) => `/v1/admin/payments/${encodeURIComponent(id)}`;

export function Refund(props: OfPayment) {
  const { payment, says } = props;
  const { currency, amount_captured: captured } = payment;
  const { amount: left, because, withheld = '', isWhole, suggested, waits } = proposed('refund', props);
  return (
    <Act
      name="Refund"
      does={`Refunds ${isWhole ? `${money(left, currency)}, the whole payment` : 'this payment, in full or in part'}. This cannot be undone. The tenant receives the event. ${withheld} ${waits}`}
      role="operator"
      because={because}
      path={`${pathOf(payment)}/refunds`}
      initial={{ amount: suggested }}
      fields={[amountIn(currency, isWhole), REASON]}
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

export function HoldActs(props: OfPayment) {
  const { payment, says } = props;
  const { status, amount, currency } = payment;
  const isHeld = status === 'requires_capture';
  const capture = proposed('capture', props);
  const cancel = proposed('cancel', props);
  return (
    <>
      {isHeld && (
        <Act
          name="Capture"
          does={`Charges ${capture.isWhole ? `the authorized ${money(amount, currency)}` : 'the authorized amount, or less. The rest is released'}. This cannot be undone. ${capture.waits}`}
          role="operator"
          because={capture.because}
          path={`${pathOf(payment)}/capture`}
          initial={{ amount: capture.suggested }}
          fields={[amountIn(currency, capture.isWhole), REASON]}
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
          does={`Cancels the payment: the payer is not charged ${money(amount, currency)}. This cannot be undone. The tenant receives the event. ${cancel.waits}`}
          role="operator"
          because={cancel.because}
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

function Then({
  entered,
  from,
  currency,
  text,
}: {
  readonly entered: string;
  /** Minor units. */
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
