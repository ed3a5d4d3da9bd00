import { useState } from 'preact/hooks';
import { Act } from '../act.tsx';
import { may, type Schemas } from '../api.ts';
import { Fact, Id, Loaded, Status, Time } from '../parts.tsx';
import { type Mode, useFollow, usePlace, useTenantName } from '../place.ts';
import {
  type Abilities,
  type Approval,
  type Change,
  openApprovals,
  refusalOfReview,
  strayCharges,
} from '../proposals.ts';
import { useApi, useRead, useWhole } from '../reading.ts';
import { money, words } from '../show.ts';
import { Table } from '../table.tsx';
import { Changes, useChanges } from './changes.tsx';
import { Charges, Decide } from './charges.tsx';
import { Correct } from './correct.tsx';
import { StateDiagram } from './diagram.tsx';
import { useKeyNames } from './key-names.ts';
import { OpenApprovals } from './lists.tsx';
import { HoldActs, Refund } from './money-acts.tsx';
import { Story, type Transition } from './timeline.tsx';

type Timeline = Schemas['Timeline'];
type Whole = Schemas['Payment'];
type ApprovalList = Schemas['ApprovalList'];

export function Payment({ id }: { readonly id: string }) {
  const read = useWhole<Timeline>(`/v1/admin/payments/${encodeURIComponent(id)}/timeline`);
  const { to } = usePlace();
  const { tenant, livemode = true } = read.answer ?? {};
  useFollow(tenant, livemode ? 'live' : 'test');
  const keys = useKeyNames(tenant);
  return (
    <>
      <p>
        <a href={to('payments')}>All payments</a>
      </p>
      <h1>{id}</h1>
      <Loaded of={read}>
        {({ data, has_more: more, ...of }) => {
          const transitions = data.filter((entry): entry is Transition => entry.kind === 'transition');
          const mode: Mode = of.livemode ? 'live' : 'test';
          return (
            <>
              {more && <p role="alert">This payment has more transitions than this page shows.</p>}
              <Shown
                id={id}
                tenant={of.tenant}
                mode={mode}
                transitions={transitions}
                keys={keys}
                abilities={of.processor_abilities}
              />
              <StateDiagram statuses={['processing', ...transitions.map((each) => each.status)]} />
              <Story entries={data} keys={keys} />
              <Postings transitions={transitions} />
              <AtProcessor id={id} tenant={`${of.tenant}/${mode}`} />
              <details>
                <summary>The timeline as returned by the API</summary>
                <pre>{JSON.stringify(data, undefined, 2)}</pre>
              </details>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** @param what the sentence if the action took effect */
function says(what: string) {
  return (answer: unknown): string => {
    const { object, status } = answer as { readonly object?: string; readonly status?: string };
    if (object === 'approval') return 'The request waits for a second person, on the screen Approvals.';
    return status === 'pending' || status === 'processing'
      ? 'The request was sent to the processor. Its outcome is not known yet, and will be recorded.'
      : what;
  };
}

interface ShownProps {
  readonly id: string;
  readonly tenant: string;
  readonly mode: Mode;
  readonly transitions: readonly Transition[];
  /** Names of keys, by key id. */
  readonly keys: ReadonlyMap<string, string>;
  readonly abilities: Abilities;
}

/** Viewers see neither amounts nor the texts of the merchant. */
function Shown(props: ShownProps) {
  const { self } = useApi();
  const { tenant, mode, transitions } = props;
  const status = transitions.at(-1)?.status ?? 'processing';
  if (may(self, 'operator')) return <WithDetails {...props} status={status} />;
  return (
    <>
      <dl class="facts">
        <Fact name="Status" value={<Status of={status} />} />
        <Fact name="Tenant" value={tenant} />
        <Fact name="Mode" value={mode} />
      </dl>
      <p class="why">Your role is {self.role}; amounts, description and metadata require the role operator.</p>
      <Acts {...props} status={status} payment={undefined} changes={undefined} open={undefined} />
    </>
  );
}

interface WithStatus extends ShownProps {
  readonly status: Whole['status'];
}

function WithDetails(props: WithStatus) {
  const { id, tenant, mode } = props;
  const owner = `${tenant}/${mode}`;
  const read = useRead<Whole>(`/v1/payments/${encodeURIComponent(id)}`, owner);
  const changes = useChanges(id, owner);
  const approvals = useRead<ApprovalList>('/v1/admin/approvals?limit=100');
  const open = approvals.answer === undefined ? undefined : openApprovals(approvals.answer.data, id);
  return (
    <Loaded of={read}>
      {(payment) => (
        <>
          <p class="headline">
            <b>{money(payment.amount, payment.currency)}</b> <Status of={payment.status} /> <Id of={id} />
          </p>
          <Acts {...props} payment={payment} changes={changes.answer} open={open} />
          {payment.status === 'needs_review' && <Review payment={payment} tenant={owner} />}
          <Details payment={payment} tenant={tenant} mode={mode} />
          <Loaded of={approvals}>{() => <OpenApprovals rows={open ?? []} />}</Loaded>
          <Changes
            {...props}
            payment={payment}
            tenant={owner}
            says={says}
            read={changes}
            approvals={approvals.answer?.data ?? []}
          />
        </>
      )}
    </Loaded>
  );
}

function Details({ payment, tenant, mode }: { readonly payment: Whole; readonly tenant: string; readonly mode: Mode }) {
  const { currency, processor, failure, reference, description, metadata } = payment;
  const nameOf = useTenantName();
  return (
    <>
      <dl class="facts">
        <Fact name="Captured" value={money(payment.amount_captured, currency)} />
        <Fact name="Refunded" value={money(payment.amount_refunded, currency)} />
        {payment.amount_disputed > 0 && <Fact name="Disputed" value={money(payment.amount_disputed, currency)} />}
        <Fact name="Created" value={<Time at={payment.created} />} />
        <Fact name="Tenant" value={`${nameOf(tenant)}, ${mode}`} />
        <Fact name="Processor" value={processor.name} />
        <Fact name="Charge" value={<Id of={processor.charge_id} />} />
        <Fact name="Source" value={<Id of={payment.source} />} />
        {failure !== null && <Fact name="Failure" value={`${words(failure.code)}: ${failure.message}`} />}
        {reference !== null && <Fact name="Reference" value={<Id of={reference} />} />}
        {description !== null && <Fact name="Description" value={description} />}
        {payment.details_erased === true && <Fact name="Personal data" value="erased" />}
        {Object.entries(metadata).map(([name, value]) => (
          <Fact key={name} name={`metadata ${name}`} value={value} />
        ))}
      </dl>
      <details>
        <summary>The payment as returned by the API</summary>
        <pre>{JSON.stringify(payment, undefined, 2)}</pre>
      </details>
    </>
  );
}

function Review({ payment: { id, failure }, tenant }: { readonly payment: Whole; readonly tenant: string }) {
  return (
    <section class="review" aria-labelledby="review">
      <h2 id="review">Needs a decision</h2>
      <p>{failure === null ? 'The responses of the processor do not determine the outcome.' : failure.message}</p>
      <Charges id={id} tenant={tenant} />
    </section>
  );
}

/** The state is read only when this part is opened, because the processor limits the rate of reads. */
function AtProcessor({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Current state at the processor</summary>
      {isOpen && <Charges id={id} tenant={tenant} />}
    </details>
  );
}

function Acts({
  id,
  tenant,
  mode,
  status,
  transitions,
  payment,
  changes,
  open,
  abilities,
}: WithStatus & {
  readonly payment: Whole | undefined;
  readonly changes: readonly Change[] | undefined;
  readonly open: readonly Approval[] | undefined;
}) {
  const owner = `${tenant}/${mode}`;
  const path = `/v1/admin/payments/${encodeURIComponent(id)}`;
  return (
    <div class="acts">
      {payment !== undefined && (
        <>
          <Refund payment={payment} changes={changes} open={open} abilities={abilities} says={says} />
          <HoldActs payment={payment} changes={changes} open={open} abilities={abilities} says={says} />
        </>
      )}
      <Decide
        id={id}
        tenant={owner}
        payment={payment}
        strays={strayCharges(transitions)}
        because={refusalOfReview(status, changes)}
        says={says('The decision was recorded.')}
      />
      <Correct
        id={id}
        tenant={owner}
        payment={payment}
        transitions={transitions}
        says={says('The correction was recorded.')}
      />
      <Act
        name="Annotate"
        does="Adds an explanation to the payment, which the tenant can read. It changes no amount and no status."
        role="operator"
        path={`${path}/annotations`}
        fields={[{ name: 'reason', label: 'Explanation' }]}
        says={says('The annotation was added.')}
      />
    </div>
  );
}

function Postings({ transitions }: { readonly transitions: readonly Transition[] }) {
  const rows = transitions.flatMap(({ sequence, type, postings }) =>
    postings.map((each) => ({ sequence, type, ...each })),
  );
  const sums = new Map<string, number>();
  for (const { direction, amount, currency } of rows)
    sums.set(currency, (sums.get(currency) ?? 0) + (direction === 'debit' ? amount : -amount));
  return (
    <>
      <h2>Postings</h2>
      <Table
        label="Postings"
        rows={rows}
        none="Nothing was posted."
        columns={[
          { title: 'Transition', of: ({ sequence, type }) => `${sequence}. ${type}`, by: ({ sequence }) => sequence },
          { title: 'Account', of: ({ account }) => account, by: ({ account }) => account },
          {
            title: 'Debit',
            isNumber: true,
            of: ({ direction, amount, currency }) => (direction === 'debit' ? money(amount, currency) : ''),
          },
          {
            title: 'Credit',
            isNumber: true,
            of: ({ direction, amount, currency }) => (direction === 'credit' ? money(amount, currency) : ''),
          },
        ]}
      />
      {[...sums].map(([currency, left]) => (
        <p key={currency}>
          Debits less credits: <b>{money(left, currency)}</b>
        </p>
      ))}
    </>
  );
}
