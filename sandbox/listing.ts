import * as z from 'zod';
import type { ChargeList } from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { Books, Place } from './books.ts';
import { BadRequest, checked } from './requests.ts';

const LONGEST_PERIOD_SECONDS = 31 * 24 * 60 * 60;

/** The last second of the year 9999. The days' partition keys have four digits for the year. */
const MAX_UNIX_SECONDS = 253_402_300_799;

const unixSeconds = z
  .string()
  .regex(/^\d{1,12}$/, 'must be Unix seconds')
  .transform(Number)
  .refine((value) => value <= MAX_UNIX_SECONDS, 'is after the year 9999');

const filters = z.union([
  z.strictObject({ key: z.string() }),
  z.strictObject({ payment: z.string() }),
  z.strictObject({ created_from: unixSeconds, created_to: unixSeconds, cursor: z.string().optional() }),
]);

export async function listCharges(books: Books, query: Readonly<Record<string, string>>): Promise<ChargeList> {
  const parsed = filters.safeParse(query);
  if (!parsed.success) {
    throw new BadRequest(
      'invalid_request',
      'Set either key, or payment, or created_from and created_to in Unix seconds.',
    );
  }
  const filter = parsed.data;
  if ('key' in filter) {
    return { data: await books.chargesOfKey(filter.key), next: null };
  }
  if ('payment' in filter) {
    return { data: await books.chargesOfPayment(filter.payment), next: null };
  }
  const { created_from: from, created_to: to, cursor } = filter;
  if (to < from || to - from > LONGEST_PERIOD_SECONDS) {
    throw new BadRequest('invalid_request', 'created_to must be 0 to 31 days after created_from.');
  }
  const after = cursor === undefined ? undefined : placeOf(cursor);
  if (after !== undefined && (after.created < from || after.created >= to)) {
    throw new BadRequest('invalid_request', 'cursor: belongs to a different list');
  }
  const { charges, more } = await books.chargesOfPeriod({ from, to }, after);
  const last = charges.at(-1);
  return { data: charges, next: more && last !== undefined ? cursorOf(last) : null };
}

const place = z.tuple([z.int().nonnegative(), z.string().regex(/^ch_\w{1,100}$/)]);

/** The cursor is the last charge of a page; the next page begins after it. */
function cursorOf({ created, id }: Place): string {
  return Buffer.from(JSON.stringify([created, id])).toString('base64url');
}

function placeOf(cursor: string): Place {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw new BadRequest('invalid_request', 'cursor: is not a cursor of this list');
  }
  const [created, id] = checked(parsed, place);
  return { created, id };
}
