import type { Schemas } from '../api.ts';
import { Id, Loaded, Status, Time } from '../parts.tsx';
import { addressOf } from '../place.ts';
import { type Approval, type Change, refusalOfDecision } from '../proposals.ts';
import { type Read, useRead } from '../reading.ts';
import { cause, money, words } from '../show.ts';
import { Table } from '../table.tsx';
import { Decide } from './charges.tsx';
import type { Transition } from './timeline.tsx';

type Whole = Schemas['Payment'];

interface ChangeList {
  readonly data: readonly Change[];
}

/** Sorts by time, oldest first. @param tenant the tenant and mode */
export function useChanges(id: string, tenant: string): Read<readonly Change[]> {
  const path = `/v1/payments/${encodeURIComponent(id)}`;
  const read = [
    useRead<ChangeList>(`${path}/captures`, tenant),
    useRead<ChangeList>(`${path}/cancellations`, tenant),
    useRead<ChangeList>(`${path}/refunds`, tenant),
  ];
  const again = () => {
    for (const each of read) each.again();
  };
  const failed = read.find(({ error }) => error !== undefined);
  if (failed !== undefined) return { error: failed.error, again };
  if (read.some(({ answer }) => answer === undefined)) return { again };
  const rows = read.flatMap(({ answer }) => answer?.data ?? []).toSorted((a, b) => a.created - b.created);
  return { answer: rows, again };
}

export function Changes(props: ChangesProps & { readonly read: Read<readonly Change[]> }) {
  return <Loaded of={props.read}>{(rows) => <ChangeTable {...props} rows={rows} />}</Loaded>;
}

interface ChangesProps {
  readonly payment: Whole;
  /** The tenant and mode of the payment, for example `ten_desk/live`. */
  readonly tenant: string;
  readonly transitions: readonly Transition[];
  /** Names of keys, by key id. */
  readonly keys: ReadonlyMap<string, string>;
  readonly says: (what: string) => (answer: unknown) => string;
  /** The newest approvals of the deployment. */
  readonly approvals: readonly Approval[];
}

function requesterOf(
  change: Change,
  { transitions, keys, approvals }: Pick<ChangesProps, 'transitions' | 'keys' | 'approvals'>,
): string {
  const begin = beginOf(change, transitions);
  if (begin === undefined) return '–';
  const by = cause(begin.caused_by, keys);
  const approval = approvals.find(({ effect }) => effect.id === change.id);
  const requester = begin.requested_by ?? approval?.requested_by.operator;
  return requester === undefined ? by : `${requester}, approved by ${by}`;
}

function beginOf({ id }: Change, transitions: readonly Transition[]): Transition | undefined {
  return transitions.find(({ subject }) => subject?.id === id);
}

function reasonsOf(change: Change, transitions: readonly Transition[]): readonly string[] {
  const { failure, reason, id } = change;
  const requested = reason ?? (change.object === 'refund' ? undefined : change.request?.reason);
  const decided = transitions.findLast(
    ({ subject, type, operator_reason: said }) =>
      subject?.id === id && !type.endsWith('.pending') && said !== undefined,
  );
  const failed = failure === null ? undefined : `${words(failure.code)}: ${failure.message}`;
  const why = decided === undefined ? failed : `decided by ${cause(decided.caused_by)}: ${decided.operator_reason}`;
  return [requested, why].filter((text) => typeof text === 'string');
}

function ChangeTable({
  payment,
  tenant,
  transitions,
  keys,
  says,
  approvals,
  rows,
}: ChangesProps & { readonly rows: readonly Change[] }) {
  const { id, status } = payment;
  if (rows.length === 0) return <></>;
  const linked = addressOf(location.hash).filters.get('decide');
  return (
    <>
      <h2>Captures, cancellations and refunds</h2>
      <Table<Change>
        label="Changes"
        rows={rows}
        columns={[
          { title: 'Kind', of: ({ object }) => object, by: ({ object }) => object },
          { title: 'Amount', isNumber: true, of: (row) => money(row.amount, row.currency), by: ({ amount }) => amount },
          { title: 'Status', of: (row) => <Status of={row.status} />, by: (row) => row.status },
          { title: 'Id', of: (row) => <Id of={row.id} /> },
          {
            title: 'Reason',
            of: (row) => {
              const texts = reasonsOf(row, transitions);
              return texts.length === 0 ? '–' : texts.map((text) => <div key={text}>{text}</div>);
            },
          },
          {
            title: 'Requested by',
            of: (row) => requesterOf(row, { transitions, keys, approvals }),
          },
          { title: 'Created', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          {
            title: 'Act',
            isActs: true,
            of: (row) =>
              row.status === 'pending' ? (
                <Decide
                  id={id}
                  tenant={tenant}
                  payment={payment}
                  change={row}
                  because={refusalOfDecision(row, status)}
                  isLinked={row.id === linked}
                  name={`Decide ${row.object}`}
                  says={says('The decision was recorded.')}
                />
              ) : (
                '–'
              ),
          },
        ]}
      />
    </>
  );
}
