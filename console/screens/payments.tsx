import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { About, Status, Time } from '../parts.tsx';
import { type Place, useOwner, usePlace, useTenantName } from '../place.ts';
import { dayOf, money, words } from '../show.ts';
import { type Column, List } from '../table.tsx';
import { TenantChoice } from '../tenant-choice.tsx';
import { ExportShown } from './exports.tsx';

type Row = Schemas['FoundPayment'];

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
  { name: 'created_from', label: 'First day (UTC)', day: 'first' },
  { name: 'created_to', label: 'Last day (UTC)', day: 'last' },
  { name: 'currency', label: 'Currency (at most 31 days)' },
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

/** Matches an id that Payonce derives. The API finds its payment without a tenant. */
const ID = /^(?:pay|ord|ref|rtn|cap|can|dsp)_[a-z2-7]{32}[A-Za-z0-9_.-]*$/;
/** Matches the id of a charge, or a reference or key of the same form. Without a tenant, the API finds only the charge. */
const CHARGE = /^[a-z]{2,5}_[A-Za-z0-9_.-]+$/;

function isOfAll(filters: URLSearchParams, { tenant }: Place): boolean {
  // An id belongs to one tenant, which need not be the chosen one.
  return tenant === undefined || filters.get('in') === 'all' || ID.test(filters.get('q') ?? '');
}

function ownerColumn(nameOf: (tenant: string) => string): Column<Row> {
  return {
    title: 'Tenant',
    of: ({ tenant, livemode }) => <span title={tenant}>{`${nameOf(tenant)}, ${livemode ? 'live' : 'test'}`}</span>,
    by: ({ tenant }) => nameOf(tenant),
  };
}

const PARTIAL_EMAIL = /@[^.]*$|^[^@]*@$|^@/;

function pathOf(filters: URLSearchParams, place: Place): string {
  const query = new URLSearchParams([...filters, ['limit', '100']]);
  query.delete('in');
  if (place.tenant !== undefined && !isOfAll(filters, place)) {
    query.set('tenant', place.tenant);
    query.set('mode', place.mode);
  }
  return `/v1/admin/payments?${query.toString()}`;
}

function nothing(filters: URLSearchParams, place: Place) {
  const { tenant, mode, to } = place;
  const other = mode === 'live' ? 'test' : 'live';
  const q = filters.get('q');
  if (q !== null && isOfAll(filters, place))
    return {
      none: `No payment in the deployment matches “${q}”.`,
      hint: 'A search across all tenants finds only ids. To search references, choose a tenant at the top of the page.',
    };
  if (q !== null)
    return {
      none: `No payment of ${tenant} in ${mode} mode matches “${q}”.`,
      hint: (
        <>
          {PARTIAL_EMAIL.test(q)
            ? 'An e-mail address must be complete, for example ann@example.com. '
            : 'A part of a reference matches, but an e-mail address and an id must be complete. The Key inspector finds the key of a refund. '}
          Search in {other} mode, or for another tenant: choose it at the top of the page.{' '}
          {CHARGE.test(q) && <a href={to('payments', { q, in: 'all' })}>Search the charges of all tenants</a>}
        </>
      ),
    };
  if (filters.size > 0)
    return { none: 'No payment matches.', hint: `Remove a filter, or choose ${other} mode at the top of the page.` };
  return {
    none: `There is no payment of ${tenant} in ${mode} mode.`,
    hint: `Choose ${other} mode at the top of the page, or send a payment with the tenant’s key.`,
  };
}

export function Payments({ filters }: { readonly filters: URLSearchParams }) {
  const place = usePlace();
  const searchedFor = filters.get('q');
  const nameOf = useTenantName();
  return (
    <>
      <h1>Payments</h1>
      {searchedFor !== null && (
        <p>
          Payments that match “{searchedFor}”. <a href={place.to('payments')}>Show all</a>
        </p>
      )}
      {searchedFor === null && (
        <>
          <Statuses filters={filters} />
          <Filters screen="payments" act="Search" filters={filters} fields={FIELDS} />
        </>
      )}
      {searchedFor !== null && place.tenant === undefined && !CHARGE.test(searchedFor) ? (
        <TenantChoice title="A search across all tenants finds only ids. To search references, e-mail addresses and keys, choose a tenant." />
      ) : (
        <List<Row>
          label="Payments found"
          path={pathOf(filters, place)}
          {...nothing(filters, place)}
          acts={place.tenant !== undefined && searchedFor === null && <Csv filters={filters} />}
          columns={place.tenant === undefined || searchedFor !== null ? [...COLUMNS, ownerColumn(nameOf)] : COLUMNS}
        />
      )}
    </>
  );
}

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
  return (
    <ExportShown
      tenant={owner}
      kind="payments"
      from={dayAt('created_from')}
      // The end of the search is exclusive, but an export includes its last day.
      to={dayAt('created_to', 1)}
      filters={Object.fromEntries(taken)}
      because={filters.has('reference') ? 'An export cannot be filtered by reference.' : undefined}
    />
  );
}
