import { useState } from 'preact/hooks';
import { Act } from '../act.tsx';
import { may, type Schemas } from '../api.ts';
import { Fact, Loaded, Status, Table, useApi, useRead, useTurns, useWhole } from '../parts.tsx';
import { cause, money, time } from '../show.ts';
import { Charges, Decide } from './charges.tsx';
import { StateDiagram } from './diagram.tsx';

/** Shows a form to look up a payment by its id. */
export function Lookup() {
  const [id, setId] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        location.hash = `#/payments/${encodeURIComponent(id.trim())}`;
      }}
    >
      <label>
        Payment id
        <input required placeholder="pay_…" value={id} onInput={({ currentTarget }) => setId(currentTarget.value)} />
      </label>
      <button type="submit" class="main">
        Show
      </button>
    </form>
  );
}

type Timeline = Schemas['Timeline'];
type Whole = Schemas['Payment'];
type Entry = Timeline['data'][number];
type Transition = Extract<Entry, { kind: 'transition' }>;

/** Shows the timeline of a payment, its postings, and the actions of operators. */
export function Payment({ id }: { readonly id: string }) {
  const read = useWhole<Timeline>(`/v1/admin/payments/${encodeURIComponent(id)}/timeline`);
  const [turn, again] = useTurns();
  const [notice, setNotice] = useState('');
  const refresh = () => {
    again();
    read.again();
  };
  const done = (what: string) => (answer: unknown) => {
    const waits = (answer as { readonly object?: string }).object === 'approval';
    setNotice(waits ? 'The request waits for a second person, on the screen Approvals.' : what);
    refresh();
  };
  return (
    <>
      <h1>{id}</h1>
      <p role="status">{notice}</p>
      <Loaded of={read}>
        {({ data, tenant, livemode, has_more: more }) => {
          const transitions = data.filter((entry): entry is Transition => entry.kind === 'transition');
          const status = transitions.at(-1)?.status ?? 'processing';
          const owner = `${tenant}/${livemode ? 'live' : 'test'}`;
          return (
            <>
              <dl class="facts">
                <Fact name="Status" value={<Status of={status} />} />
                <Fact name="Tenant" value={tenant} />
                <Fact name="Mode" value={livemode ? 'live' : 'test'} />
              </dl>
              {more && <p role="alert">This payment has more transitions than this page shows.</p>}
              <Acts id={id} tenant={owner} status={status} transitions={transitions} done={done} refused={refresh} />
              <Details key={turn} id={id} tenant={owner} />
              <StateDiagram statuses={['processing', ...transitions.map((each) => each.status)]} />
              <h2>What happened</h2>
              <ol class="story">
                {data.map((entry) => (
                  <li key={`${entry.at} ${entry.kind} ${entry.sequence}`} class={entry.kind}>
                    <time dateTime={entry.at}>{entry.at}</time>
                    <EntryText entry={entry} />
                  </li>
                ))}
              </ol>
              <Postings transitions={transitions} />
              <AtProcessor id={id} tenant={owner} />
              <details>
                <summary>What happened, as the API answers it</summary>
                <pre>{JSON.stringify(data, undefined, 2)}</pre>
              </details>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** Shows the request and the amounts that were moved. Hides the texts of the merchant from viewers. */
function Details({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const { self } = useApi();
  return may(self, 'operator') ? (
    <DetailsOf id={id} tenant={tenant} />
  ) : (
    <p class="why">Your role is {self.role}; amounts, description and metadata need operator.</p>
  );
}

function DetailsOf({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const read = useRead<Whole>(`/v1/payments/${encodeURIComponent(id)}`, tenant);
  return (
    <Loaded of={read}>
      {(payment) => (
        <>
          <dl class="facts">
            <Fact name="Amount" value={money(payment.amount, payment.currency)} />
            <Fact name="Captured" value={money(payment.amount_captured, payment.currency)} />
            <Fact name="Refunded" value={money(payment.amount_refunded, payment.currency)} />
            {payment.amount_disputed > 0 && (
              <Fact name="Disputed" value={money(payment.amount_disputed, payment.currency)} />
            )}
            <Fact name="Created" value={time(payment.created)} />
            <Fact name="Processor" value={payment.processor.name} />
            <Fact name="Charge" value={<code>{payment.processor.charge_id ?? '–'}</code>} />
            <Fact name="Source" value={<code>{payment.source}</code>} />
            {payment.failure !== null && (
              <Fact name="Failure" value={`${payment.failure.code}: ${payment.failure.message}`} />
            )}
            {payment.reference !== null && <Fact name="Reference" value={payment.reference} />}
            {payment.description !== null && <Fact name="Description" value={payment.description} />}
            {payment.details_erased === true && <Fact name="Personal data" value="erased" />}
            {Object.entries(payment.metadata).map(([name, value]) => (
              <Fact key={name} name={`metadata ${name}`} value={value} />
            ))}
          </dl>
          <details>
            <summary>The payment as the API answers it</summary>
            <pre>{JSON.stringify(payment, undefined, 2)}</pre>
          </details>
        </>
      )}
    </Loaded>
  );
}

/**
 * Shows the state at the processor. The state is read only when this part is opened, because the processor limits the
 * rate of reads.
 */
function AtProcessor({ id, tenant }: { readonly id: string; readonly tenant: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What the processor says now</summary>
      {isOpen && <Charges id={id} tenant={tenant} />}
    </details>
  );
}

function Acts({
  id,
  tenant,
  status,
  transitions,
  done,
  refused,
}: {
  readonly id: string;
  readonly tenant: string;
  readonly status: string;
  readonly transitions: readonly Transition[];
  readonly done: (what: string) => (answer: unknown) => void;
  readonly refused: () => void;
}) {
  const posted = transitions.filter(({ postings }) => postings.length > 0);
  const path = `/v1/admin/payments/${encodeURIComponent(id)}`;
  return (
    <div class="acts">
      <Decide id={id} tenant={tenant} status={status} done={done('The decision was recorded.')} refused={refused} />
      <Act
        name="Correct"
        does="Reverses one set of postings. The original stays in the Ledger."
        role="operator"
        because={posted.length === 0 ? 'Nothing was posted.' : undefined}
        details={<Charges id={id} tenant={tenant} />}
        path="/v1/admin/corrections"
        fixed={{ payment: id }}
        preview
        fields={[
          { name: 'reverses', label: 'Postings to reverse', isWhole: true, choices: posted.map(choiceOf) },
          { name: 'reason', label: 'Reason' },
        ]}
        done={done('The correction was recorded.')}
        refused={refused}
      />
      <Act
        name="Annotate"
        does="Adds an explanation to the payment. It changes no amount and no status."
        role="operator"
        path={`${path}/annotations`}
        fields={[{ name: 'reason', label: 'Explanation' }]}
        done={done('The annotation was added.')}
        refused={refused}
      />
    </div>
  );
}

function choiceOf({ sequence, type, postings }: Transition): readonly [value: string, shown: string] {
  const debits = postings.filter(({ direction }) => direction === 'debit');
  return [
    String(sequence),
    `${sequence}. ${type}, ${debits.map((each) => money(each.amount, each.currency)).join(' + ')}`,
  ];
}

function EntryText({ entry }: { readonly entry: Entry }) {
  switch (entry.kind) {
    case 'transition':
      return (
        <>
          {entry.sequence}. {entry.type} <small>by {cause(entry.caused_by)}</small>
          {entry['override'] === true && <b> without the processor’s books</b>}
          {entry.subject?.reason !== null && entry.subject !== null && <q>{entry.subject.reason}</q>}
        </>
      );
    case 'claim':
      return (
        <>
          claimed by a request (<a href={`#/inspector/${entry.operation}`}>{entry.operation}</a>)
        </>
      );
    case 'takeover':
      return <>taken over: {entry.was_released ? 'the owner had sent nothing' : 'the lease of the owner had ended'}</>;
    case 'call':
      return (
        <>
          processor: {entry.call === 'send' ? 'request sent' : 'looked up'}, result <b>{entry.result}</b> after{' '}
          {entry.duration_ms} ms
        </>
      );
    case 'answer':
      return <>answer {entry.http_status} stored for the request</>;
    case 'open':
      return entry.was_released ? (
        <>claim released, nothing sent</>
      ) : (
        <>not completed; lease until {entry.lease_until}</>
      );
    case 'callback':
      return <>callback {entry.event_id} of the processor accepted</>;
    case 'event':
      return <>event {entry.type} published</>;
    case 'delivery':
      return (
        <>
          webhook to {entry.endpoint}: {entry.http_status ?? entry.error}
        </>
      );
    case 'alarm':
      return <>alarm {entry.alarm}</>;
    case 'act':
      return (
        <>
          {entry.action} by {cause(entry.caused_by)}
        </>
      );
  }
}

/** Shows the postings. Each set balances: its debits equal its credits. */
function Postings({ transitions }: { readonly transitions: readonly Transition[] }) {
  const rows = transitions.flatMap(({ sequence, type, postings }) =>
    postings.map((each) => ({ sequence, type, ...each })),
  );
  const sums = new Map<string, number>();
  for (const { direction, amount, currency } of rows)
    sums.set(currency, (sums.get(currency) ?? 0) + (direction === 'debit' ? amount : -amount));
  return (
    <>
      <h2>Postings</h2>
      <Table
        label="Postings"
        rows={rows}
        none="Nothing was posted."
        columns={[
          { title: 'Transition', of: ({ sequence, type }) => `${sequence}. ${type}` },
          { title: 'Account', of: ({ account }) => account },
          {
            title: 'Debit',
            isNumber: true,
            of: ({ direction, amount, currency }) => (direction === 'debit' ? money(amount, currency) : ''),
          },
          {
            title: 'Credit',
            isNumber: true,
            of: ({ direction, amount, currency }) => (direction === 'credit' ? money(amount, currency) : ''),
          },
        ]}
      />
      {[...sums].map(([currency, left]) => (
        <p key={currency}>
          Debits less credits: <b>{money(left, currency)}</b>
        </p>
      ))}
    </>
  );
}
