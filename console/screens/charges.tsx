import { Act } from '../act.tsx';
import { may, type Schemas } from '../api.ts';
import { Loaded, Table, useApi, useRead } from '../parts.tsx';
import { money, time } from '../show.ts';

type Charge = Schemas['Charge'];

/** Shows the charges in their current state at the processor, which may be newer than the Ledger's. */
export function Charges({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const { self } = useApi();
  return (
    <section aria-label="At the processor now">
      <h3>At the processor now</h3>
      {may(self, 'operator') ? (
        <Asked id={id} tenant={tenant} />
      ) : (
        <p class="why">Your role is {self.role}; to ask the processor needs operator.</p>
      )}
    </section>
  );
}

function Asked({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const read = useRead<Schemas['ChargeList']>(`/v1/payments/${encodeURIComponent(id)}/charges`, tenant);
  return (
    <Loaded of={read}>
      {({ data }) => (
        <Table<Charge>
          label="Charges at the processor"
          rows={data}
          none="The processor has no charge of this payment."
          columns={[
            { title: 'Charge', of: ({ id: charge }) => <code>{charge}</code> },
            { title: 'Processor', of: ({ processor }) => processor },
            { title: 'Made by', of: ({ own }) => (own ? 'this payment' : 'another system') },
            {
              title: 'Status',
              of: ({ status, failure }) => (failure === null ? status : `${status}: ${failure.message}`),
            },
            { title: 'Asked for', isNumber: true, of: ({ amount, currency }) => money(amount, currency) },
            { title: 'Captured', isNumber: true, of: (charge) => money(charge.amount_captured, charge.currency) },
            { title: 'Refunds', of: ({ refunds, currency }) => parts(refunds, currency) },
            { title: 'Disputes', of: ({ disputes, currency }) => parts(disputes, currency) },
            { title: 'Created', of: ({ created }) => time(created) },
          ]}
        />
      )}
    </Loaded>
  );
}

function parts(all: Charge['refunds'], currency: string): string {
  return all.length === 0 ? '–' : all.map(({ status, amount }) => `${status} ${money(amount, currency)}`).join(', ');
}

interface DecideProps {
  readonly id: string;
  readonly tenant: string;
  readonly status: string;
  readonly done: (answer: unknown) => void;
  readonly refused: () => void;
}

/** Offers a decision about a payment, next to the current books of the processor. */
export function Decide(props: DecideProps) {
  const { self } = useApi();
  const { status } = props;
  if (status !== 'needs_review')
    return <DecideAct {...props} because={`The status is ${status}; only needs_review can be decided.`} />;
  return may(self, 'operator') ? <DecideInCurrency {...props} /> : <DecideAct {...props} />;
}

/** Offers the decision, with the amount in the currency of the payment. */
function DecideInCurrency(props: DecideProps) {
  const { id, tenant } = props;
  const { answer, error } = useRead<Schemas['Payment']>(`/v1/payments/${encodeURIComponent(id)}`, tenant);
  if (answer !== undefined) return <DecideAct {...props} currency={answer.currency} />;
  return <DecideAct {...props} because={error === undefined ? 'Loading …' : 'The payment cannot be read now.'} />;
}

function DecideAct({
  id,
  tenant,
  because,
  currency = '',
  done,
  refused,
}: DecideProps & { readonly because?: string; readonly currency?: string }) {
  return (
    <Act
      name="Decide"
      does="Records what an operator found out at the processor: the payment ends, its postings are made, and its tenant receives the event. The processor's books must contain the charge with this amount; money of a failed payment is returned."
      role="operator"
      because={because}
      path={`/v1/admin/payments/${encodeURIComponent(id)}/resolve`}
      preview
      details={<Charges id={id} tenant={tenant} />}
      fields={[
        { name: 'outcome', label: 'Outcome', choices: ['succeeded', 'failed'] },
        { name: 'charge_id', label: 'Charge at the processor', isOptional: true },
        { name: 'amount', label: `Captured amount in ${currency}`, isOptional: true, currency },
        {
          name: 'override',
          label: 'Decide although the processor’s books cannot be read',
          choices: [['true', 'yes']],
          isOptional: true,
          isFlag: true,
        },
        { name: 'reason', label: 'Reason' },
      ]}
      done={done}
      refused={refused}
    />
  );
}
