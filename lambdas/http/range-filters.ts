import * as z from 'zod';
import { CURRENCIES, isCurrency } from '../kernel/currency.ts';
import { described, wholeNumber } from './validate.ts';

/* Filters that few callers use. They are not in `lists.ts`, because functions load that file at startup. */

const NEEDS_RANGE = 'needs `created_from` and `created_to`, at most 31 days after `created_from`.';

export const emailFilter = (subject: string) =>
  z
    .string()
    .regex(/^[\x21-\x3f\x41-\x7e]{1,64}@[\x21-\x3f\x41-\x7e]{1,189}$/, 'must be an e-mail address')
    .optional()
    .meta({
      description: `Only ${subject}; case-insensitive.`,
      example: 'ada@example.com',
    });

export const amountFilter = (max: number) =>
  wholeNumber(
    1,
    max,
    `Only objects with this requested amount, in minor units of any currency. The filter ${NEEDS_RANGE}`,
  );

/** Accepts currencies that ISO 4217 has withdrawn, too. */
export const currencyFilter = z
  .string('must be a string')
  .refine(isCurrency, 'must be the code of a currency, for example EUR')
  .meta({ description: 'ISO 4217, upper case.', enum: [...CURRENCIES], example: 'EUR' });

export const RANGE_MESSAGE = 'needs created_from and created_to, at most 31 days apart';
const LONGEST_RANGE_SECONDS = 31 * 24 * 60 * 60;

interface Range {
  readonly created_from?: number | undefined;
  readonly created_to?: number | undefined;
}

export function hasShortRange({ created_from: from, created_to: to }: Range): boolean {
  return from !== undefined && to !== undefined && to - from <= LONGEST_RANGE_SECONDS;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Refuses days before 1970, because the sort keys of lists contain no earlier times. The parsed value is the day's
 * start and end (exclusive), in Unix milliseconds.
 */
export const day = (description: string) =>
  z
    .string('must be a string')
    .refine((text) => startOfDay(text) !== undefined, 'must be a day in the form YYYY-MM-DD, for example 2026-03-01')
    .refine((text) => (startOfDay(text) ?? 0) >= 0, 'must be 1970-01-01 or later')
    .transform((text) => {
      const fromMs = startOfDay(text) ?? 0;
      return { fromMs, untilMs: fromMs + DAY_MS };
    })
    .meta({
      description: `${description} Days before 1970-01-01 are refused.`,
      ...described({ type: 'string', format: 'date' }),
    });

export function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 'YYYY-MM-DD'.length);
}

/** @returns Unix milliseconds; undefined when the day does not exist */
function startOfDay(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) || dayText(ms) !== text ? undefined : ms;
}
