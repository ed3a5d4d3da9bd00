import { decimalAmount, exampleAmount, parseAmount } from '../lambdas/kernel/currency.ts';
import { apiNowMs } from './clock.ts';

/** Some browsers without a display report `en-US@posix`. */
function preferredLocale(): string {
  const isValid = (tag: string) => /^[a-z]{2,8}(?:-[a-z0-9]{1,8})*$/i.test(tag);
  return (globalThis.navigator?.languages ?? []).find(isValid) ?? 'en';
}

/** Language and region determine separators, and the order of day and month. */
const LOCALE = preferredLocale();

/**
 * The decimals of a currency are not always those of the browser's locale data.
 * @param minor the amount in minor units
 */
export function money(minor: number | null | undefined, currency: string, locale = LOCALE): string {
  if (minor === null || minor === undefined) return '–';
  return `${decimals(minor, currency, locale)} ${currency}`;
}

function decimals(minor: number, currency: string, locale: string): string {
  const text = decimalAmount(minor, currency);
  const digits = text.split('.')[1]?.length ?? 0;
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  // Formats the decimal text, because a JavaScript number cannot represent every amount exactly.
  return new Intl.NumberFormat(locale, format).format(text as Intl.StringNumericLiteral);
}

export function count(value: number, locale = LOCALE): string {
  return new Intl.NumberFormat(locale).format(value);
}

function separatorOf(locale: string): string {
  const parts = new Intl.NumberFormat(locale).formatToParts(1.5);
  return parts.find(({ type }) => type === 'decimal')?.value ?? '.';
}

/**
 * Accepts a point, the decimal separator of the locale, or a comma before one or two decimals. Separators of thousands
 * are refused, because `1.500` and `1,500` mean different amounts in different countries.
 *
 * @returns minor units; undefined when the text is not an amount in this currency
 */
export function enteredAmount(text: string, currency: string, locale = LOCALE): number | undefined {
  const given = text.trim().replace(separatorOf(locale), '.');
  return parseAmount(given.replace(/,(?=\d{1,2}$)/, '.'), currency);
}

export function amountToEnter(minor: number, currency: string, locale = LOCALE): string {
  return decimalAmount(minor, currency).replace('.', separatorOf(locale));
}

/** @param label label of the field */
export function amountWanted(label: string, currency: string, locale = LOCALE): string {
  const example = exampleAmount(currency).replace('.', separatorOf(locale));
  return `${label} must be an amount in ${currency} without separators of thousands, for example ${example}.`;
}

/** @param seconds Unix seconds */
export function localTime(seconds: number, { locale = LOCALE, timeZone }: Local = {}): string {
  const zone = timeZone === undefined ? {} : { timeZone };
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', ...zone }).format(seconds * 1000);
}

interface Local {
  readonly locale?: string;
  /** @default the time zone of the browser */
  readonly timeZone?: string;
}

/** Example: `2026-03-01 12:00:05 UTC`. */
export function utcTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', 'Z').replace('Z', ' UTC');
}

const STEPS = [
  [60, 1, 'second'],
  [3_600, 60, 'minute'],
  [86_400, 3_600, 'hour'],
  [30 * 86_400, 86_400, 'day'],
  [365 * 86_400, 30 * 86_400, 'month'],
  [Infinity, 365 * 86_400, 'year'],
] as const;

/** Examples: `3 hours ago`, `in 2 days`. */
export function relativeTime(seconds: number, nowMs = apiNowMs(), locale = LOCALE): string {
  const distance = seconds - nowMs / 1000;
  const [, length, unit] = STEPS.find(([below]) => Math.abs(distance) < below) ?? STEPS[5];
  return new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(Math.trunc(distance / length), unit);
}

/** UTC, for example `2026-03-01`. @param seconds Unix seconds */
export function dayOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/** The days are in UTC. They follow the API's clock. */
export function usualRanges(nowMs = apiNowMs()): readonly (readonly [name: string, from: string, to: string])[] {
  const now = new Date(nowMs);
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const day = (...parts: readonly [year: number, month: number, date: number]) => dayOf(Date.UTC(...parts) / 1000);
  return [
    ['Last month', day(year, month - 1, 1), day(year, month, 0)],
    ['This month', day(year, month, 1), day(year, month, date)],
    ['Yesterday', day(year, month, date - 1), day(year, month, date - 1)],
  ];
}

/** Returns Unix seconds: for the last day, the end of the day, because the ends of the API's ranges are exclusive. */
export function dayToSend(day: string, end: DayOfRange): number {
  return Date.parse(day) / 1000 + (end === 'last' ? DAY_SECONDS : 0);
}

/** Inverts {@link dayToSend}. @param seconds Unix seconds */
export function sentDay(seconds: number, end: DayOfRange): string {
  return dayOf(seconds - (end === 'last' ? DAY_SECONDS : 0));
}

/** A range includes both days. */
export type DayOfRange = 'first' | 'last';

const DAY_SECONDS = 86_400;

/** Example: `Mar 1`. @param day for example `2026-03-01` */
export function shortDay(day: string, locale = LOCALE): string {
  const format = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return format.format(Date.parse(day));
}

export function age(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** Example: `needs review` for `needs_review`. */
export function words(name: string): string {
  return name.replaceAll(/[_.]/g, ' ');
}

/** A change that the processor accepted may still be pending. */
export function callResult(call: 'send' | 'look', result: string): string {
  if (result !== 'applied') return words(result);
  return call === 'send' ? 'accepted' : 'found';
}

/** @param keys the names of keys by their ids, as far as they are known */
export function cause(
  by: Readonly<Record<string, unknown>> | undefined,
  keys: ReadonlyMap<string, string> = new Map(),
): string {
  const { type, operator, request_id: request, run_id: run, event_id: event, api_key: key } = by ?? {};
  if (typeof key === 'string') return keys.has(key) ? `key ${keys.get(key)} (${key})` : `key ${key}`;
  if (typeof operator === 'string') return operator;
  return [type, operator, request ?? run ?? event].filter((part) => typeof part === 'string').join(' ');
}

/**
 * @param above the limits in minor units by currency, with `*` for all other currencies. The amount of `*` depends on
 * the decimals of the currency.
 */
export function limitText(above: Readonly<Record<string, number>>, locale = LOCALE): string {
  const { '*': others, ...named } = above;
  const limits = Object.entries(named).map(([currency, minor]) => money(minor, currency, locale));
  const hasNamed = limits.length > 0;
  if (others === undefined) return hasNamed ? `${limits.join(' or ')}, and all in other currencies,` : 'zero';
  const [two, none, three] = ['EUR', 'JPY', 'KWD'].map((currency) => decimals(others, currency, locale));
  return [
    ...limits,
    `${two} in ${hasNamed ? 'other ' : ''}currencies with two decimals`,
    `${none} in those without decimals`,
    `or ${three} in those with three decimals`,
  ].join(', ');
}

const QUEUE_TITLES: ReadonlyMap<string, string> = new Map([
  ['claims', 'Open claims'],
  ['inquiries', 'Unknown outcomes'],
  ['returns', 'Charges to refund or void'],
  ['orders', 'Open orders'],
  ['holds', 'Uncaptured holds'],
  ['orphans', 'Callbacks without a payment'],
  ['unmatched_callbacks', 'Unmatched callbacks'],
  ['Jobs-Missed', 'Missed job runs'],
  ['Archive-Parked', 'Records not archived'],
  ['Events-Parked', 'Records not published'],
  ['Vendors-DeadLetters', 'Failed calls to vendors'],
]);

/** Keyed by the names of the queues without `-Queue` or `-DeadLetters`. */
const TASK_TITLES: ReadonlyMap<string, string> = new Map([
  ['FollowUps-CommissionEvents-Tasks', 'Commissions'],
  ['FollowUps-ReceiptEvents-Tasks', 'Receipts'],
  ['Intake-Tasks', 'Payment requests'],
  ['Jobs-PaymentRuns-Tasks', 'Runs of payment jobs'],
  ['Jobs-Targets-Calls', 'Job calls to other services'],
  ['Jobs-UpkeepRuns-Tasks', 'Runs of other jobs'],
  ['NatsBridge-Tasks', 'Events for NATS'],
  ['Parties-DelayedCalls', 'Delayed calls to vendors'],
  ['Views-Events-Tasks', 'Updates of lists and balances'],
  ['Webhooks-Events-Tasks', 'Events for webhooks'],
  ['Webhooks-Lanes', 'Deliveries to failing endpoints'],
  ['Webhooks-Tasks', 'Webhook deliveries'],
]);

/** A queue that this console does not know is shown under its own name. */
export function queueTitle(id: string): string {
  const [, name = '', end] = /^(.+)-(Queue|DeadLetters)$/.exec(id) ?? [];
  const [, sender] = /^Intake-Queue-(.+)$/.exec(name) ?? [];
  const tasks = sender === undefined ? TASK_TITLES.get(name) : `Payment requests of ${sender}`;
  const title = QUEUE_TITLES.get(id) ?? tasks;
  if (title === undefined || tasks === undefined) return title ?? id;
  return end === 'DeadLetters' ? `${title}: dead letters` : title;
}
