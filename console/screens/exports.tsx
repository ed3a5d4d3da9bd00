import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { type Filter, Filters } from '../filters.tsx';
import { Fact, List, Loaded, Status, useRead, useTurns } from '../parts.tsx';
import { time } from '../show.ts';

type Export = Schemas['Export'];

const EXPORTS = '/v1/exports';
const FIELDS: readonly Filter[] = [
  { name: 'tenant', label: 'Tenant', required: true },
  { name: 'mode', label: 'Mode', required: true, choices: ['test', 'live'] },
];
const KINDS: readonly Export['kind'][] = ['entries', 'payments', 'refunds', 'disputes', 'events'];
const DESCRIPTION = 'Writes a CSV file of these rows. The file is kept for seven days.';

export function Exports({ filters }: { readonly filters: URLSearchParams }) {
  const tenant = filters.get('tenant');
  const mode = filters.get('mode') ?? 'live';
  const id = filters.get('export');
  return (
    <>
      <h1>Exports</h1>
      <Filters
        screen="exports"
        act="Show"
        filters={new URLSearchParams({ tenant: tenant ?? '', mode })}
        fields={FIELDS}
      />
      {tenant !== null &&
        (id === null ? <OfTenant tenant={tenant} mode={mode} /> : <One id={id} tenant={`${tenant}/${mode}`} />)}
    </>
  );
}

function OfTenant({ tenant, mode }: { readonly tenant: string; readonly mode: string }) {
  const [turn, again] = useTurns();
  const owner = `${tenant}/${mode}`;
  return (
    <>
      <p class="acts">
        <Act
          name="Export"
          does={DESCRIPTION}
          role="operator"
          tenant={owner}
          path={EXPORTS}
          fields={[
            { name: 'kind', label: 'Rows', choices: KINDS },
            { name: 'from', label: 'First day (UTC)', isDate: true },
            { name: 'to', label: 'Last day (UTC)', isDate: true },
            { name: 'currency', label: 'Currency', isOptional: true },
          ]}
          done={again}
        />
        <button type="button" onClick={again}>
          Read again
        </button>
      </p>
      <List<Export>
        key={turn}
        label="Exports"
        path={`${EXPORTS}?limit=100`}
        tenant={owner}
        none="Nothing was exported."
        columns={[
          { title: 'Export', of: (row) => <a href={addressOf(owner, row.id)}>{row.id}</a> },
          { title: 'Rows of', of: ({ kind }) => kind },
          { title: 'From', of: ({ from }) => from },
          { title: 'To', of: ({ to }) => to },
          { title: 'Status', of: ({ status }) => <Status of={status} /> },
          { title: 'Rows', isNumber: true, of: ({ rows }) => rows },
          { title: 'Created', of: ({ created }) => time(created) },
        ]}
      />
    </>
  );
}

function One({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const read = useRead<Schemas['ExportWithLink']>(`${EXPORTS}/${encodeURIComponent(id)}`, tenant);
  return (
    <Loaded of={read}>
      {({ kind, from, to, status, rows, failure, url, url_expires: expires }) => (
        <>
          <h2>{id}</h2>
          <dl class="facts">
            <Fact name="Rows of" value={`${kind}, ${from} to ${to}`} />
            <Fact name="Status" value={failure === null ? status : `${status}: ${failure}`} />
            <Fact name="Rows" value={rows} />
          </dl>
          {url === null ? (
            <button type="button" onClick={read.again}>
              Read again
            </button>
          ) : (
            <p>
              <a href={url} download>
                Download the file
              </a>{' '}
              until {time(expires)}
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

/** Offers an export of the rows of a screen, with the same filters. */
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
  /** The reason why these rows cannot be exported. */
  readonly because?: string | undefined;
}) {
  const days = from === undefined || to === undefined ? 'Choose the days first.' : undefined;
  return (
    <p class="acts">
      <Act
        name="Export as CSV"
        does={`${DESCRIPTION} All rows that match, from ${from} to ${to}.`}
        role="operator"
        because={because ?? days}
        tenant={tenant}
        path={EXPORTS}
        fixed={{ kind, from, to, ...filters }}
        fields={[]}
        shows={(answer) => (
          <p>
            The file is being written: <a href={addressOf(tenant, (answer as Export).id)}>{(answer as Export).id}</a>
          </p>
        )}
        done={() => undefined}
      />
    </p>
  );
}

function addressOf(owner: string, id: string): string {
  const [tenant = '', mode = ''] = owner.split('/');
  return `#/exports?${new URLSearchParams({ tenant, mode, export: id }).toString()}`;
}
