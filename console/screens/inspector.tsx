import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { About, Empty, Fact, Id, Loaded, Time } from '../parts.tsx';
import { usePlace } from '../place.ts';
import { useRead } from '../reading.ts';
import { Table } from '../table.tsx';

type KeyRecord = Schemas['IdempotencyRecord'];

const FIELDS: readonly Filter[] = [
  { name: 'key', label: 'Idempotency key', required: true },
  { name: 'path', label: 'Path of the request', required: true },
  { name: 'operator', label: 'Operator (instead of the tenant), if operators call the path' },
];

export function Inspector({ filters }: { readonly filters: URLSearchParams }) {
  const { tenant, mode } = usePlace();
  const ofTenant = tenant === undefined || filters.has('operator') ? {} : { tenant, mode };
  const query = new URLSearchParams({ ...Object.fromEntries(filters), ...ofTenant }).toString();
  return (
    <>
      <h1>Key inspector</h1>
      <Filters screen="inspector" act="Inspect" filters={filters} fields={FIELDS} isOpen />
      {filters.has('key') && filters.has('path') ? (
        <Found path={`/v1/admin/idempotency_keys?${query}`} />
      ) : (
        <Empty
          title={filters.has('key') ? 'Enter the path of the request.' : 'No key is chosen.'}
          hint="Enter the Idempotency-Key that a client sent, and the path of its request, for example /v1/payments, or /v1/payments/pay_…/refunds for a refund."
        />
      )}
    </>
  );
}

/** The timelines link to this screen by operation id. */
export function Operation({ id }: { readonly id: string }) {
  return (
    <>
      <h1>Operation {id}</h1>
      <Found path={`/v1/admin/idempotency_keys/${encodeURIComponent(id)}`} />
    </>
  );
}

function Found({ path }: { readonly path: string }) {
  return (
    <Loaded of={useRead<KeyRecord>(path)}>
      {(record) => (
        <>
          <dl class="facts">
            <Fact name="State" value={record.state.replaceAll('_', ' ')} />
            <Fact name="Operation" value={<Id of={record.operation} />} />
            <Fact name="Payment" value={<About id={record.payment} />} />
            <Fact name="Owner" value={<Id of={record.owner} />} />
            <Fact name="Lease until" value={<Time at={record.lease_until} />} />
            <Fact name="Claimed" value={<Time at={record.claimed} />} />
            <Fact name="Response" value={record.answer?.status ?? 'none yet'} />
          </dl>
          <h2>Earlier owners</h2>
          <Table
            label="Earlier owners"
            rows={record.earlier_owners}
            none="None."
            columns={[
              { title: 'Owner', of: ({ owner }) => owner },
              { title: 'Until', of: ({ until }) => <Time at={until} /> },
              { title: 'Why', of: ({ was_released: released }) => (released ? 'released' : 'the lease ended') },
            ]}
          />
          <h2>Calls to the processor</h2>
          <Table
            label="Calls"
            rows={record.calls}
            none="None is recorded."
            columns={[
              { title: 'At', of: ({ at }) => <Time at={at} /> },
              { title: 'Call', of: ({ call }) => (call === 'send' ? 'request sent' : 'looked up') },
              { title: 'Result', of: ({ result }) => result },
              { title: 'Took', isNumber: true, of: (row) => `${row.duration_ms} ms` },
            ]}
          />
          <details>
            <summary>As returned by the API</summary>
            <pre>{JSON.stringify(record, undefined, 2)}</pre>
          </details>
        </>
      )}
    </Loaded>
  );
}
