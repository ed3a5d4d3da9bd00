/**
 * Encodes the sums and the begun changes of a transition for its row, and decodes them. The encoding is compact,
 * because a row of more than a kilobyte costs more.
 */
import * as z from 'zod';
import { invariant } from '../../kernel/invariant.ts';
import type { BegunChanges, PaymentSums } from '../domain/payment-sums.ts';

/**
 * The order in which the sums are encoded. Sums that are usually zero are last, because zeros at the end are not
 * stored.
 */
const NAMES = [
  'refunds',
  'settledCheck',
  'begunAt',
  'reservedMinor',
  'pendingCheck',
  'holdChanges',
] as const satisfies readonly (keyof PaymentSums)[];

/** Number of buckets in {@link BegunChanges}. Each start and each mark is encoded in two bytes. */
const STARTS = 16;

const bytes = () => z.instanceof(Uint8Array);

/**
 * Parses to undefined if the format is unknown, for example if a later version has written the sums. They are then
 * computed from the whole chain.
 */
export const sumsItem = () => bytes().transform(sumsOf);

function sumsOf(stored: Uint8Array): PaymentSums | undefined {
  const numbers = numbersOf(stored);
  if (numbers.length > NAMES.length) return undefined;
  return Object.fromEntries(NAMES.map((name, place) => [name, numbers[place] ?? 0])) as unknown as PaymentSums;
}

/** Encodes each sum in base 128, lowest digit first. If the highest bit of a byte is set, another digit follows. */
export function sumsBytes(sums: PaymentSums): Uint8Array {
  const stored: number[] = [];
  for (const name of NAMES.slice(0, NAMES.findLastIndex((each) => sums[each] !== 0) + 1)) {
    let left = sums[name];
    invariant(Number.isSafeInteger(left) && left >= 0, `the sum ${name} is ${left}`);
    for (; left >= 128; left = Math.floor(left / 128)) stored.push((left % 128) + 128);
    stored.push(left);
  }
  return Uint8Array.from(stored);
}

function numbersOf(stored: Uint8Array): readonly number[] {
  const numbers: number[] = [];
  let [number, place] = [0, 1];
  for (const byte of stored) {
    number += (byte % 128) * place;
    place *= 128;
    if (byte < 128) {
      numbers.push(number);
      [number, place] = [0, 1];
    }
  }
  return numbers;
}

export const begunItem = () => bytes().transform(begunOf);

function begunOf(stored: Uint8Array): BegunChanges | undefined {
  const pairs = Array.from({ length: stored.length / 2 }, (_, place) => {
    const [high = 0, low = 0] = stored.subarray(2 * place);
    return high * 256 + low;
  });
  return pairs.length <= STARTS ? undefined : { starts: pairs.slice(0, STARTS), marks: pairs.slice(STARTS) };
}

export function begunBytes({ starts, marks }: BegunChanges): Uint8Array {
  const numbers = [...starts, ...marks];
  invariant(Math.max(...numbers) < 2 ** 16, 'a start or a mark needs more than two bytes');
  return Uint8Array.from(numbers.flatMap((number) => [number >> 8, number % 256]));
}
