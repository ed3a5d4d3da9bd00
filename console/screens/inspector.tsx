import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { Fact, Loaded, Table, useRead } from '../parts.tsx';
import { About } from './waiting.tsx';

type KeyRecord = Schemas['IdempotencyRecord'];

const FIELDS: readonly Filter[] = [
  { name: 'key', label: 'Idempotency key', required: true },
  { name: 'path', label: 'Path of the request', required: true },
  { name: 'tenant', label: 'Tenant, for a path that tenants call' },
  { name: 'mode', label: 'Mode', choices: ['test', 'live'] },
  { name: 'operator', label: 'Operator, for a path that operators call' },
];

/** Shows the record of an idempotency key: its owner, the received responses, and the stored response. */
export function Inspector({ filters }: { readonly filters: URLSearchParams }) {
  return (
    <>
      <h1>Key inspector</h1>
      <Filters screen="inspector" act="Inspect" filters={filters} fields={FIELDS} />
      {filters.has('key') && <Found path={`/v1/admin/idempotency_keys?${filters.toString()}`} />}
    </>
  );
}

/** Shows the record of an operation. The timelines link to this screen by operation id. */
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
            <Fact name="Operation" value={<code>{record.operation}</code>} />
            <Fact name="Payment" value={<About id={record.payment} />} />
            <Fact name="Owner" value={record.owner ?? '–'} />
            <Fact name="Lease until" value={record.lease_until ?? '–'} />
            <Fact name="Claimed" value={record.claimed ?? '–'} />
            <Fact name="Answer" value={record.answer?.status ?? 'none yet'} />
          </dl>
          <h2>Earlier owners</h2>
          <Table
            label="Earlier owners"
            rows={record.earlier_owners}
            none="There was none."
            columns={[
              { title: 'Owner', of: ({ owner }) => owner },
              { title: 'Until', of: ({ until }) => until },
              { title: 'Why', of: ({ was_released: released }) => (released ? 'released' : 'the lease ended') },
            ]}
          />
          <h2>Calls to the processor</h2>
          <Table
            label="Calls"
            rows={record.calls}
            none="None is recorded."
            columns={[
              { title: 'At', of: ({ at }) => at },
              { title: 'Call', of: ({ call }) => (call === 'send' ? 'request sent' : 'looked up') },
              { title: 'Result', of: ({ result }) => result },
              { title: 'Took', isNumber: true, of: (row) => `${row.duration_ms} ms` },
            ]}
          />
          <details>
            <summary>As the API answers it</summary>
            <pre>{JSON.stringify(record, undefined, 2)}</pre>
          </details>
        </>
      )}
    </Loaded>
  );
}
