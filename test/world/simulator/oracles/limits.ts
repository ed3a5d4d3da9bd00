/**
 * Oracles: changes above the limit need a second person, and a recipient gets at most the allowed number of e-mails.
 */
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { parseApproval } from '../../../../lambdas/operators/store/approval-items.ts';
import type { Posting } from '../../../../lambdas/payments/domain/posting.ts';
import { decisionOf, type Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { isRefundOf } from '../../../../lambdas/payments/ids.ts';
import type { Observed, Violation } from '../contract.ts';
import type { Seen, Written } from './seen.ts';

const ORACLE = 'a second person approves what is above the limit';
const DAY_MS = 24 * 60 * 60_000;

type Approval = ReturnType<typeof parseApproval>;

/** Called once the system is quiet. */
export function checkApprovals({ world, payments }: Seen): readonly Violation[] {
  const approvals = world.database.items(world.tables.registry, RegistryRow.approvals).map(parseApproval);
  const found: Violation[] = [];
  const wrong = (what: string, about: string): void => void found.push({ oracle: ORACLE, what, about });
  for (const approval of approvals) {
    const { id, operationId, paymentId, end, askedBy, expiresAtMs } = approval;
    // When the processor later reports about a refund that an operator decided, the new transition also names the
    // decision.
    const made = (payments.get(paymentId) ?? []).filter(
      ({ row }, place, chain) => operatorsId(row, chain.slice(0, place)) === operationId && row.cause.by === 'operator',
    );
    // A restore can lose the record of a request but keep its approval request. If the operator repeats the request, a
    // second approval request is created. The second one is approved and takes effect, and the first one expires.
    const isRepeated =
      end === undefined &&
      approvals.some((other) => other.operationId === operationId && other.end?.verdict === 'approved');
    if (!isRepeated && made.length !== (end?.verdict === 'approved' ? 1 : 0))
      wrong(`is ${end?.verdict}, but has ${made.length} effects`, id);
    if (end !== undefined && end.by.name === askedBy.name) wrong('was decided by the person who requested it', id);
    if (end !== undefined && end.atMs >= expiresAtMs) wrong('was decided after its expiry', id);
    for (const { row } of made)
      if (effectOf(row) !== shownIn(approval)) wrong('has a different effect than the approval showed', id);
    const reported = new Set(verdictsOn(id, world));
    if ([...reported].some((status) => status !== end?.verdict))
      wrong(`is ${end?.verdict}, but was reported as ${[...reported].join(', ')}`, id);
  }
  const approved = new Set(approvals.map(({ operationId }) => operationId as string));
  const { aboveMinor = Number.POSITIVE_INFINITY } = world.settings.approvals ?? {};
  for (const [id, chain] of payments) {
    for (const [place, { row }] of chain.entries()) {
      const own = operatorsId(row, chain.slice(0, place));
      if (own === undefined || approved.has(own) || stakeOf(row, chain) <= aboveMinor) continue;
      wrong(`${own} over ${stakeOf(row, chain)} took effect without a second person`, id);
    }
  }
  return found;
}

type Chain = readonly Written<Transition>[];

/**
 * Returns the id of the correction or decision that the transition records. If the transition is the first one of an
 * operator's change, returns the id of that change. Otherwise returns undefined.
 */
function operatorsId(row: Transition, earlier: Chain): string | undefined {
  if (row.subject?.kind === 'correction') return row.subject.correctionId;
  return decisionOf(row)?.decisionId ?? begunBy(row, earlier);
}

function begunBy({ cause, subject, payment }: Transition, earlier: Chain): string | undefined {
  if (cause.by !== 'operator') return undefined;
  // Before it sends a change, Payonce also records the refunds that others created at the processor.
  if (subject?.kind === 'refund' && !isRefundOf(subject.refundId, payment.id)) return undefined;
  const id = changeIn(subject);
  return earlier.some(({ row }) => changeIn(row.subject) === id) ? undefined : id;
}

function changeIn(subject: Transition['subject']): string | undefined {
  if (subject?.kind === 'refund') return subject.refundId;
  return subject?.kind === 'capture' || subject?.kind === 'void' ? subject.operationId : undefined;
}

/**
 * Returns the amount that counts towards the limit, in minor units. For a correction: the sum of all corrections of the
 * payment so far in this currency. For a refund by an operator: its amount plus the payment's earlier refunds by
 * operators, except those that had failed. Otherwise: the amount of the change or of the decided refund, or else the
 * payment's amount.
 */
function stakeOf(row: Transition, chain: Chain): number {
  const { subject, sequence, payment } = row;
  if (subject?.kind === 'correction') {
    const earlier = chain.filter((each) => each.row.subject?.kind === 'correction' && each.row.sequence <= sequence);
    const of = row.postings[0]?.currency;
    return earlier.reduce(
      (total, each) => total + debitsOf(each.row.postings.filter(({ currency }) => currency === of)),
      0,
    );
  }
  if (subject?.kind !== 'refund') {
    const isChange = changeIn(subject) !== undefined && decisionOf(row) === undefined;
    return isChange && subject !== undefined && 'amountMinor' in subject ? subject.amountMinor : payment.amountMinor;
  }
  if (decisionOf(row) !== undefined) return subject.amountMinor;
  const earlier = chain.slice(
    0,
    chain.findIndex((each) => each.row.sequence === sequence),
  );
  const newest = new Map(earlier.map((each) => [changeIn(each.row.subject), each.row.subject]));
  const others = earlier.flatMap((each, place) => {
    const refund = newest.get(begunBy(each.row, earlier.slice(0, place)));
    return refund?.kind === 'refund' && refund.status !== 'failed' ? [refund.amountMinor] : [];
  });
  return others.reduce((sum, each) => sum + each, subject.amountMinor);
}

function debitsOf(postings: readonly Posting[]): number {
  return postings.reduce((sum, { direction, amountMinor }) => (direction === 'debit' ? sum + amountMinor : sum), 0);
}

function effectOf({ type, payment, postings }: Pick<Transition, 'type' | 'payment' | 'postings'>): string {
  return JSON.stringify([type, payment.status, postings.map(legOf)]);
}

function shownIn({ effect }: Approval): string {
  return JSON.stringify([effect.type, effect.paymentStatus, effect.postings.map(legOf)]);
}

const legOf = ({ account, direction, amountMinor, currency }: Posting) => [account, direction, amountMinor, currency];

function verdictsOn(id: string, { calls }: Observed): readonly string[] {
  return calls.flatMap(({ path, method, answer }) => {
    if (method !== 'POST' || !path.startsWith(`/v1/admin/approvals/${id}/`) || answer?.status !== 200) return [];
    return [(JSON.parse(answer.body) as { readonly status: string }).status];
  });
}

/** Called once the system is quiet. Addresses that differ only in case or in a tag after `+` are one recipient. */
export function checkEmails({ world, orders }: Seen): readonly Violation[] {
  const mailed = new Map<string, number>();
  for (const { to, subject } of world.mails) {
    const order = orders.get(/^Your order (\S+)$/.exec(subject)?.[1] ?? '')?.at(-1)?.row.order;
    if (order === undefined) continue;
    const { tenantId, mode, email } = order;
    const [name = '', host = ''] = to.toLowerCase().split('@');
    const day = Math.floor(email.sinceMs / DAY_MS);
    const group = JSON.stringify([tenantId, mode, `${name.split('+')[0]}@${host}`, day]);
    mailed.set(group, (mailed.get(group) ?? 0) + 1);
  }
  const most = world.settings.emailsADay;
  return [...mailed].flatMap(([group, count]) => {
    if (count <= most) return [];
    return [
      {
        oracle: 'a recipient gets few e-mails a day',
        what: `${count} were sent, but ${most} are allowed`,
        about: group,
      },
    ];
  });
}
