import type { Schemas } from '../api.ts';
import { Id, Loaded, Status, Time } from '../parts.tsx';
import type { Change } from '../proposals.ts';
import { type Read, useRead } from '../reading.ts';
import { money, words } from '../show.ts';
import { Table } from '../table.tsx';
import { Decide } from './charges.tsx';

type Whole = Schemas['Payment'];

interface ChangeList {
  readonly data: readonly Change[];
}

/** Reads the captures, cancellations and refunds of a payment, oldest first. @param tenant the tenant and mode */
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

/** Shows the captures, cancellations and refunds of a payment, each with its state. */
export function Changes(props: ChangesProps & { readonly read: Read<readonly Change[]> }) {
  return <Loaded of={props.read}>{(rows) => <ChangeTable {...props} rows={rows} />}</Loaded>;
}

interface ChangesProps {
  readonly payment: Whole;
  /** The tenant and mode of the payment, for example `ten_desk/live`. */
  readonly tenant: string;
  readonly done: (what: string) => (answer: unknown) => void;
}

function ChangeTable({ payment, tenant, done, rows }: ChangesProps & { readonly rows: readonly Change[] }) {
  const { id, status } = payment;
  if (rows.length === 0) return <></>;
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
            of: ({ failure, reason }) =>
              failure === null ? (reason ?? '–') : `${words(failure.code)}: ${failure.message}`,
          },
          { title: 'Created', of: ({ created }) => <Time at={created} />, by: ({ created }) => created },
          {
            title: 'Act',
            of: (row) =>
              row.status === 'pending' ? (
                <Decide
                  id={id}
                  tenant={tenant}
                  payment={payment}
                  change={row.id}
                  because={
                    row.object !== 'refund' && status === 'needs_review'
                      ? 'The payment is in review. Decide the payment instead.'
                      : undefined
                  }
                  name={`Decide ${row.object}`}
                  done={done('The decision was recorded.')}
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
