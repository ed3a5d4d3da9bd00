import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { About, Loaded, Time } from '../parts.tsx';
import { useOwner } from '../place.ts';
import { useRead } from '../reading.ts';
import { dayOf, money } from '../show.ts';
import { List, Table } from '../table.tsx';
import { ExportShown } from './exports.tsx';

type Balance = Schemas['Balance'];
type Entry = Schemas['LedgerEntry'];

export const ACCOUNTS: readonly Entry['account'][] = [
  'processor_clearing',
  'merchant_payable',
  'refunds',
  'fees',
  'disputes',
  'late_receipts',
  'corrections',
];

const FIELDS: readonly Filter[] = [
  { name: 'at', label: 'Balances before (UTC day), or now if empty', day: 'first' },
  { name: 'account', label: 'Entries on the account', choices: ACCOUNTS },
  { name: 'currency', label: 'Entries in the currency' },
  { name: 'from', label: 'Entries since (UTC day)', isDate: true },
  { name: 'to', label: 'Entries until (UTC day)', isDate: true },
  { name: 'payment', label: 'Entries of the payment' },
];

const ENTRY_FILTERS = ['account', 'currency', 'from', 'to', 'payment'];

export function Books({ filters }: { readonly filters: URLSearchParams }) {
  const { owner } = useOwner();
  return (
    <>
      <h1>Books</h1>
      <Filters screen="books" act="Show" filters={filters} fields={FIELDS} />
      <Balances tenant={owner} at={filters.get('at')} />
      <Entries tenant={owner} filters={filters} />
    </>
  );
}

function Balances({ tenant, at }: { readonly tenant: string; readonly at: string | null }) {
  const read = useRead<Schemas['BalanceList']>(`/v1/balances${at === null ? '' : `?at=${at}`}`, tenant);
  return (
    <>
      <h2>Balances {at === null ? 'now' : `before ${dayOf(Number(at))} (UTC)`}</h2>
      <Loaded of={read}>
        {({ data }) => (
          <>
            <Table<Balance>
              label="Balances"
              rows={data}
              none="Nothing was posted."
              hint="Captures, refunds and disputes post to the books. To see the other mode, switch at the top of the page."
              columns={[
                { title: 'Account', of: ({ account }) => account, by: ({ account }) => account },
                { title: 'Debit', isNumber: true, of: ({ debit, currency }) => money(debit, currency) },
                { title: 'Credit', isNumber: true, of: ({ credit, currency }) => money(credit, currency) },
                {
                  title: 'Balance',
                  isNumber: true,
                  of: ({ balance, currency }) => money(balance, currency),
                  by: ({ balance }) => balance,
                },
                { title: 'Grows by', of: ({ normal_balance: side }) => side },
              ]}
            />
            {[...new Set(data.map(({ currency }) => currency))].map((currency) => (
              <Proof key={currency} currency={currency} balances={data.filter((each) => each.currency === currency)} />
            ))}
          </>
        )}
      </Loaded>
    </>
  );
}

/** The debits over all accounts of a currency must equal the credits. */
function Proof({ currency, balances }: { readonly currency: string; readonly balances: readonly Balance[] }) {
  const debit = balances.reduce((sum, each) => sum + each.debit, 0);
  const credit = balances.reduce((sum, each) => sum + each.credit, 0);
  return (
    <p role={debit === credit ? undefined : 'alert'} class={debit === credit ? '' : 'trouble'}>
      All debits {money(debit, currency)} less all credits {money(credit, currency)}:{' '}
      <b>{money(debit - credit, currency)}</b>
    </p>
  );
}

function Entries({ tenant, filters }: { readonly tenant: string; readonly filters: URLSearchParams }) {
  const asked = new URLSearchParams([...filters].filter(([name]) => ENTRY_FILTERS.includes(name)));
  return (
    <>
      <h2>Entries</h2>
      <ExportShown
        tenant={tenant}
        kind="entries"
        from={filters.get('from') ?? undefined}
        to={filters.get('to') ?? undefined}
        filters={Object.fromEntries([...asked].filter(([name]) => name === 'account' || name === 'currency'))}
        because={asked.has('payment') ? 'An export contains all payments.' : undefined}
      />
      <List<Entry>
        label="Entries"
        path={`/v1/ledger/entries?${asked.toString()}${asked.size === 0 ? '' : '&'}limit=100`}
        tenant={tenant}
        none="No entry matches."
        columns={[
          { title: 'Posted', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          { title: 'Payment', of: ({ payment }) => <About id={payment} /> },
          { title: 'Transition', of: ({ sequence, type }) => `${sequence}. ${type}` },
          { title: 'Account', of: ({ account }) => account, by: ({ account }) => account },
          { title: 'Debit', isNumber: true, of: (row) => amountOn('debit', row) },
          { title: 'Credit', isNumber: true, of: (row) => amountOn('credit', row) },
        ]}
      />
    </>
  );
}

function amountOn(side: Entry['direction'], { direction, amount, currency }: Entry): string {
  return direction === side ? money(amount, currency) : '';
}
