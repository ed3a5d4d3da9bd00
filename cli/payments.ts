import type { Command } from 'commander';
import * as z from 'zod';
import { shownAmount } from '../lambdas/kernel/currency.ts';
import { minorUnits } from './amount.ts';
import { addAccess, askerOf, OPERATOR, readAnswer, TENANT } from './operator-api.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

const MAX = 100;

const payment = z.object({
  id: z.string(),
  status: z.string(),
  amount: z.int(),
  amount_refunded: z.int(),
  currency: z.string(),
  reference: z.string().nullable(),
  created: z.int(),
  failure: z.object({ code: z.string() }).nullable(),
  processor: z.object({ name: z.string(), charge_id: z.string().nullable() }),
});
const payments = z.object({ data: z.array(payment), has_more: z.boolean() });
const entry = z.looseObject({
  at: z.string(),
  kind: z.string(),
  sequence: z.int().nullable(),
  caused_by: z.looseObject({ type: z.string() }).optional(),
});
const timeline = z.looseObject({ data: z.array(entry), next_sequence: z.int().nullable() });
const owned = z.looseObject({ tenant: z.string(), livemode: z.boolean() });
const decided = z.looseObject({ id: z.string(), object: z.string(), status: z.string().optional() });

interface Filters {
  readonly status?: string;
  readonly reference?: string;
  readonly most: number;
}

interface Decision {
  readonly outcome: string;
  readonly reason: string;
  readonly change?: string;
  readonly charge?: string;
  readonly amount?: string;
  readonly override?: true;
  readonly dryRun?: true;
}

/** `payonce payments`. */
export function addPayments(program: Command, session: Session): void {
  const group = program
    .command('payments')
    .description('lists and shows the payments of a tenant, and decides one whose outcome cannot be determined');

  const list = group
    .command('list')
    .description('lists payments, newest first')
    .option('--status <status>', 'only those in this status, for example needs_review')
    .option('--reference <text>', 'only the payment with this reference')
    .option('--most <n>', `how many, 1 to ${MAX}`, readCountOf(MAX), 20);
  addAccess(list, TENANT);
  const askList = askerOf(session, list, TENANT);
  list.action(async ({ status, reference, most }: Filters) => {
    const query = new URLSearchParams({ limit: String(most) });
    for (const [name, value] of Object.entries({ status, reference })) if (value !== undefined) query.set(name, value);
    const document = await askList('GET', `/v1/payments?${query.toString()}`);
    session.show(document, paymentLines(readAnswer(payments, document).data));
  });

  const show = group.command('show <id>').description('shows the current state of a payment');
  addAccess(show, TENANT);
  const askShow = askerOf(session, show, TENANT);
  show.action(async (id: string) => {
    const document = await askShow('GET', `/v1/payments/${encodeURIComponent(id)}`);
    session.show(document, paymentLines([readAnswer(payment, document)]));
  });

  addTimeline(group, session);
  addDecide(group, session);
}

function addTimeline(group: Command, session: Session): void {
  const history = group
    .command('timeline <id>')
    .description('shows the timeline of a payment, with the operator’s key');
  addAccess(history);
  const ask = askerOf(session, history);
  history.action(async (id: string) => {
    const data: z.infer<typeof entry>[] = [];
    let after: number | null = 0;
    while (after !== null) {
      const path = `/v1/admin/payments/${encodeURIComponent(id)}/timeline?starting_after=${after}`;
      const page: z.infer<typeof timeline> = readAnswer(timeline, await ask('GET', path));
      data.push(...page.data);
      after = page.next_sequence;
    }
    session.show(
      { object: 'timeline', payment: id, data },
      table(['TIME', 'STEP', 'WHAT', 'DETAILS'], data.map(lineOf)),
    );
  });
}

/** Formats an entry as a line: its scalar fields and its cause. */
function lineOf({ at, kind, sequence, caused_by: cause, object: _object, ...rest }: z.infer<typeof entry>): string[] {
  const by = Object.values(cause ?? {}).filter((part) => typeof part === 'string');
  const fields = Object.entries(rest).flatMap(([name, value]) =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [`${name}=${value}`] : [],
  );
  return [
    at,
    sequence === null ? '' : String(sequence),
    kind,
    [...fields, ...(by.length === 0 ? [] : [`by ${by.join(' ')}`])].join(' '),
  ];
}

function addDecide(group: Command, session: Session): void {
  const decide = group
    .command('decide <id>')
    .description('records the outcome of a payment in review, as determined by an operator, with the operator’s key')
    .requiredOption('--outcome <outcome>', 'succeeded or failed')
    .requiredOption('--reason <text>', 'the evidence for the outcome')
    .option('--change <id>', 'the refund, capture or cancellation to decide; without it, the payment itself')
    .option('--charge <id>', 'the charge at the processor, for a success without one')
    .option('--amount <amount>', 'the captured amount, for example 6.00; the default is the requested amount')
    .option('--override', 'decide although the processor’s books cannot be read')
    .option('--dry-run', 'show what would be posted');
  addAccess(decide);
  const ask = askerOf(session, decide);
  decide.action(async (id: string, { outcome, reason, change, charge, amount: text, override, dryRun }: Decision) => {
    const amount = text === undefined ? undefined : minorUnits('--amount', text, await currencyOf(session, decide, id));
    const given = { change, charge_id: charge, amount, override, dry_run: dryRun };
    const body = {
      outcome,
      reason,
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    };
    const document = await ask('POST', `/v1/admin/payments/${encodeURIComponent(id)}/resolve`, body);
    const { object, id: about, status } = readAnswer(decided.partial({ id: true }), document);
    if (object === 'approval') {
      session.show(document, [`${about ?? ''} waits for a second person.`]);
      return;
    }
    session.show(document, [
      about === undefined ? `Nothing was written: see --json.` : `${about} is ${status ?? object}.`,
    ]);
  });
}

/** The currency of a payment, which the operator's key finds by its tenant and mode. */
async function currencyOf(session: Session, command: Command, id: string): Promise<string> {
  const about = encodeURIComponent(id);
  const first = await askerOf(session, command)('GET', `/v1/admin/payments/${about}/timeline?limit=1`);
  const { tenant, livemode } = readAnswer(owned, first);
  const ofTenant = { 'payonce-tenant': `${tenant}/${livemode ? 'live' : 'test'}` };
  const document = await askerOf(session, command, OPERATOR, ofTenant)('GET', `/v1/payments/${about}`);
  return readAnswer(payment, document).currency;
}

function paymentLines(found: readonly z.infer<typeof payment>[]): readonly string[] {
  if (found.length === 0) return ['No payments.'];
  const rows = found.map(({ id, status, amount, currency, reference, created, failure, processor }) => [
    id,
    failure === null ? status : `${status} (${failure.code})`,
    shownAmount(amount, currency),
    isoTime(created * 1000),
    processor.charge_id ?? '',
    reference ?? '',
  ]);
  return table(['PAYMENT', 'STATUS', 'AMOUNT', 'CREATED', 'CHARGE', 'REFERENCE'], rows);
}
