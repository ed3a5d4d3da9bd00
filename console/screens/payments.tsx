import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { List, Status } from '../parts.tsx';
import { dayOf, money, time } from '../show.ts';
import { ExportShown } from './exports.tsx';
import { Lookup } from './payment.tsx';
import { About } from './waiting.tsx';

type Row = Schemas['Payment'];

const STATUSES: readonly Row['status'][] = [
  'processing',
  'requires_action',
  'requires_capture',
  'succeeded',
  'failed',
  'canceled',
  'needs_review',
];

const FIELDS: readonly Filter[] = [
  { name: 'tenant', label: 'Tenant', required: true },
  { name: 'mode', label: 'Mode', choices: ['test', 'live'] },
  { name: 'status', label: 'Status', choices: STATUSES },
  { name: 'reference', label: 'Reference' },
  { name: 'charge_id', label: 'Charge at the processor, without other filters' },
  { name: 'created_from', label: 'From the day (UTC)', isDay: true },
  { name: 'created_to', label: 'Before the day (UTC)', isDay: true },
  { name: 'currency', label: 'Currency, for up to 31 days' },
  { name: 'amount_from', label: 'Smallest amount in this currency', isMoney: true },
  { name: 'amount_to', label: 'Largest amount in this currency', isMoney: true },
];

/**
 * Returns the path of the search, and the tenant for a search by charge, which reads the processor's books through the
 * tenant's list.
 */
function searched(filters: URLSearchParams): { readonly path: string; readonly tenant?: string } {
  const charge = filters.get('charge_id');
  return charge === null
    ? { path: `/v1/admin/payments?${filters.toString()}&limit=100` }
    : {
        path: `/v1/payments?charge_id=${encodeURIComponent(charge)}`,
        tenant: `${filters.get('tenant')}/${filters.get('mode') ?? 'live'}`,
      };
}

/** Shows a payment by its id, or the payments of a tenant by their properties. */
export function Payments({ filters }: { readonly filters: URLSearchParams }) {
  return (
    <>
      <h1>Payments</h1>
      <Lookup />
      <details open>
        <summary>Search the payments of a tenant</summary>
        <Filters screen="payments" act="Search" filters={filters} fields={FIELDS} />
      </details>
      {filters.has('tenant') && (
        <>
          <Csv filters={filters} />
          <List<Row>
            label="Payments found"
            {...searched(filters)}
            none="No payment matches."
            columns={[
              { title: 'Payment', of: ({ id }) => <About id={id} /> },
              { title: 'Status', of: ({ status }) => <Status of={status} /> },
              { title: 'Amount', isNumber: true, of: ({ amount, currency }) => money(amount, currency) },
              { title: 'Reference', of: ({ reference }) => reference ?? '–' },
              { title: 'Created', of: ({ created }) => time(created) },
            ]}
          />
        </>
      )}
    </>
  );
}

/** Offers a file with all rows that match the search. */
function Csv({ filters }: { readonly filters: URLSearchParams }) {
  const taken = ['status', 'currency', 'amount_from', 'amount_to'].flatMap<[string, string | number]>((name) => {
    const value = filters.get(name);
    return value === null ? [] : [[name, name.startsWith('amount') ? Number(value) : value]];
  });
  const dayAt = (name: string, secondsBefore = 0) => {
    const value = filters.get(name);
    return value === null ? undefined : dayOf(Number(value) - secondsBefore);
  };
  const others = ['reference', 'charge_id', 'email'].filter((name) => filters.has(name));
  return (
    <ExportShown
      tenant={`${filters.get('tenant')}/${filters.get('mode') ?? 'live'}`}
      kind="payments"
      from={dayAt('created_from')}
      // The end of the search is exclusive, but an export includes its last day.
      to={dayAt('created_to', 1)}
      filters={Object.fromEntries(taken)}
      because={others.length === 0 ? undefined : `An export cannot be filtered by ${others.join(', ')}.`}
    />
  );
}
