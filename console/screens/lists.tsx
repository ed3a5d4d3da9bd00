import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { List, Status, useTurns } from '../parts.tsx';
import { cause, money, time } from '../show.ts';
import { About } from './waiting.tsx';

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
        columns={[
          { title: 'Payment', of: ({ payment }) => <About id={payment} /> },
          { title: 'Kind', of: ({ kind }) => kind },
          { title: 'Processor', isNumber: true, of: (row) => money(row.processor_amount, row.currency) },
          { title: 'Ledger', isNumber: true, of: (row) => money(row.ledger_amount, row.currency) },
          { title: 'Difference', isNumber: true, of: (row) => money(row.difference, row.currency) },
          { title: 'Status', of: ({ status }) => <Status of={status} /> },
          { title: 'First seen', of: (row) => time(row.first_seen) },
        ]}
      />
    </>
  );
}

export function Approvals() {
  type Row = Schemas['ApprovalList']['data'][number];
  const [turn, again] = useTurns();
  return (
    <>
      <h1>Approvals</h1>
      <p>Corrections and decisions above the limit of the deployment need a second person.</p>
      <List<Row>
        key={turn}
        label="Approvals"
        path="/v1/admin/approvals"
        none="No request has needed a second person yet."
        columns={[
          { title: 'Payment', of: ({ payment }) => <About id={payment} /> },
          {
            title: 'Request',
            of: ({ request }) =>
              request.type === 'decision' && request.override ? 'decision without the processor’s books' : request.type,
          },
          { title: 'Amount', isNumber: true, of: ({ amount, currency }) => money(amount, currency) },
          { title: 'Asked by', of: (row) => row.requested_by.operator },
          { title: 'Status', of: ({ status }) => <Status of={status} /> },
          {
            title: 'Verdict',
            of: ({ id, status }) => {
              const because = status === 'pending_approval' ? undefined : `It is ${status}.`;
              const path = `/v1/admin/approvals/${id}`;
              return (
                <span class="acts">
                  <Act
                    name="Approve"
                    does="Executes the request once."
                    role="approver"
                    because={because}
                    path={`${path}/approve`}
                    fields={[]}
                    done={again}
                    refused={again}
                  />
                  <Act
                    name="Reject"
                    does="Ends the request without effect."
                    role="approver"
                    because={because}
                    path={`${path}/reject`}
                    fields={[]}
                    done={again}
                    refused={again}
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

export function Jobs() {
  type Row = Schemas['JobList']['data'][number];
  return (
    <>
      <h1>Jobs</h1>
      <List<Row>
        label="Jobs"
        path="/v1/admin/jobs"
        columns={[
          { title: 'Job', of: ({ id }) => <a href={`#/jobs/${id}`}>{id}</a> },
          { title: 'Why', of: ({ why }) => why },
          { title: 'Schedule', of: (row) => `${row.schedule} ${row.time_zone ?? ''}` },
          { title: 'Next run', of: (row) => time(row.next_run) },
        ]}
      />
    </>
  );
}

export function Runs({ id }: { readonly id: string }) {
  type Row = Schemas['JobRunList']['data'][number];
  const [turn, again] = useTurns();
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
          done={again}
        />
      </p>
      <List<Row>
        key={turn}
        label={`Runs of ${id}`}
        path={path}
        none="The job has not run yet."
        columns={[
          { title: 'For', of: (row) => time(row.scheduled_for) },
          { title: 'Status', of: ({ status }) => <Status of={status} /> },
          { title: 'Done', isNumber: true, of: ({ done }) => done },
          { title: 'Left', isNumber: true, of: ({ left }) => left },
          { title: 'Failed', isNumber: true, of: ({ failed }) => failed },
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
  return (
    <>
      <h1>Tenants</h1>
      <List<Row>
        label="Tenants"
        path="/v1/admin/tenants"
        columns={[
          { title: 'Tenant', of: ({ id }) => <code>{id}</code> },
          { title: 'Name', of: ({ name }) => name },
          { title: 'Created', of: ({ created }) => time(created) },
          { title: 'Keys and limits', of: ({ id }) => <a href={`#/keys?tenant=${id}`}>keys and limits</a> },
          {
            title: 'Activity',
            of: ({ id }) => (
              <>
                <a href={`#/activity?tenant=${id}&mode=live`}>live</a>{' '}
                <a href={`#/activity?tenant=${id}&mode=test`}>test</a>
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
  const query = filters.toString();
  return (
    <>
      <h1>Activity</h1>
      <p>
        {filters.get('tenant') === null ? 'Of the deployment' : `Of ${filters.get('tenant')}, ${filters.get('mode')}`},
        newest first.
      </p>
      <List<Row>
        label="Activity"
        path={`/v1/admin/activity${query === '' ? '' : `?${query}`}`}
        columns={[
          { title: 'Time', of: ({ created }) => time(created) },
          { title: 'Act', of: ({ action }) => action },
          { title: 'By', of: (row) => cause(row.caused_by) },
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
    </>
  );
}
