import { Act, type DryRun } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { reversible } from '../proposals.ts';
import { money, words } from '../show.ts';
import { ACCOUNTS } from './books.tsx';
import { Charges } from './charges.tsx';
import type { Transition } from './timeline.tsx';

type Whole = Schemas['Payment'];

interface CorrectProps {
  readonly id: string;
  /** The tenant and mode of the payment, for example `ten_desk/live`. */
  readonly tenant: string;
  /** Undefined for viewers, who cannot correct. */
  readonly payment: Whole | undefined;
  readonly transitions: readonly Transition[];
  readonly says: (answer: unknown) => string;
}

export function Correct({ id, tenant, payment, transitions, says }: CorrectProps) {
  const isPosted = transitions.some(({ postings }) => postings.length > 0);
  const posted = reversible(transitions);
  const { currency = '' } = payment ?? {};
  const common = {
    role: 'operator',
    path: '/v1/admin/corrections',
    fixed: { payment: id },
    preview: true,
    ask: () => <Charges id={id} tenant={tenant} />,
    would: ({ payment_status: status }: DryRun) =>
      `The payment stays ${words(status)}: a correction changes the books only.`,
    says,
  } as const;
  return (
    <>
      <Act
        {...common}
        name="Correct"
        does="Reverses one set of postings. The original stays in the Ledger."
        because={
          posted.length > 0 ? undefined : isPosted ? 'All postings were already reversed.' : 'Nothing was posted.'
        }
        fields={[
          { name: 'reverses', label: 'Postings to reverse', isWhole: true, choices: posted.map(choiceOf) },
          { name: 'reason', label: 'Reason' },
        ]}
      />
      <Act
        {...common}
        name="Add postings"
        does="Adds a debit and an equal credit to the books of this payment, for example after a difference. The status and the amounts of the payment stay the same."
        fields={[
          { name: 'debit', label: 'Account to debit', choices: ACCOUNTS },
          { name: 'credit', label: 'Account to credit', choices: ACCOUNTS },
          { name: 'amount', label: `Amount in ${currency}`, currency },
          { name: 'reason', label: 'Reason' },
        ]}
        compose={({ debit, credit, amount, reason }) => ({
          reason,
          postings: [
            { account: debit, direction: 'debit', amount },
            { account: credit, direction: 'credit', amount },
          ],
        })}
      />
    </>
  );
}

function choiceOf({ sequence, type, postings }: Transition): readonly [value: string, shown: string] {
  const debits = postings.filter(({ direction }) => direction === 'debit');
  return [
    String(sequence),
    `${sequence}. ${type}, ${debits.map((each) => money(each.amount, each.currency)).join(' + ')}`,
  ];
}
