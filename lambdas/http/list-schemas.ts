import * as z from 'zod';
import { PUBLIC_EVENT_TYPES } from '../events/domain/event.ts';
import { PAYMENT_STATUSES } from '../payments/domain/payment.ts';
import { wholeNumber } from '../payments/http/payment-schemas.ts';

/** What the lists take that are shown newest first. The API's documents are made from these same schemas. */

const MAX_PAGE = 100;
export const DEFAULT_LIST_PAGE = 10;
/** Unix seconds have ten digits until the year 2286. */
const LAST_SECOND = 9_999_999_999;

const cursor = (what: string, where: string) =>
  z
    .string()
    .max(100, `must be the id of one of your ${what}`)
    .optional()
    .meta({ description: `The \`id\` of one of your ${what}: ${where}` });

const pageOf = (what: string) => ({
  created_from: wholeNumber(0, LAST_SECOND, 'Unix seconds, inclusive.'),
  created_to: wholeNumber(0, LAST_SECOND, 'Unix seconds, exclusive.'),
  limit: wholeNumber(1, MAX_PAGE, `How many ${what} at most; ${DEFAULT_LIST_PAGE} when left out.`),
  starting_after: cursor(what, 'the page begins behind it, at what is older.'),
  ending_before: cursor(what, 'the page ends right before it, at what is newer. This or `starting_after`.'),
});

const ONE_CURSOR = { path: ['ending_before'], message: 'must not be given together with starting_after' };

interface Cursors {
  readonly starting_after?: string | undefined;
  readonly ending_before?: string | undefined;
}

function hasOneCursor({ starting_after: after, ending_before: before }: Cursors): boolean {
  return after === undefined || before === undefined;
}

export const paymentsQuery = z
  .strictObject({
    status: z
      .enum(PAYMENT_STATUSES, `must be one of ${PAYMENT_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only payments that stand so.' }),
    reference: z
      .string()
      .min(1, 'must not be empty')
      .max(255, 'must be at most 255 characters')
      .optional()
      .meta({ description: 'Only payments with this `reference` of yours, those that have failed included.' }),
    ...pageOf('payments'),
  })
  .refine(hasOneCursor, ONE_CURSOR);

export const eventsQuery = z
  .strictObject({
    type: z
      .enum(PUBLIC_EVENT_TYPES, `must be one of ${PUBLIC_EVENT_TYPES.join(', ')}`)
      .optional()
      .meta({ description: 'Only events of this type.' }),
    ...pageOf('events'),
  })
  .refine(hasOneCursor, ONE_CURSOR);
