import { Act, Legs } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { About, Empty, Id, Status, Time } from '../parts.tsx';
import { usePlace } from '../place.ts';
import { useApi } from '../reading.ts';
import { cause, count, money, words } from '../show.ts';
import { List } from '../table.tsx';

interface Filtered {
  readonly filters: URLSearchParams;
}

export function Differences() {
  type Row = Schemas['MismatchList']['data'][number];
  return (
    <>
      <h1>Differences</h1>
      <p>Differences between the books of a processor and the Ledger. Open the payment to correct one.</p>
      <List<Row>
        label="Differences"
        path="/v1/admin/mismatches"
        none="The books agree."
        hint="The job reconcile-recent compares each payment with the processor’s books."
        columns={[
          { title: 'Payment', of: ({ payment }) => <About id={payment} /> },
          {
            title: 'Tenant',
            of: ({ tenant, mode }) => (tenant === null ? '–' : `${tenant}, ${mode}`),
            by: ({ tenant }) => tenant,
          },
          { title: 'Kind', of: ({ kind }) => words(kind), by: ({ kind }) => kind },
          { title: 'Processor', isNumber: true, of: (row) => money(row.processor_amount, row.currency) },
          { title: 'Ledger', isNumber: true, of: (row) => money(row.ledger_amount, row.currency) },
          {
            title: 'Difference',
            isNumber: true,
            of: (row) => money(row.difference, row.currency),
            by: (row) => row.difference,
          },
          { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
          { title: 'First seen', of: (row) => <Time at={row.first_seen} />, by: (row) => row.first_seen },
        ]}
      />
    </>
  );
}

type Approval = Schemas['ApprovalList']['data'][number];

export function Approvals() {
  const { self } = useApi();
  return (
    <>
      <h1>Approvals</h1>
      <p>Refunds, corrections and other changes above the limit of the deployment need a second person.</p>
      <List<Approval>
        label="Approvals"
        path="/v1/admin/approvals"
        none="No request has needed a second person yet."
        hint="Changes above the limit of the deployment appear here."
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
          { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
          {
            title: 'Verdict',
            of: (row) => {
              const { id, status, request, payment, currency, requested_by: by } = row;
              const isOwn = by.identity === self.identity || by.operator === self.operator;
              const because =
                status !== 'pending_approval'
                  ? `The request is ${status}.`
                  : isOwn
                    ? 'You made this request. Another person must approve or reject it.'
                    : undefined;
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
                  />
                  <Act
                    name="Reject"
                    does={`Ends this request without effect: ${about}.`}
                    role="approver"
                    because={because}
                    path={`${path}/reject`}
                    fields={[]}
                  />
                </span>
              );
            },
          },
        ]}
      />
    </>
  );
}

/**
 * Returns the amount that a request moves. The amount of the approval can be larger: it is compared with the limit, and
 * includes earlier refunds and corrections of the payment.
 */
function amountOf({ request, amount, currency, effect }: Approval): number {
  if (request.type !== 'correction') return request.amount ?? amount;
  return effect.postings
    .filter((each) => each.direction === 'debit' && each.currency === currency)
    .reduce((sum, each) => sum + each.amount, 0);
}

/** Shows the whole effect of a request, so that the second person sees what they approve. */
function Effect({
  row: { request, tenant, mode, currency, reason, effect, requested_by: by },
}: {
  readonly row: Approval;
}) {
  // A change only begins with its approval: the processor’s response determines the status and the postings.
  const isWhole = request.type === 'correction' || request.type === 'decision';
  return (
    <section aria-label="Effect" class="preview">
      <p>
        {by.operator} requested: {detailsOf(request, currency)}. The payment belongs to {tenant}, {mode}.
        {isWhole && ` Its status becomes ${words(effect.payment_status)}.`}
      </p>
      <p>Reason: {reason ?? '–'}</p>
      {isWhole && <Legs postings={effect.postings} />}
    </section>
  );
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
  const path = `/v1/admin/jobs/${encodeURIComponent(id)}/runs`;
  return (
    <>
      <h1>Job {id}</h1>
      <p class="acts">
        <Act
          name="Run now"
          does="Starts one run. A run in progress is finished first."
          role="operator"
          path={path}
          fields={[]}
        />
      </p>
      <List<Row>
        label={`Runs of ${id}`}
        path={path}
        none="The job has not run yet."
        hint="“Run now” starts a run, also between the scheduled times."
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

export function Activity({ filters }: Filtered) {
  type Row = Schemas['ActivityList']['data'][number];
  const { tenant, mode, to, isUnknown } = usePlace();
  const isOfTenant = filters.get('of') === 'tenant';
  const query = isOfTenant && tenant !== undefined ? `?${new URLSearchParams({ tenant, mode }).toString()}` : '';
  const views = [
    ['Deployment', to('activity'), !isOfTenant],
    [tenant === undefined ? 'Tenant' : `${tenant}, ${mode}`, to('activity', { of: 'tenant' }), isOfTenant],
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
      {isOfTenant && (tenant === undefined || isUnknown) ? (
        <Empty title="No tenant is chosen." hint="Choose a tenant and a mode at the top of the page." />
      ) : (
        <List<Row>
          label="Activity"
          path={`/v1/admin/activity${query}`}
          none="No operator has acted here yet."
          hint={
            isOfTenant
              ? `The actions in ${mode === 'live' ? 'test' : 'live'} mode have a list of their own: choose the mode at the top of the page.`
              : 'The other list shows the actions for a tenant.'
          }
          columns={[
            { title: 'Time', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
            { title: 'Action', of: ({ action }) => words(action), by: ({ action }) => action },
            { title: 'By', of: (row) => cause(row.caused_by), by: (row) => cause(row.caused_by) },
            {
              title: 'About',
              of: ({ about }) =>
                about.map((id) => (
                  <div key={id}>
                    <About id={id} />
                  </div>
                )),
            },
          ]}
        />
      )}
    </>
  );
}
