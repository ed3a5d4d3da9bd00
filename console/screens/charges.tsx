import { Act, Asked, type DryRun, type Field, type Form } from '../act.tsx';
import { may, type Schemas } from '../api.ts';
import type { Values } from '../attempts.ts';
import { Id, Loaded, Time } from '../parts.tsx';
import { type Change, refusalOfCharge } from '../proposals.ts';
import { useApi, useRead } from '../reading.ts';
import { amountToEnter, money, words } from '../show.ts';
import { Table } from '../table.tsx';
import { nameOfChange, outcomeOfChange, returned } from './outcomes.ts';

type Charge = Schemas['Charge'];
type Whole = Schemas['Payment'];

/** The tenant is, for example, `ten_desk/live`. */
interface OfPayment {
  readonly id: string;
  readonly tenant: string;
}

/** Their state at the processor may be newer than the Ledger's. */
function useCharges({ id, tenant }: OfPayment) {
  return useRead<Schemas['ChargeList']>(`/v1/payments/${encodeURIComponent(id)}/charges`, tenant);
}

/** Viewers may not read charges. */
export function Charges(payment: OfPayment) {
  const { self } = useApi();
  return (
    <section aria-label="At the processor now">
      <h3>At the processor now</h3>
      {may(self, 'operator') ? (
        <ChargeTable {...payment} />
      ) : (
        <p class="why">Your role is {self.role}; reading from the processor requires the role operator.</p>
      )}
    </section>
  );
}

function ChargeTable(payment: OfPayment) {
  return (
    <Loaded of={useCharges(payment)}>
      {({ data }) => (
        <Table<Charge>
          label="Charges at the processor"
          rows={data}
          none="The processor has no charge of this payment."
          columns={[
            { title: 'Charge', of: ({ id: charge }) => <Id of={charge} /> },
            { title: 'Processor', of: ({ processor }) => processor },
            { title: 'Made by', of: ({ own }) => (own ? 'this payment' : 'another system') },
            { title: 'Status', of: statusOf },
            { title: 'Requested', isNumber: true, of: ({ amount, currency }) => money(amount, currency) },
            { title: 'Captured', isNumber: true, of: (charge) => money(charge.amount_captured, charge.currency) },
            { title: 'Refunds', of: ({ refunds, currency }) => parts(refunds, currency) },
            { title: 'Disputes', of: ({ disputes, currency }) => parts(disputes, currency) },
            { title: 'Created', of: ({ created }) => <Time at={created} /> },
          ]}
        />
      )}
    </Loaded>
  );
}

function statusOf({ status, failure }: Charge): string {
  return failure === null ? words(status) : `${words(status)}: ${failure.message}`;
}

function parts(all: Charge['refunds'], currency: string): string {
  return all.length === 0
    ? '–'
    : all.map(({ status, amount }) => `${words(status)} ${money(amount, currency)}`).join(', ');
}

interface Option {
  readonly id: string;
  readonly title: string;
  readonly details: string;
  readonly values: Values;
  readonly because?: string | undefined;
}

const NONE: Values = { outcome: '', charge_id: '', amount: '', override: '' };

/** An operator chooses an outcome instead of typing a charge id and an amount. */
function Options({
  question,
  options,
  form: { values, change },
}: {
  readonly question: string;
  readonly options: readonly Option[];
  readonly form: Form;
}) {
  return (
    <fieldset class="options">
      <legend>{question}</legend>
      {options.map(({ id, title, details, values: sent, because }) => (
        <label key={id}>
          <input
            type="radio"
            name="option"
            required
            disabled={because !== undefined}
            checked={values['option'] === id}
            onChange={() => change({ ...NONE, ...sent, option: id })}
          />
          <span>
            <b>{title}</b>
            <small>{because === undefined ? details : `This charge cannot be chosen. ${because}`}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface DecideProps extends OfPayment {
  /** Undefined for viewers, who cannot decide. */
  readonly payment: Whole | undefined;
  readonly strays?: ReadonlySet<string>;
  readonly change?: Change;
  readonly name?: string;
  readonly because?: string | undefined;
  readonly isLinked?: boolean;
  readonly says: (answer: unknown) => string;
}

const WITHOUT_BOOKS = 'without-books';
const NO_STRAYS: ReadonlySet<string> = new Set();

export function Decide({
  id,
  tenant,
  payment,
  strays = NO_STRAYS,
  change,
  name = 'Decide',
  because,
  isLinked,
  says,
}: DecideProps) {
  const hidden = { isHidden: true, isOptional: true } as const;
  const currency = payment?.currency ?? '';
  const fields: readonly Field[] = [
    { name: 'outcome', label: 'Outcome', ...hidden },
    ...(change === undefined
      ? [
          { name: 'charge_id', label: 'Charge at the processor', ...hidden },
          { name: 'amount', label: `Captured amount in ${currency}`, currency, ...hidden },
        ]
      : []),
    { name: 'override', label: 'Without the processor’s books', isFlag: true, ...hidden },
    { name: 'reason', label: 'Reason' },
  ];
  return (
    <Act
      name={name}
      does={
        change === undefined
          ? 'Records the outcome that the processor shows. The payment is then no longer in review, the resulting postings are made, and the tenant receives the event.'
          : `Records whether the processor has made the ${nameOfChange(change)}${quoted(change.reason)}. The ${change.object} then succeeds or fails, the resulting postings are made, and the tenant receives the event.`
      }
      role="operator"
      because={because}
      isLinked={isLinked}
      path={`/v1/admin/payments/${encodeURIComponent(id)}/resolve`}
      fixed={change === undefined ? {} : { change: change.id }}
      preview
      would={(run, { outcome = '' }) => (
        <Would run={run} id={id} tenant={tenant} payment={payment} change={change} outcome={outcome} />
      )}
      ask={(form) =>
        payment && <Choice id={id} tenant={tenant} payment={payment} strays={strays} change={change} form={form} />
      }
      fields={fields}
      says={says}
    />
  );
}

function quoted(reason: string | null): string {
  return reason === null ? '' : ` (“${reason}”)`;
}

function Would({
  run: { payment_status: status },
  payment,
  change,
  outcome,
  ...of
}: OfPayment & {
  readonly run: DryRun;
  readonly payment: Whole | undefined;
  readonly change: Change | undefined;
  readonly outcome: string;
}) {
  const { answer } = useCharges(of);
  if (change !== undefined) return <>{outcomeOfChange(nameOfChange(change), outcome, status, payment?.status)}</>;
  return (
    <>
      The payment would become <b>{words(status)}</b>.{' '}
      {status === 'failed' &&
        (answer === undefined ? 'Payonce then returns any captured money to the payer.' : returned(answer.data))}
    </>
  );
}

interface ChoiceProps extends OfPayment {
  readonly payment: Whole;
  readonly strays: ReadonlySet<string>;
  readonly change: Change | undefined;
  readonly form: Form;
}

function Choice({ id, tenant, payment, strays, change, form }: ChoiceProps) {
  const isChange = change !== undefined;
  const read = useCharges({ id, tenant });
  const { answer, error } = read;
  const options =
    change !== undefined
      ? changeOptions(answer?.data ?? [], change)
      : paymentOptions(answer?.data ?? [], payment, strays);
  const isUnread = error !== undefined;
  return (
    <>
      <Loaded of={read}>
        {({ data }) => (data.length === 0 ? <p>The processor has no charge of this payment.</p> : undefined)}
      </Loaded>
      {(answer !== undefined || isUnread) && (
        <Options
          question={isChange ? `Has the processor made the ${change.object}?` : 'Which charge did the payer pay?'}
          options={[...options, ...(isUnread ? [WITHOUT] : [])]}
          form={form}
        />
      )}
      {form.values['option'] === WITHOUT_BOOKS && <Entered payment={payment} isChange={isChange} form={form} />}
    </>
  );
}

const WITHOUT: Option = {
  id: WITHOUT_BOOKS,
  title: 'The processor’s books cannot be read',
  details: 'Decide without them. The decision records this.',
  values: { override: 'true' },
};

function paymentOptions(charges: readonly Charge[], payment: Whole, strays: ReadonlySet<string>): readonly Option[] {
  const paid = charges
    .filter(({ amount_captured: captured }) => captured > 0)
    .map((charge) => ({
      id: charge.id,
      title: `${money(charge.amount_captured, charge.currency)} captured by ${charge.id}`,
      details: `${charge.own ? 'Made by this payment' : 'Made by another system'}; ${statusOf(charge)} at ${charge.processor}. The payment succeeds with this amount.`,
      because: refusalOfCharge(charge, payment, strays),
      values: {
        outcome: 'succeeded',
        charge_id: charge.id,
        amount: amountToEnter(charge.amount_captured, charge.currency),
      },
    }));
  const details = `The payment fails. ${returned(charges)}`;
  return [...paid, { id: 'none', title: 'None: the payment failed', details, values: { outcome: 'failed' } }];
}

function changeOptions(charges: readonly Charge[], change: Change): readonly Option[] {
  const shown = charges.map(
    (charge) =>
      `${charge.id}: ${statusOf(charge)}, ${money(charge.amount_captured, charge.currency)} captured, refunds: ${parts(charge.refunds, charge.currency)}.`,
  );
  const details = shown.length === 0 ? 'The processor shows no charge.' : `The processor shows ${shown.join(' ')}`;
  return [
    { id: 'made', title: 'Yes, it was made', details, values: { outcome: 'succeeded' } },
    {
      id: 'none',
      title: 'No, it was not made',
      details:
        change.object === 'refund'
          ? `The ${nameOfChange(change)} fails. The payer gets nothing back; the amount can be refunded again.`
          : `The ${nameOfChange(change)} fails. The authorization stays.`,
      values: { outcome: 'failed' },
    },
  ];
}

function Entered({
  payment: { currency, failure, processor },
  isChange,
  form: { values, change },
}: Pick<ChoiceProps, 'payment' | 'form'> & { readonly isChange: boolean }) {
  const charge = { name: 'charge_id', label: 'Charge at the processor' } as const;
  const amount = { name: 'amount', label: `Captured amount in ${currency}`, currency } as const;
  const fields: readonly Field[] = [
    { name: 'outcome', label: 'Outcome', choices: ['succeeded', 'failed'] },
    ...(isChange || values['outcome'] === 'failed'
      ? []
      : [
          processor.charge_id === null ? charge : ({ ...charge, isOptional: true } as const),
          failure?.code === 'wrong_amount' ? amount : ({ ...amount, isOptional: true } as const),
        ]),
  ];
  return (
    <>
      {fields.map((field) => (
        <Asked
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          change={(value) =>
            change({ [field.name]: value, ...(value === 'failed' ? { charge_id: '', amount: '' } : {}) })
          }
        />
      ))}
    </>
  );
}
