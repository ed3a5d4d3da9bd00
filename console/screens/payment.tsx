import { useState } from 'preact/hooks';
import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { Fact, Loaded, Table, useRead } from '../parts.tsx';
import { cause, money } from '../show.ts';
import { Charges, Decide } from './charges.tsx';
import { StateDiagram } from './diagram.tsx';

/** A payment is looked up by its id. */
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
type Entry = Timeline['data'][number];
type Transition = Extract<Entry, { kind: 'transition' }>;

/** What happened to a payment, its postings, and what an operator can do about it. */
export function Payment({ id }: { readonly id: string }) {
  const read = useRead<Timeline>(`/v1/admin/payments/${encodeURIComponent(id)}/timeline`);
  const [said, setSaid] = useState('');
  const done = (what: string) => () => {
    setSaid(what);
    read.again();
  };
  return (
    <>
      <h1>{id}</h1>
      <p role="status">{said}</p>
      <Loaded of={read}>
        {({ data, tenant, livemode }) => {
          const transitions = data.filter((entry): entry is Transition => entry.kind === 'transition');
          const status = transitions.at(-1)?.status ?? 'processing';
          const owner = `${tenant}/${livemode ? 'live' : 'test'}`;
          return (
            <>
              <dl class="facts">
                <Fact name="Status" value={status} />
                <Fact name="Tenant" value={tenant} />
                <Fact name="Mode" value={livemode ? 'live' : 'test'} />
              </dl>
              <Acts id={id} tenant={owner} status={status} done={done} />
              <StateDiagram statuses={['processing', ...transitions.map((each) => each.status)]} />
              <h2>What happened</h2>
              <ol class="story">
                {data.map((entry) => (
                  <li key={`${entry.at} ${entry.kind} ${entry.sequence}`} class={entry.kind}>
                    <time dateTime={entry.at}>{entry.at}</time>
                    <Told entry={entry} />
                  </li>
                ))}
              </ol>
              <Postings transitions={transitions} />
              <AtProcessor id={id} tenant={owner} />
              <details>
                <summary>As the API answers it</summary>
                <pre>{JSON.stringify(data, undefined, 2)}</pre>
              </details>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** Asked for when it is opened, because the processor limits how often it is asked. */
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
  done,
}: {
  readonly id: string;
  readonly tenant: string;
  readonly status: string;
  readonly done: (what: string) => () => void;
}) {
  const path = `/v1/admin/payments/${encodeURIComponent(id)}`;
  return (
    <div class="acts">
      <Decide id={id} tenant={tenant} status={status} done={done('The decision was recorded.')} />
      <Act
        name="Correct"
        does="Reverses one set of postings. The original stays in the Ledger."
        role="operator"
        path="/v1/admin/corrections"
        fixed={{ payment: id }}
        preview
        fields={[
          { name: 'reverses', label: 'Sequence of the transition to reverse', isWhole: true },
          { name: 'reason', label: 'Reason' },
        ]}
        done={done('The correction was recorded, or waits for a second person.')}
      />
      <Act
        name="Annotate"
        does="Adds an explanation to the payment. It changes no amount and no status."
        role="operator"
        path={`${path}/annotations`}
        fields={[{ name: 'reason', label: 'Explanation' }]}
        done={done('The annotation was added.')}
      />
    </div>
  );
}

function Told({ entry }: { readonly entry: Entry }) {
  switch (entry.kind) {
    case 'transition':
      return (
        <>
          {entry.sequence}. {entry.type} <small>by {cause(entry.caused_by)}</small>
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
          processor: {entry.call === 'send' ? 'request sent' : 'looked up'}, heard <b>{entry.heard}</b> after{' '}
          {entry.duration_ms} ms
        </>
      );
    case 'answer':
      return <>answer {entry.http_status} stored for the request</>;
    case 'open':
      return entry.was_released ? (
        <>claim given back, nothing sent</>
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

/** Each set balances: its debits equal its credits. */
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
