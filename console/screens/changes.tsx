import type { Schemas } from '../api.ts';
import { Id, Loaded, Status, Time } from '../parts.tsx';
import { useRead } from '../reading.ts';
import { money, words } from '../show.ts';
import { Table } from '../table.tsx';
import { Decide } from './charges.tsx';

type Whole = Schemas['Payment'];
type Change = Schemas['Refund'] | Schemas['Capture'] | Schemas['Cancellation'];

interface ChangeList {
  readonly data: readonly Change[];
}

/** Shows the captures, cancellations and refunds of a payment, each with its state. */
export function Changes({
  payment: { id, currency },
  tenant,
  done,
}: {
  readonly payment: Whole;
  /** The tenant and mode of the payment, for example `ten_desk/live`. */
  readonly tenant: string;
  readonly done: (what: string) => (answer: unknown) => void;
}) {
  const path = `/v1/payments/${encodeURIComponent(id)}`;
  const read = [
    useRead<ChangeList>(`${path}/captures`, tenant),
    useRead<ChangeList>(`${path}/cancellations`, tenant),
    useRead<ChangeList>(`${path}/refunds`, tenant),
  ];
  const failed = read.find(({ error }) => error !== undefined);
  if (failed !== undefined) return <Loaded of={failed}>{() => undefined}</Loaded>;
  const rows = read.flatMap(({ answer }) => answer?.data ?? []).toSorted((a, b) => a.created - b.created);
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
          { title: 'Status', of: ({ status }) => <Status of={status} />, by: ({ status }) => status },
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
                  currency={currency}
                  change={row.id}
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
