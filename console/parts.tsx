import type { ComponentChildren } from 'preact';
import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { type Api, Refused } from './api.ts';

export const Session = createContext<Api | undefined>(undefined);

export function useApi(): Api {
  const api = useContext(Session);
  if (api === undefined) throw new Error('the API is used before the operator has signed in');
  return api;
}

interface Read<Answer> {
  readonly answer?: Answer;
  readonly error?: unknown;
  readonly again: () => void;
}

/** Returns the operator's API, or the API for one tenant and mode if `tenant` is given, for example `ten_desk/live`. */
export function useApiOf(tenant: string | undefined): Api {
  const api = useApi();
  return useMemo(() => (tenant === undefined ? api : api.of(tenant)), [api, tenant]);
}

/** Reads a path. Repeats the read when the path changes or when `again` is called. */
export function useRead<Answer>(path: string, tenant?: string): Read<Answer> {
  return useAsked(path, tenant, ask<Answer>);
}

function ask<Answer>(api: Api, path: string): Promise<Answer> {
  return api.get<Answer>(path);
}

/** Maximum number of pages that are combined into one answer. */
const MAX_PAGES = 40;

interface NumberedPage {
  readonly data: readonly unknown[];
  readonly has_more: boolean;
  readonly next_sequence: number | null;
}

/**
 * Reads all pages of a path and combines them into one answer. `has_more` of the result is true if there were more than
 * MAX_PAGES pages.
 */
export function useWhole<Answer extends NumberedPage>(path: string): Read<Answer> {
  return useAsked(path, undefined, askWhole<Answer>);
}

async function askWhole<Answer extends NumberedPage>(api: Api, path: string): Promise<Answer> {
  let last = await api.get<Answer>(path);
  const data = [...last.data];
  for (let pages = 1; last.has_more && pages < MAX_PAGES; pages += 1) {
    last = await api.get<Answer>(`${path}?starting_after=${last.next_sequence}`);
    data.push(...last.data);
  }
  return { ...last, data };
}

/**
 * Runs a read and returns its state.
 * @param how the function that reads; must be the same function at each rendering
 */
function useAsked<Answer>(
  path: string,
  tenant: string | undefined,
  how: (api: Api, path: string) => Promise<Answer>,
): Read<Answer> {
  const api = useApiOf(tenant);
  const [read, setRead] = useState<Omit<Read<Answer>, 'again'>>({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isWanted = true;
    how(api, path).then(
      (answer) => isWanted && setRead({ answer }),
      (error: unknown) => isWanted && setRead({ error }),
    );
    return () => {
      isWanted = false;
    };
  }, [api, path, how, turn]);
  return { ...read, again: useCallback(() => setTurn((last) => last + 1), []) };
}

export function Trouble({ error }: { readonly error: unknown }) {
  const text = error instanceof Error ? error.message : String(error);
  return (
    <p role="alert" class="trouble">
      {text} {error instanceof Refused && <code>{error.code}</code>}
    </p>
  );
}

/** Shows the response of a read, or that the read is pending or has failed. */
export function Loaded<Answer>({
  of: { answer, error, again },
  children,
}: {
  readonly of: Read<Answer>;
  readonly children: (answer: Answer) => ComponentChildren;
}) {
  if (error !== undefined)
    return (
      <>
        <Trouble error={error} />
        <button type="button" onClick={again}>
          Read again
        </button>
      </>
    );
  return answer === undefined ? <p aria-live="polite">Loading …</p> : <>{children(answer)}</>;
}

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => ComponentChildren;
  readonly isNumber?: true;
}

export function Table<Row>({
  rows,
  columns,
  label,
  none = 'Nothing is here.',
}: {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly label: string;
  readonly none?: string;
}) {
  if (rows.length === 0) return <p>{none}</p>;
  return (
    <section class="scrolls" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no common id and are replaced as a whole
            <tr key={index}>
              {columns.map(({ title, of, isNumber }) => (
                <td key={title} class={isNumber ? 'number' : ''}>
                  {of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface Page<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
  readonly next_cursor?: string;
}

/** Shows a list of the API, page by page. */
export function List<Row extends { readonly id?: string }>({
  path,
  tenant,
  ...table
}: {
  readonly path: string;
  /** The tenant and mode of the list, for a route that tenants call. */
  readonly tenant?: string;
  readonly columns: readonly Column<Row>[];
  readonly label: string;
  readonly none?: string;
}) {
  const api = useApiOf(tenant);
  const first = useRead<Page<Row>>(path, tenant);
  const [more, setMore] = useState<{ readonly path: string; readonly pages: readonly Page<Row>[] }>({
    path,
    pages: [],
  });
  const [error, setError] = useState<unknown>();
  const pages = more.path === path ? more.pages : [];
  return (
    <Loaded of={first}>
      {(page) => {
        const all = [page, ...pages];
        const rows = all.flatMap(({ data }) => data);
        const last = all.at(-1)?.next_cursor ?? rows.at(-1)?.id;
        const next = async () => {
          const join = path.includes('?') ? '&' : '?';
          const got = await api.get<Page<Row>>(`${path}${join}starting_after=${encodeURIComponent(last ?? '')}`);
          setMore({ path, pages: [...pages, got] });
          setError(undefined);
        };
        return (
          <>
            <Table rows={rows} {...table} />
            {error !== undefined && <Trouble error={error} />}
            {all.at(-1)?.has_more === true && last !== undefined && (
              <button type="button" onClick={() => void next().catch(setError)}>
                More
              </button>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

export function Fact({ name, value }: { readonly name: string; readonly value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

const KINDS: Readonly<Record<string, 'good' | 'bad' | 'open'>> = {
  succeeded: 'good',
  completed: 'good',
  approved: 'good',
  delivered: 'good',
  failed: 'bad',
  canceled: 'bad',
  rejected: 'bad',
  expired: 'bad',
  confirmed: 'bad',
  needs_review: 'open',
  pending_approval: 'open',
  processing: 'open',
  pending: 'open',
  suspected: 'open',
};

/** Shows a status. The text carries the meaning; the color only makes it easier to find. */
export function Status({ of: status }: { readonly of: string }) {
  return <span class={`status ${KINDS[status] ?? ''}`}>{status}</span>;
}

/**
 * Returns a counter and a function that increments it. Incrementing the counter after an action causes a list to be
 * read again.
 */
export function useTurns(): readonly [turn: number, again: () => void] {
  const [turn, setTurn] = useState(0);
  return [turn, () => setTurn((last) => last + 1)];
}
