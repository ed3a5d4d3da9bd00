import * as z from 'zod';
import { shownAmount } from '../lambdas/kernel/currency.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { minorUnits } from './amount.ts';
import { type ApiCall, listing, money, statusWith, time } from './api-command.ts';
import { createApiCaller, OPERATOR, readAnswer } from './operator-api.ts';
import { table } from './session.ts';

const entry = z.looseObject({
  at: z.string(),
  kind: z.string(),
  sequence: z.int().nullable(),
  caused_by: z.looseObject({ type: z.string() }).optional(),
});
const timeline = z.looseObject({ data: z.array(entry), next_sequence: z.int().nullable() });
const owned = z.looseObject({ tenant: z.string(), livemode: z.boolean() });
const inCurrency = z.looseObject({ currency: z.string() });
const decided = z.looseObject({ id: z.string(), object: z.string(), status: z.string().optional() });
const preview = z.looseObject({
  payment: z.string(),
  payment_status: z.string(),
  needs_approval: z.boolean(),
  postings: z.array(
    z.looseObject({ account: z.string(), direction: z.string(), amount: z.int(), currency: z.string() }),
  ),
});

export const paymentLines = listing('No payments.', {
  PAYMENT: 'id',
  STATUS: statusWith('failure.code'),
  AMOUNT: money,
  CREATED: time('created'),
  CHARGE: 'processor.charge_id',
  REFERENCE: 'reference',
});

export async function showTimeline({ session, args: [id], send }: ApiCall): Promise<void> {
  const data: z.infer<typeof entry>[] = [];
  let after: number | null = 0;
  while (after !== null) {
    const page: z.infer<typeof timeline> = readAnswer(timeline, await send({ starting_after: after }));
    data.push(...page.data);
    after = page.next_sequence;
  }
  session.show({ object: 'timeline', payment: id, data }, table(['TIME', 'STEP', 'WHAT', 'DETAILS'], data.map(lineOf)));
}

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

/** The option `--amount` is in the payment's currency. */
export async function decide(call: ApiCall): Promise<void> {
  const { amount: text, dryRun = false } = call.command.opts<{ readonly amount?: string; readonly dryRun?: boolean }>();
  const amount = text === undefined ? undefined : minorUnits('--amount', text, await currencyOf(call));
  const document = await call.send(defined({ amount }));
  if (dryRun) return call.session.show(document, previewLines(readAnswer(preview, document)));
  call.session.show(document, [outcomeLine(document)]);
}

/** The option `--amount` is in the payment's currency. */
export async function change(call: ApiCall): Promise<void> {
  const { amount: text } = call.command.opts<{ readonly amount?: string }>();
  const amount = text === undefined ? undefined : minorUnits('--amount', text, await currencyOf(call));
  const document = await call.send(defined({ amount }));
  call.session.show(document, [outcomeLine(document)]);
}

function outcomeLine(document: unknown): string {
  const { object, id, status = object } = readAnswer(decided, document);
  return object === 'approval' ? `${id} waits until a second person approves it.` : `${id} is ${status}.`;
}

export function previewLines({
  payment,
  payment_status: status,
  needs_approval: needsApproval,
  postings,
}: z.infer<typeof preview>): readonly string[] {
  const approval = needsApproval ? 'once a second person approves' : 'without an approval';
  const rows = postings.map(({ account, direction, amount, currency }) => [
    account,
    direction,
    shownAmount(amount, currency),
  ]);
  return [
    `Dry run: the status of ${payment} would become ${status}, ${approval}.`,
    ...(rows.length === 0 ? ['No postings.'] : table(['ACCOUNT', 'DIRECTION', 'AMOUNT'], rows)),
  ];
}

/** Operators can read a payment only with its tenant and mode, so the timeline is read first: it contains both. */
async function currencyOf({ session, command, ask, args: [id = ''] }: ApiCall): Promise<string> {
  const about = encodeURIComponent(id);
  const first = await ask('GET', `/v1/admin/payments/${about}/timeline?limit=1`);
  const { tenant, livemode } = readAnswer(owned, first);
  const ofTenant = { 'payonce-tenant': `${tenant}/${livemode ? 'live' : 'test'}` };
  const document = await createApiCaller(session, command, OPERATOR, ofTenant)('GET', `/v1/payments/${about}`);
  return readAnswer(inCurrency, document).currency;
}
