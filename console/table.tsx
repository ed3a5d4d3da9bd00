import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { Empty, Failed, Loading } from './parts.tsx';
import { type Page, type Polling, usePages, useRefresh } from './reading.ts';
import { count } from './show.ts';

type Sortable = string | number | null | undefined;

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => ComponentChildren;
  readonly isNumber?: true;
  /** Set for the column of actions, which stays in the window when a wide table is scrolled. */
  readonly isActs?: true;
  /** @default the column cannot be sorted */
  readonly by?: (row: Row) => Sortable;
}

interface TableProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly label: string;
  readonly none?: string;
  /** Shown with `none`: what the operator can do to get rows. */
  readonly hint?: ComponentChildren;
  /** @default the order of the API */
  readonly first?: Order;
}

interface Order {
  readonly title: string;
  readonly direction: 'ascending' | 'descending';
}

const COLLATOR = new Intl.Collator(undefined, { numeric: true });

function compare(left: Sortable, right: Sortable): number {
  return typeof left === 'number' && typeof right === 'number'
    ? left - right
    : COLLATOR.compare(String(left), String(right));
}

/** Rows without a value are last in both directions. */
function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order | undefined): readonly Row[] {
  const by = columns.find(({ title }) => title === order?.title)?.by;
  if (by === undefined) return rows;
  const sign = order?.direction === 'descending' ? -1 : 1;
  const isMissing = (value: Sortable) => value === null || value === undefined;
  return rows.toSorted((left, right) => {
    const [a, b] = [by(left), by(right)];
    if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
    return sign * compare(a, b);
  });
}

/** An open dialog stays with its row when the list is read again. */
function idOf(row: object): string | undefined {
  return 'id' in row && typeof row.id === 'string' ? row.id : undefined;
}

/** On a narrow screen, each row is a card. ARIA roles keep the table's semantics there. */
export function Table<Row extends object>({
  rows,
  columns,
  label,
  none = 'No rows.',
  hint,
  first,
}: TableProps<Row> & { readonly rows: readonly Row[] }) {
  const [order, setOrder] = useState<Order | undefined>(first);
  if (rows.length === 0) return none === '' ? <></> : <Empty title={none} hint={hint} />;
  return (
    <section class="scrolls" tabIndex={0} aria-label={label}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <Heading key={column.title} column={column} order={order} sort={setOrder} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {sorted(rows, columns, order).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows without an id have no dialogs
            <tr key={idOf(row) ?? index} role="row">
              {columns.map(({ title, of, isNumber, isActs }) => (
                <td key={title} role="cell" class={classOf(isNumber, isActs)} data-title={title}>
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

function classOf(isNumber: boolean | undefined, isActs: boolean | undefined): string {
  return isNumber ? 'number' : isActs ? 'sticky' : '';
}

function Heading<Row>({
  column: { title, isNumber, isActs, by },
  order,
  sort,
}: {
  readonly column: Column<Row>;
  readonly order: Order | undefined;
  readonly sort: (order: Order | undefined) => void;
}) {
  const own = order?.title === title ? order.direction : undefined;
  const next = own === undefined ? 'ascending' : own === 'ascending' ? 'descending' : undefined;
  return (
    <th role="columnheader" scope="col" class={classOf(isNumber, isActs)} {...(own ? { 'aria-sort': own } : {})}>
      {by === undefined ? (
        title
      ) : (
        <button
          type="button"
          class="sort"
          title={next === undefined ? 'Show in the original order' : `Sort, ${next}`}
          onClick={() => sort(next === undefined ? undefined : { title, direction: next })}
        >
          {title}
          <span aria-hidden="true">{own === undefined ? '↕' : own === 'ascending' ? '↑' : '↓'}</span>
        </button>
      )}
    </th>
  );
}

/** Further pages may have rows. */
const NONE_YET = { none: 'Nothing was found so far.', hint: '“More” continues the search.' };

export function List<Row extends { readonly id?: string }>({
  path,
  tenant,
  acts,
  about,
  everyMs,
  rest,
  hidesOld = false,
  ...table
}: TableProps<Row> & {
  readonly path: string;
  /** Set for a list without pages: shown if there are rows that the response does not contain. */
  readonly rest?: string | undefined;
  /** The tenant and mode of the list. Absent for a route that only operators call. */
  readonly tenant?: string;
  readonly acts?: ComponentChildren;
  readonly about?: (first: Page<Row>) => ComponentChildren;
  readonly everyMs?: Polling<readonly Row[]>;
  /** Set after an action that removed rows: hides all rows until they have been read again. */
  readonly hidesOld?: boolean;
}) {
  const read = usePages<Row>(path, tenant, everyMs);
  const { first, error, hasMore: hasNext, isReading, more, again } = read;
  const rows = hidesOld && isReading ? undefined : read.rows;
  const refresh = useRefresh();
  const hasMore = rest === undefined && hasNext;
  const isCut = rest !== undefined && first?.has_more === true;
  return (
    <>
      {first !== undefined && about?.(first)}
      <div class="bar">
        {acts}
        <span class="soft-text">{rows !== undefined && rows.length > 0 && shownOf(rows.length, hasMore)}</span>
        <button type="button" class="quiet" onClick={refresh} title="Read this screen again">
          <Icon name="refresh" /> Refresh
        </button>
      </div>
      {error !== undefined && <Failed error={error} again={rows === undefined ? again : undefined} />}
      {rows === undefined && error === undefined && <Loading />}
      {isCut && <p role="status">{rest}</p>}
      {rows !== undefined && <Table rows={rows} {...table} {...(isCut && { none: '' })} {...(hasMore && NONE_YET)} />}
      {hasMore && (
        <button type="button" disabled={isReading} onClick={more}>
          {isReading ? 'Loading …' : 'More'}
        </button>
      )}
    </>
  );
}

function shownOf(rows: number, hasMore: boolean): string {
  const shown = `${count(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  return hasMore ? `${shown}; there are more. Sorting orders these rows only.` : shown;
}
