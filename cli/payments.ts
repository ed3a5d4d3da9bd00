import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { addAccess, askerOf, readAnswer, TENANT } from './operator-api.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

const MOST = 100;

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
const timeline = z.object({
  data: z.array(
    z.object({
      sequence: z.int(),
      type: z.string(),
      created: z.int(),
      caused_by: z.looseObject({ type: z.string() }),
      subject: z.looseObject({ id: z.string(), reason: z.string().nullable() }).nullable(),
    }),
  ),
});
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
  readonly amount?: number;
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
    .option('--most <n>', `how many, 1 to ${MOST}`, readCountOf(MOST), 20)
    .addHelpText('after', '\nExample: payonce payments list --local --status needs_review');
  addAccess(list, TENANT);
  const askList = askerOf(session, list, TENANT);
  list.action(async ({ status, reference, most }: Filters) => {
    const query = new URLSearchParams({ limit: String(most) });
    for (const [name, value] of Object.entries({ status, reference })) if (value !== undefined) query.set(name, value);
    const document = await askList('GET', `/v1/payments?${query.toString()}`);
    session.show(document, paymentLines(readAnswer(payments, document).data));
  });

  const show = group.command('show <id>').description('shows a payment as it is now');
  addAccess(show, TENANT);
  const askShow = askerOf(session, show, TENANT);
  show.action(async (id: string) => {
    const document = await askShow('GET', `/v1/payments/${encodeURIComponent(id)}`);
    session.show(document, paymentLines([readAnswer(payment, document)]));
  });

  const history = group
    .command('timeline <id>')
    .description('shows what happened to a payment, each step with its time and its cause');
  addAccess(history, TENANT);
  const askHistory = askerOf(session, history, TENANT);
  history.action(async (id: string) => {
    const document = await askHistory('GET', `/v1/payments/${encodeURIComponent(id)}/transitions`);
    const rows = readAnswer(timeline, document).data.map(({ sequence, type, created, caused_by: cause, subject }) => [
      String(sequence),
      isoTime(created * 1000),
      type,
      cause.type,
      subject?.id ?? '',
      subject?.reason ?? '',
    ]);
    session.show(document, table(['STEP', 'TIME', 'WHAT', 'CAUSE', 'ABOUT', 'REASON'], rows));
  });

  addDecide(group, session);
}

function addDecide(group: Command, session: Session): void {
  const decide = group
    .command('decide <id>')
    .description('records the outcome of a payment in review, which an operator found out, with the operator’s key')
    .requiredOption('--outcome <outcome>', 'succeeded or failed')
    .requiredOption('--reason <text>', 'how it is known')
    .option('--change <id>', 'the refund, capture or cancellation to decide; without it, the payment itself')
    .option('--charge <id>', 'the charge at the processor, for a success without one')
    .option('--amount <minor units>', 'the amount to post; the default is the requested amount', readAmount)
    .option('--dry-run', 'show what would be posted')
    .addHelpText(
      'after',
      '\nExample: payonce payments decide pay_… --outcome failed --reason "Not on the bank statement" --dry-run',
    );
  addAccess(decide);
  const ask = askerOf(session, decide);
  decide.action(async (id: string, { outcome, reason, change, charge, amount, dryRun }: Decision) => {
    const given = { change, charge_id: charge, amount, dry_run: dryRun };
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

function paymentLines(found: readonly z.infer<typeof payment>[]): readonly string[] {
  if (found.length === 0) return ['No payments.'];
  const rows = found.map(({ id, status, amount, currency, reference, created, failure, processor }) => [
    id,
    failure === null ? status : `${status} (${failure.code})`,
    `${amount} ${currency}`,
    isoTime(created * 1000),
    processor.charge_id ?? '',
    reference ?? '',
  ]);
  return table(['PAYMENT', 'STATUS', 'MINOR UNITS', 'CREATED', 'CHARGE', 'REFERENCE'], rows);
}

function readAmount(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`${text} is not an amount in minor units, for example 600.`);
}
