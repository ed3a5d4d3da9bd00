import { useState } from 'preact/hooks';
import { Act } from '../act.tsx';
import type { Schemas } from '../api.ts';
import { Failed, Id, Loading } from '../parts.tsx';
import { type Place, usePlace } from '../place.ts';
import { usePages } from '../reading.ts';
import { age, count, money, queueTitle } from '../show.ts';
import { Table } from '../table.tsx';

type Attention = Schemas['AttentionList'];
type Entry = Schemas['AttentionEntry'];
type Kind = Entry['kind'];

const EVERY_MS = 30_000;

const TITLES: Readonly<Record<Kind, readonly [several: string, one: string]>> = {
  payment_in_review: ['Payments to decide', 'Payment to decide'],
  change_in_review: ['Changes to decide', 'Change to decide'],
  order_in_review: ['Orders to check', 'Order to check'],
  charge_to_return: ['Charges to refund or void', 'Charge to refund or void'],
  hold_to_void: ['Holds to void', 'Hold to void'],
  stuck_request: ['Stuck requests', 'Stuck request'],
  mismatch: ['Differences', 'Difference'],
  approval: ['Approvals', 'Approval'],
  unmatched_callback: ['Unmatched callbacks', 'Unmatched callback'],
  webhook_endpoint: ['Failing webhook endpoints', 'Webhook endpoint'],
  dead_letters: ['Dead letters', 'Dead letters'],
  parked_records: ['Parked records', 'Parked records'],
};

const REASONS = [
  ['nothing_due', 'No refund is due to the payer'],
  ['refunded', 'The charge was refunded or voided'],
  ['other_program', 'Another program made the charge'],
] as const;

export function NeedsPerson() {
  const [kind, setKind] = useState<Kind>();
  const filter = kind === undefined ? '' : `&kind=${kind}`;
  const { first, rows, error, hasMore, isReading, more, again } = usePages<Entry, Attention>(
    `/v1/admin/attention?limit=50${filter}`,
    undefined,
    EVERY_MS,
  );
  const waiting = (first?.counts ?? []).filter((each) => each.count > 0);
  const unread = (first?.unread ?? []).map((each) => TITLES[each][0].toLowerCase());
  return (
    <section aria-labelledby="needs-person">
      <h2 id="needs-person">Needs a person</h2>
      {error !== undefined && <Failed error={error} again={rows === undefined ? again : undefined} />}
      {rows === undefined && error === undefined && <Loading />}
      {waiting.length > 0 && <Kinds counts={waiting} chosen={kind} choose={setKind} />}
      {unread.length > 0 && (
        <p role="alert" class="trouble">
          This list may be incomplete: {unread.join(', ')} cannot be read now.
        </p>
      )}
      {rows !== undefined && <Entries rows={rows} isWhole={unread.length === 0} />}
      {hasMore && (
        <button type="button" disabled={isReading} onClick={more}>
          More
        </button>
      )}
    </section>
  );
}

function Kinds({
  counts,
  chosen,
  choose,
}: {
  readonly counts: Attention['counts'];
  readonly chosen: Kind | undefined;
  readonly choose: (kind: Kind | undefined) => void;
}) {
  const all = counts.reduce((sum, each) => sum + each.count, 0);
  const hasMore = counts.some(({ more }) => more);
  const choices = [
    { kind: undefined, title: 'All', text: `${count(all)}${hasMore ? '+' : ''}`, oldest: undefined },
    ...counts.map(({ kind, count: found, more, oldest_age: oldest }) => ({
      kind,
      title: TITLES[kind][0],
      text: `${count(found)}${more ? '+' : ''}`,
      oldest: oldest ?? undefined,
    })),
  ];
  return (
    <p class="tabs">
      {choices.map(({ kind, title, text, oldest }) => (
        <button
          key={title}
          type="button"
          aria-pressed={kind === chosen}
          title={oldest === undefined ? undefined : `The oldest: ${age(oldest)}`}
          onClick={() => choose(kind)}
        >
          <b>{text}</b> {title}
        </button>
      ))}
    </p>
  );
}

function Entries({ rows, isWhole }: { readonly rows: readonly Entry[]; readonly isWhole: boolean }) {
  const { to } = usePlace();
  return (
    <Table<Entry>
      label="Entries"
      rows={rows}
      none={isWhole ? 'Nothing needs a person.' : 'No other entry was found.'}
      hint="Payments in review, differences, approvals, failing endpoints and dead letters of all tenants appear here."
      columns={[
        { title: 'What', of: (row) => <What entry={row} />, by: ({ kind }) => TITLES[kind][1] },
        {
          title: 'Amount',
          isNumber: true,
          of: ({ amount, currency }) => money(amount, currency ?? ''),
          by: ({ amount }) => amount,
        },
        {
          title: 'Tenant',
          of: ({ tenant, mode }) => (tenant === null ? '–' : `${tenant}, ${mode}`),
          by: ({ tenant }) => tenant,
        },
        { title: 'Waiting', isNumber: true, of: ({ age: seconds }) => age(seconds), by: ({ age: seconds }) => seconds },
        { title: 'Reason', of: ({ reason }) => reason },
        {
          title: 'Act',
          of: (row) => {
            if (row.act === 'dismiss') return <DismissCallback callback={row.callback} charge={row.part} />;
            const { name, address } = actOf(row, to);
            return <a href={address}>{name}</a>;
          },
        },
      ]}
    />
  );
}

function What({ entry: { kind, about, part, queue, tenant, mode, count: messages } }: { readonly entry: Entry }) {
  const { to } = usePlace();
  const id = part ?? about;
  // The metadata of a charge may contain the id of a payment that does not exist.
  const isPayment = id?.startsWith('pay_') === true && tenant !== null && mode !== null;
  return (
    <>
      <b>{TITLES[kind][1]}</b>
      {messages > 1 && ` (${count(messages)})`}
      <br />
      {id === null ? (
        queue !== null && queueTitle(queue)
      ) : (
        <Id of={id} to={isPayment ? to(`payments/${id}`, {}, { tenant, mode }) : undefined} />
      )}
    </>
  );
}

export function DismissCallback({
  callback,
  charge,
}: {
  readonly callback: string | null;
  readonly charge: string | null;
}) {
  return (
    <Act
      name="Dismiss"
      does={`Dismisses the callback about the charge ${charge ?? ''}. Look the charge up at the processor first: the charge itself does not change.`}
      role="operator"
      path={`/v1/admin/callbacks/${callback ?? ''}/dismiss`}
      fields={[{ name: 'reason', label: 'Reason', choices: REASONS }]}
      says={() => 'The callback was dismissed.'}
    />
  );
}

function actOf({ act, about, part, queue, tenant, mode }: Entry, to: Place['to']) {
  const scope = tenant === null || mode === null ? {} : { tenant, mode };
  const payment = about?.startsWith('pay_') === true ? to(`payments/${about}`, {}, scope) : undefined;
  const order = about?.startsWith('ord_') === true ? to('payments', { q: about }, scope) : undefined;
  const entries = to(queue === null ? 'waiting' : `waiting/${queue}`);
  switch (act) {
    case 'decide_payment':
      return { name: 'Decide', address: payment ?? entries };
    case 'decide_change':
      return {
        name: 'Decide',
        address: payment === undefined ? entries : to(`payments/${about}`, { decide: part ?? '' }, scope),
      };
    case 'cancel':
      return { name: 'Cancel', address: payment ?? entries };
    case 'compare':
      // The metadata of a charge may contain the id of a payment that does not exist.
      return payment === undefined || tenant === null
        ? { name: 'View', address: to('differences') }
        : { name: 'Compare', address: payment };
    case 'approve':
      return { name: 'Approve or reject', address: to('approvals') };
    case 'redrive':
      return { name: 'Redrive', address: entries };
    case 'repair_endpoint':
      return { name: 'Enable or disable', address: to('webhooks', { endpoint: part ?? '' }, scope) };
    case 'run_job':
      return { name: 'Run or dismiss', address: entries };
    case 'dismiss':
    case 'look':
      return { name: 'View', address: payment ?? order ?? entries };
  }
}
