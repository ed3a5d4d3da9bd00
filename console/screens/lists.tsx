import { Act, Legs } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { About, Id, Loaded, Status, Time } from '../parts.tsx';
import { usePlace, useTenantName } from '../place.ts';
import { type Approval, refusalOfRun } from '../proposals.ts';
import { useApi, useRead } from '../reading.ts';
import { cause, count, limitText, money, words } from '../show.ts';
import { List, Table } from '../table.tsx';
import { TenantChoice } from '../tenant-choice.tsx';
import { differenceStep, outcomeOfChange } from './outcomes.ts';

interface Filtered {
  readonly filters: URLSearchParams;
}

export function Differences() {
  type Row = Schemas['MismatchList']['data'][number];
  const nameOf = useTenantName();
  const { to } = usePlace();
  return (
    <>
      <h1>Differences</h1>
      <p>Differences between the books of a processor and the Ledger.</p>
      <List<Row>
        label="Differences"
        path="/v1/admin/mismatches"
        about={(list) => <ComparedUntil at={(list as Schemas['MismatchList']).compared_until} />}
        none="No difference is known."
        hint="The job reconcile-recent compares new records in the Ledger with the processors’ books."
        columns={[
          {
            title: 'Payment, charges',
            of: ({ payment, tenant, charges }) => (
              <>
                {/* The metadata of a charge may contain the id of a payment that does not exist. */}
                {tenant === null ? <Id of={payment} /> : <About id={payment} />}
                {charges.map((id) => (
                  <div key={id}>
                    <Id of={id} />
                  </div>
                ))}
              </>
            ),
          },
          { title: 'Processor', of: ({ processor }) => `${processor.name}, ${processor.mode}` },
          {
            title: 'Tenant',
            of: ({ tenant, mode }) => (tenant === null ? '–' : `${nameOf(tenant)}, ${mode}`),
            by: ({ tenant }) => tenant,
          },
          { title: 'Kind', of: ({ kind }) => words(kind), by: ({ kind }) => kind },
          { title: 'At the processor', isNumber: true, of: (row) => money(row.processor_amount, row.currency) },
          { title: 'In the Ledger', isNumber: true, of: (row) => money(row.ledger_amount, row.currency) },
          {
            title: 'Difference',
            isNumber: true,
            of: (row) => money(row.difference, row.currency),
            by: (row) => row.difference,
          },
          { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
          { title: 'First seen', of: (row) => <Time at={row.first_seen} />, by: (row) => row.first_seen },
          {
            title: 'Next step',
            of: ({ payment, payment_status: status, tenant, processor: { name } }) =>
              payment === null || tenant === null ? (
                <>
                  No payment has this charge. If the payer must not pay, refund it at {name}. Then{' '}
                  <a href="#/jobs/reconcile-recent">compare again</a>.
                </>
              ) : (
                <a href={to(`payments/${payment}`)}>{differenceStep(status)}</a>
              ),
          },
        ]}
      />
    </>
  );
}

/** Later differences are not known yet. */
function ComparedUntil({ at }: { readonly at: number | null }) {
  return (
    <p>
      {at === null ? (
        'No comparison has been completed yet. '
      ) : (
        <>
          Compared until <Time at={at} />.{' '}
        </>
      )}
      <a href="#/jobs/reconcile-recent">Run a comparison</a>
    </p>
  );
}

export function Approvals() {
  return (
    <>
      <h1>Approvals</h1>
      <List<Approval>
        label="Approvals"
        path="/v1/admin/approvals"
        about={(list) => <Limit above={(list as Schemas['ApprovalList']).approval_above} />}
        none="No request has needed a second person yet."
        hint="Requests above the limit appear here."
        columns={[
          { title: 'Payment', of: ({ payment }) => <About id={payment} /> },
          { title: 'Request', of: ({ request }) => kindOf(request) },
          {
            title: 'Amount',
            isNumber: true,
            of: (row) => money(amountOf(row), row.currency),
            by: amountOf,
          },
          { title: 'Reason', of: ({ reason }) => reason ?? '–' },
          { title: 'Requested by', of: (row) => row.requested_by.operator, by: (row) => row.requested_by.operator },
          { title: 'Requested', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          {
            title: 'Status',
            of: ({ status, expires }) => (
              <>
                <Status of={status} />
                {status === 'pending_approval' && <Expires at={expires} />}
              </>
            ),
            by: ({ status }) => status,
          },
          {
            title: 'Verdict',
            isActs: true,
            of: (row) => <VerdictActs row={row} />,
          },
        ]}
      />
    </>
  );
}

const REJECTION_REASONS = [
  ['not_justified', 'The request is not justified'],
  ['wrong_amount', 'The amount is wrong'],
  ['wrong_payment', 'The payment is wrong'],
  ['not_needed', 'The request is no longer needed'],
] as const satisfies readonly (readonly [NonNullable<Approval['verdict_reason']>, string])[];

function VerdictActs({ row }: { readonly row: Approval }) {
  const { self } = useApi();
  const { id, status, request, payment, currency, requested_by: by } = row;
  const isOwn = by.identity === self.identity || by.operator === self.operator;
  if (status !== 'pending_approval') return <Verdict row={row} />;
  const because = isOwn ? 'You made this request. Another person must approve or reject it.' : undefined;
  const path = `/v1/admin/approvals/${id}`;
  const about = `${kindOf(request)}, ${money(amountOf(row), currency)}, ${payment}`;
  return (
    <span class="acts">
      <Act
        name="Approve"
        does={`Executes this request once: ${about}.`}
        role="approver"
        because={because}
        ask={() => <Effect row={row} />}
        path={`${path}/approve`}
        fields={[]}
        says={() => `You approved: ${about}.`}
      />
      <Act
        name="Reject"
        does={`Ends this request without effect: ${about}.`}
        role="approver"
        because={because}
        ask={() => <Expires at={row.expires} />}
        path={`${path}/reject`}
        fields={[{ name: 'reason', label: 'Reason', choices: REJECTION_REASONS, isOptional: true }]}
        says={() => `You rejected: ${about}. It has no effect.`}
      />
    </span>
  );
}

function Expires({ at }: { readonly at: number }) {
  return (
    <p class="soft-text">
      Expires: <Time at={at} />
    </p>
  );
}

export function OpenApprovals({ rows }: { readonly rows: readonly Approval[] }) {
  const { to } = usePlace();
  if (rows.length === 0) return <></>;
  return (
    <>
      <h2>Waiting for approval</h2>
      <p>
        These requests have no effect yet. A second person approves or rejects them on the screen{' '}
        <a href={to('approvals')}>Approvals</a>.
      </p>
      <Table<Approval>
        label="Waiting for approval"
        rows={rows}
        columns={[
          { title: 'Request', of: ({ request }) => kindOf(request) },
          { title: 'Amount', isNumber: true, of: (row) => money(amountOf(row), row.currency), by: amountOf },
          { title: 'Reason', of: ({ reason }) => reason ?? '–' },
          { title: 'Requested by', of: (row) => row.requested_by.operator },
          { title: 'Requested', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          { title: 'Expires', of: ({ expires }) => <Time at={expires} /> },
        ]}
      />
    </>
  );
}

function Limit({ above }: { readonly above: Schemas['ApprovalList']['approval_above'] }) {
  if (above === null)
    return (
      <p>
        This deployment has no limit (setting <code>approvalAbove</code>), so no request needs a second person.
      </p>
    );
  return (
    <p>
      Refunds, captures, cancellations, corrections and decisions above {limitText(above)} need a second person. The
      refunds of a payment by operators are added up. The limit is a setting of the deployment (
      <code>approvalAbove</code>).
    </p>
  );
}

function Verdict({ row: { status, decided_by: by, decided, verdict_reason: reason } }: { readonly row: Approval }) {
  if (by === null) return <>{status}</>;
  const [, because] = REJECTION_REASONS.find(([code]) => code === reason) ?? [];
  return (
    <>
      {status} by {by.operator}, <Time at={decided} />
      {because !== undefined && <p>{because}.</p>}
    </>
  );
}

/**
 * The field `amount` of the approval can be larger: it is the sum that is compared with the limit, and includes earlier
 * refunds and corrections of the payment.
 */
function amountOf({ request, amount, currency, effect }: Approval): number {
  if (request.type !== 'correction') return request.amount ?? amount;
  return effect.postings
    .filter((each) => each.direction === 'debit' && each.currency === currency)
    .reduce((sum, each) => sum + each.amount, 0);
}

/** The second person must see what they approve. */
function Effect({
  row: { request, tenant, mode, currency, reason, effect, expires, requested_by: by },
}: {
  readonly row: Approval;
}) {
  const nameOf = useTenantName();
  // The effect of a refund, capture or cancellation is not known yet: it depends on the processor’s response.
  const isWhole = request.type === 'correction' || request.type === 'decision';
  return (
    <section aria-label="Effect" class="preview">
      <p>
        {by.operator} requested: {detailsOf(request, currency)}. The payment belongs to {nameOf(tenant)}, {mode}.{' '}
        {isWhole && outcomeOf(request, effect)}
      </p>
      <p>Reason: {reason ?? '–'}</p>
      <Expires at={expires} />
      {isWhole && <Legs postings={effect.postings} />}
    </section>
  );
}

function outcomeOf(
  request: Schemas['ApprovalRequest'],
  { type, payment_status: status }: Pick<Approval['effect'], 'type' | 'payment_status'>,
): string {
  if (request.type === 'correction') return `The payment stays ${words(status)}: a correction changes the books only.`;
  if (request.type !== 'decision' || request.change === null) return `The payment becomes ${words(status)}.`;
  // A transition of the payment itself can end a capture or a cancellation, so the type does not always name the kind
  // of change.
  const kind = type.startsWith('refund.') ? 'refund' : 'change';
  return outcomeOfChange(kind, request.outcome, status);
}

function detailsOf(request: Schemas['ApprovalRequest'], currency: string): string {
  if (request.type === 'correction')
    return request.reverses === null
      ? 'new postings'
      : `the reversal of the postings of transition ${request.reverses}`;
  if (request.type !== 'decision') return `${request.type}, ${money(request.amount, currency)}`;
  const { outcome, change, charge_id: charge, amount } = request;
  const captured = amount === null ? undefined : `captured ${money(amount, currency)}`;
  const parts = [`${kindOf(request)}: ${outcome}`, change, charge === null ? undefined : `charge ${charge}`, captured];
  return parts.filter((part) => typeof part === 'string').join(', ');
}

function kindOf(request: Schemas['ApprovalRequest']): string {
  return request.type === 'decision' && request.override ? 'decision without the processor’s books' : request.type;
}

export function Jobs() {
  type Row = Schemas['JobList']['data'][number];
  return (
    <>
      <h1>Jobs</h1>
      <List<Row>
        label="Jobs"
        path="/v1/admin/jobs"
        columns={[
          { title: 'Job', of: ({ id }) => <a href={`#/jobs/${id}`}>{id}</a>, by: ({ id }) => id },
          { title: 'Purpose', of: ({ why }) => why },
          { title: 'Schedule', of: (row) => `${row.schedule} ${row.time_zone ?? ''}` },
          {
            title: 'Next run',
            of: (row) => (row.runs_unread ? 'The runs cannot be read now' : <Time at={row.next_run} />),
            by: (row) => row.next_run,
          },
        ]}
      />
    </>
  );
}

export function Runs({ id }: { readonly id: string }) {
  type Row = Schemas['JobRunList']['data'][number];
  const job = `/v1/admin/jobs/${encodeURIComponent(id)}`;
  const path = `${job}/runs`;
  const read = useRead<Schemas['Job']>(job);
  return (
    <>
      <h1>Job {id}</h1>
      <Loaded of={read}>
        {({ target }) => (
          <p class="acts">
            <Act
              name="Run now"
              does="Starts one run. A run in progress is finished first."
              role="operator"
              because={refusalOfRun(target)}
              path={path}
              fields={[]}
              says={() => `The job ${id} was started.`}
            />
          </p>
        )}
      </Loaded>
      <List<Row>
        label={`Runs of ${id}`}
        path={path}
        none="The job has not run yet."
        hint={read.answer?.target === null ? '“Run now” starts a run, also between the scheduled times.' : undefined}
        columns={[
          { title: 'For', of: (row) => <Time at={row.scheduled_for} />, by: (row) => row.scheduled_for },
          { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
          { title: 'Done', isNumber: true, of: ({ done }) => count(done), by: ({ done }) => done },
          { title: 'Left', isNumber: true, of: ({ left }) => count(left), by: ({ left }) => left },
          { title: 'Failed', isNumber: true, of: ({ failed }) => count(failed), by: ({ failed }) => failed },
          {
            title: 'Failed items',
            of: ({ skipped_items: skipped, failed_items: failed }) => [...skipped, ...failed].join(', ') || '–',
          },
          { title: 'Reason', of: ({ reason }) => reason ?? '–' },
        ]}
      />
    </>
  );
}

export function Tenants() {
  type Row = Schemas['TenantList']['data'][number];
  const { to } = usePlace();
  return (
    <>
      <h1>Tenants</h1>
      <List<Row>
        label="Tenants"
        path="/v1/admin/tenants"
        none="There is no tenant."
        hint={
          <>
            The command <code>payonce tenants create</code> creates one.
          </>
        }
        columns={[
          {
            title: 'Tenant',
            of: ({ id }) => <Id of={id} to={to('payments', {}, { tenant: id })} />,
            by: ({ id }) => id,
          },
          { title: 'Name', of: ({ name }) => name, by: ({ name }) => name },
          { title: 'Created', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          {
            title: 'Keys and limits',
            of: ({ id }) => <a href={to('keys', {}, { tenant: id })}>keys and limits</a>,
          },
          {
            title: 'Activity',
            of: ({ id }) => (
              <>
                <a href={to('activity', { of: 'tenant' }, { tenant: id, mode: 'live' })}>live</a>{' '}
                <a href={to('activity', { of: 'tenant' }, { tenant: id, mode: 'test' })}>test</a>
              </>
            ),
          },
        ]}
      />
    </>
  );
}

function detailOf(value: string): string {
  const [, minor, currency] = /^(\d+) ([A-Z]{3})$/.exec(value) ?? [];
  return minor === undefined || currency === undefined ? value : money(Number(minor), currency);
}

export function Activity({ filters }: Filtered) {
  type Row = Schemas['ActivityList']['data'][number];
  const { tenant, mode, to, isUnknown } = usePlace();
  const of = filters.get('of') ?? (tenant === undefined ? 'deployment' : 'tenant');
  const isOfTenant = of === 'tenant';
  const nameOf = useTenantName();
  const query = isOfTenant && tenant !== undefined ? `?${new URLSearchParams({ tenant, mode }).toString()}` : '';
  const views = [
    ['Deployment', to('activity', { of: 'deployment' }), !isOfTenant],
    [tenant === undefined ? 'Tenant' : `${nameOf(tenant)}, ${mode}`, to('activity', { of: 'tenant' }), isOfTenant],
  ] as const;
  return (
    <>
      <h1>Activity</h1>
      <p class="tabs">
        {views.map(([name, address, isShown]) => (
          <a key={name} href={address} aria-current={isShown ? 'true' : undefined}>
            {name}
          </a>
        ))}
      </p>
      <p class="soft-text">
        {isOfTenant
          ? 'Keys, limits, decisions, refunds and other actions for this tenant, in this mode.'
          : 'Tenants, keys of operators, job runs and redrives. The actions for a tenant, for example on its keys, are in the tenant’s list.'}
      </p>
      {isOfTenant && (tenant === undefined || isUnknown) ? (
        <TenantChoice title="No tenant is chosen." />
      ) : (
        <List<Row>
          label="Activity"
          path={`/v1/admin/activity${query}`}
          none="No action is recorded here yet."
          hint={
            isOfTenant
              ? `The actions in ${mode === 'live' ? 'test' : 'live'} mode have a list of their own: choose the mode at the top of the page.`
              : 'The actions for a tenant are in the list of the tenant.'
          }
          columns={[
            { title: 'Time', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
            { title: 'Action', of: ({ action }) => words(action), by: ({ action }) => action },
            { title: 'By', of: (row) => cause(row.caused_by), by: (row) => cause(row.caused_by) },
            {
              title: 'About',
              of: ({ about, action }) =>
                about.map((id, index) => (
                  <div key={id}>
                    {action.endsWith('key.rolled') && (index === 0 ? 'new key ' : 'replaces ')}
                    <About id={id} />
                  </div>
                )),
            },
            {
              title: 'Details',
              of: ({ details }) =>
                Object.entries(details).map(([name, value]) => (
                  <div key={name}>
                    {words(name)}: {detailOf(value)}
                  </div>
                )),
            },
          ]}
        />
      )}
    </>
  );
}
