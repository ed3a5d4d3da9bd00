import { exampleAmount, shownAmount } from '../lambdas/kernel/currency.ts';

/**
 * Formats an amount.
 * @param minor the amount in minor units
 */
export function money(minor: number | null | undefined, currency: string): string {
  return minor === null || minor === undefined ? '–' : shownAmount(minor, currency);
}

/**
 * Returns the error message for an invalid amount.
 * @param label label of the field
 */
export function amountWanted(label: string, currency: string): string {
  return `${label} must be an amount in ${currency} without separators, for example ${exampleAmount(currency)}.`;
}

/**
 * Formats a time.
 * @param seconds Unix seconds
 */
export function time(seconds: number | null | undefined): string {
  return seconds === null || seconds === undefined ? '–' : new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

/**
 * Formats the day of a time, in UTC, as `2026-03-01`.
 * @param seconds Unix seconds
 */
export function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/**
 * Formats a duration.
 * @param seconds the duration in seconds
 */
export function age(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** Describes the cause of a transition or an action. */
export function cause(by: Readonly<Record<string, unknown>> | undefined): string {
  const { type, operator, request_id: request, run_id: run, event_id: event } = by ?? {};
  return [type, operator, request ?? run ?? event].filter((part) => typeof part === 'string').join(' ');
}

const QUEUE_TITLES: ReadonlyMap<string, string> = new Map([
  ['claims', 'Open claims'],
  ['inquiries', 'Unknown outcomes'],
  ['returns', 'Charges to return'],
  ['orders', 'Open orders'],
  ['holds', 'Uncaptured holds'],
  ['orphans', 'Callbacks without a payment'],
  ['unmatched_callbacks', 'Unmatched callbacks'],
]);

/** Returns the title of a queue of unfinished work. A queue of messages is shown under its own name. */
export function queueTitle(id: string): string {
  return QUEUE_TITLES.get(id) ?? id;
}
