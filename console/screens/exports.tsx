import { Act, type Form } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { Fact, Id, Loaded, Status, Time } from '../parts.tsx';
import { type Place, useOwner, usePlace, useTenantName } from '../place.ts';
import { useRead } from '../reading.ts';
import { count, usualRanges } from '../show.ts';
import { List } from '../table.tsx';

type Export = Schemas['Export'];

const EXPORTS = '/v1/exports';
const KINDS: readonly Export['kind'][] = ['entries', 'payments', 'refunds', 'disputes', 'events'];
const KEPT = 'The file is kept for seven days.';

const whilePending = (rows: readonly Export[]) => (rows.some(isPending) ? 2_000 : undefined);
const isPending = ({ status }: Pick<Export, 'status'>) => status === 'pending';

const pollPending = (each: Pick<Export, 'status'>) => (isPending(each) ? 2_000 : undefined);

function UsualRanges({ change }: Form) {
  return (
    <p class="acts">
      {usualRanges().map(([name, from, to]) => (
        <button key={name} type="button" onClick={() => change({ from, to })}>
          {name}
        </button>
      ))}
    </p>
  );
}

export function Exports({ filters }: { readonly filters: URLSearchParams }) {
  const { owner } = useOwner();
  const { to } = usePlace();
  const id = filters.get('export');
  return (
    <>
      {id !== null && (
        <p>
          <a href={to('exports')}>All exports</a>
        </p>
      )}
      <h1>{id === null ? 'Exports' : 'Export'}</h1>
      {id === null ? <OfTenant owner={owner} /> : <One id={id} tenant={owner} />}
    </>
  );
}

function OfTenant({ owner }: { readonly owner: string }) {
  const { to, tenant = '', mode } = usePlace();
  const nameOf = useTenantName();
  return (
    <List<Export>
      acts={
        <Act
          name="Export"
          does={`Writes a CSV file of ${nameOf(tenant)} in ${mode} mode. ${KEPT}`}
          role="operator"
          tenant={owner}
          path={EXPORTS}
          ask={(form) => <UsualRanges {...form} />}
          says={() => 'The file is being written. Its row in the list below links to the file.'}
          fields={[
            { name: 'kind', label: 'Rows', choices: KINDS },
            { name: 'from', label: 'First day (UTC)', isDate: true },
            { name: 'to', label: 'Last day (UTC)', isDate: true },
            { name: 'currency', label: 'Currency', isOptional: true },
          ]}
        />
      }
      label="Exports"
      path={`${EXPORTS}?limit=100`}
      tenant={owner}
      everyMs={whilePending}
      none="Nothing was exported."
      hint="“Export” writes a CSV file of entries, payments, refunds, disputes or events. The screens Payments and Books export what they show."
      columns={[
        { title: 'Export', of: ({ id }) => <Id of={id} to={addressOf(to, id)} /> },
        { title: 'Rows of', of: ({ kind }) => kind, by: ({ kind }) => kind },
        { title: 'From', of: ({ from }) => from, by: ({ from }) => from },
        { title: 'To', of: ({ to: last }) => last, by: ({ to: last }) => last },
        { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
        { title: 'Rows', isNumber: true, of: ({ rows }) => count(rows), by: ({ rows }) => rows },
        { title: 'Created', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
      ]}
    />
  );
}

function One({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const path = `${EXPORTS}/${encodeURIComponent(id)}`;
  const read = useRead<Schemas['ExportWithLink']>(path, tenant, pollPending);
  return (
    <Loaded of={read}>
      {({ kind, from, to, status, rows, failure, url, url_expires: expires }) => (
        <>
          <Id of={id} />
          <dl class="facts">
            <Fact name="Rows of" value={`${kind}, ${from} to ${to}`} />
            <Fact name="Status" value={failure === null ? status : `${status}: ${failure}`} />
            <Fact name="Rows" value={count(rows)} />
          </dl>
          {url === null ? (
            isPending({ status }) && <p class="soft-text">The file is being written. This page updates itself.</p>
          ) : (
            <p>
              <a href={url} download>
                Download the file
              </a>
              . {KEPT} This link is valid until <Time at={expires} />; a reload of the page makes a new one.
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

export function ExportShown({
  tenant,
  kind,
  from,
  to,
  filters,
  because,
}: {
  readonly tenant: string;
  readonly kind: Export['kind'];
  /** First day, for example `2026-03-01`. `to` is the last day. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly filters: Readonly<Record<string, string | number>>;
  readonly because?: string | undefined;
}) {
  const { to: addressIn, mode, tenant: id = '' } = usePlace();
  const nameOf = useTenantName();
  const days = from === undefined || to === undefined ? 'Choose the days in the filter first.' : undefined;
  return (
    <Act
      name="Export as CSV"
      does={`Writes a CSV file of all rows of ${nameOf(id)} in ${mode} mode that match the filters, from ${from} to ${to}. ${KEPT}`}
      role="operator"
      because={because ?? days}
      tenant={tenant}
      path={EXPORTS}
      fixed={{ kind, from, to, ...filters }}
      fields={[]}
      shows={(answer) => (
        <p>
          The file is being written: <a href={addressOf(addressIn, (answer as Export).id)}>{(answer as Export).id}</a>
        </p>
      )}
    />
  );
}

function addressOf(to: Place['to'], id: string): string {
  return to('exports', { export: id });
}
