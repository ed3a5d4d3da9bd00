import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { About, Status, Time } from '../parts.tsx';
import { useOwner, usePlace } from '../place.ts';
import { dayOf, money, words } from '../show.ts';
import { type Column, List } from '../table.tsx';
import { ExportShown } from './exports.tsx';

type Row = Schemas['Payment'];

const STATUSES: readonly Row['status'][] = [
  'succeeded',
  'needs_review',
  'processing',
  'requires_action',
  'requires_capture',
  'failed',
  'canceled',
];

const FIELDS: readonly Filter[] = [
  { name: 'reference', label: 'Reference' },
  { name: 'charge_id', label: 'Charge at the processor, without other filters' },
  { name: 'created_from', label: 'From the day (UTC)', isDay: true },
  { name: 'created_to', label: 'Before the day (UTC)', isDay: true },
  { name: 'currency', label: 'Currency, for up to 31 days' },
  { name: 'amount_from', label: 'Smallest amount in this currency', isMoney: true },
  { name: 'amount_to', label: 'Largest amount in this currency', isMoney: true },
];

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Amount',
    isNumber: true,
    of: ({ amount, currency }) => money(amount, currency),
    by: ({ amount }) => amount,
  },
  { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
  { title: 'Payment', of: ({ id }) => <About id={id} /> },
  { title: 'Reference', of: ({ reference }) => reference ?? '–', by: ({ reference }) => reference },
  { title: 'Created', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
];

/**
 * Returns the path of the search, and the tenant for a search by charge, which reads the processor's books through the
 * tenant's list.
 */
function searched(filters: URLSearchParams, { tenant, mode, owner }: ReturnType<typeof useOwner>) {
  const charge = filters.get('charge_id');
  if (charge !== null) return { path: `/v1/payments?charge_id=${encodeURIComponent(charge)}`, tenant: owner };
  const query = new URLSearchParams([['tenant', tenant], ['mode', mode], ...filters, ['limit', '100']]);
  return { path: `/v1/admin/payments?${query.toString()}` };
}

/** Shows the payments of a tenant, newest first. */
export function Payments({ filters }: { readonly filters: URLSearchParams }) {
  const owner = useOwner();
  return (
    <>
      <h1>Payments</h1>
      <Statuses filters={filters} />
      <Filters screen="payments" act="Search" filters={filters} fields={FIELDS} />
      <List<Row>
        label="Payments found"
        {...searched(filters, owner)}
        none={
          filters.size === 0 ? `There is no payment of ${owner.tenant} in ${owner.mode} mode.` : 'No payment matches.'
        }
        hint={
          filters.size === 0
            ? 'Choose the other mode at the top of the page, or send a payment with the tenant’s key.'
            : 'Remove a filter, or choose the other mode at the top of the page.'
        }
        acts={<Csv filters={filters} />}
        columns={COLUMNS}
      />
    </>
  );
}

/** Shows the payments of one status. The other filters stay. */
function Statuses({ filters }: { readonly filters: URLSearchParams }) {
  const { to } = usePlace();
  const { status: shown, ...others } = Object.fromEntries(filters);
  return (
    <p class="tabs">
      {[undefined, ...STATUSES].map((status) => (
        <a
          key={status ?? 'all'}
          href={to('payments', { ...others, ...(status === undefined ? {} : { status }) })}
          aria-current={status === shown ? 'true' : undefined}
        >
          {status === undefined ? 'All' : words(status)}
        </a>
      ))}
    </p>
  );
}

/** Offers a file with all rows that match the search. */
function Csv({ filters }: { readonly filters: URLSearchParams }) {
  const { owner } = useOwner();
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
      tenant={owner}
      kind="payments"
      from={dayAt('created_from')}
      // The end of the search is exclusive, but an export includes its last day.
      to={dayAt('created_to', 1)}
      filters={Object.fromEntries(taken)}
      because={others.length === 0 ? undefined : `An export cannot be filtered by ${others.join(', ')}.`}
    />
  );
}
