/**
 * Sums over the changes to a payment. Each transition stores the sums after it, so that a decision about the next
 * change only needs the newest transition instead of the whole chain. The captured and refunded amounts and the
 * disputes are stored in the payment itself.
 */
import type { HoldChange, Payment, Refund } from './payment.ts';

/**
 * The sums contain only numbers, so their size does not grow with the number of refunds.
 */
export interface PaymentSums {
  /** Sum of the pending refunds of the payment's own charge, in minor units. This amount is reserved. */
  readonly reservedMinor: number;
  /** Number of refunds of all charges, including failed refunds. */
  readonly refunds: number;
  /** Number of captures and cancellations that have no outcome according to their own transitions. */
  readonly holdChanges: number;
  /**
   * Checksum of the succeeded refunds of the payment's own charge. Used to check whether a processor's books contain
   * the same refunds.
   */
  readonly settledCheck: number;
  /** Checksum of the pending refunds of the payment's own charge. */
  readonly pendingCheck: number;
  /** Sequence number of the newest transition with {@link BegunChanges}; 0 if there is none. */
  readonly begunAt: number;
}

export const NO_SUMS: PaymentSums = {
  reservedMinor: 0,
  refunds: 0,
  holdChanges: 0,
  settledCheck: 0,
  pendingCheck: 0,
  begunAt: 0,
};

const CHECKS = 2 ** 28;

function checkOf({ refundId, amountMinor }: Pick<Refund, 'refundId' | 'amountMinor'>): number {
  return hash32(`${refundId} ${amountMinor}`) % CHECKS;
}

/** Independent of the order of the refunds. */
export function checksumOf(refunds: readonly Pick<Refund, 'refundId' | 'amountMinor'>[]): number {
  return refunds.reduce((sum, refund) => (sum + checkOf(refund)) % CHECKS, 0);
}

export function checksumWithout(
  checksum: number,
  refunds: readonly Pick<Refund, 'refundId' | 'amountMinor'>[],
): number {
  return (checksum + CHECKS - checksumOf(refunds)) % CHECKS;
}

export function withRefund(
  sums: PaymentSums,
  chargeId: Payment['chargeId'],
  before: Refund | undefined,
  after: Refund,
): PaymentSums {
  const removed = before === undefined ? sums : counted(sums, chargeId, before, -1);
  return counted(removed, chargeId, after, 1);
}

function counted(sums: PaymentSums, chargeId: Payment['chargeId'], refund: Refund, times: 1 | -1): PaymentSums {
  const all = { ...sums, refunds: sums.refunds + times };
  if (refund.chargeId !== chargeId) return all;
  const checked = (sum: number) => (times === 1 ? (sum + checkOf(refund)) % CHECKS : checksumWithout(sum, [refund]));
  switch (refund.status) {
    case 'succeeded':
      return { ...all, settledCheck: checked(sums.settledCheck) };
    case 'pending':
      return {
        ...all,
        reservedMinor: sums.reservedMinor + times * refund.amountMinor,
        pendingCheck: checked(sums.pendingCheck),
      };
    case 'failed':
      return all;
  }
}

export function withHoldChange(sums: PaymentSums, before: HoldChange | undefined, after: HoldChange): PaymentSums {
  const pending = (change: HoldChange | undefined) => (change?.status === 'pending' ? 1 : 0);
  return { ...sums, holdChanges: sums.holdChanges + pending(after) - pending(before) };
}

/** Needed when another charge has become the payment's own charge. */
export function withRefundsRecounted(
  sums: PaymentSums,
  chargeId: Payment['chargeId'],
  refunds: Iterable<Refund>,
): PaymentSums {
  const { holdChanges, begunAt } = sums;
  let again: PaymentSums = { ...NO_SUMS, holdChanges, begunAt };
  for (const refund of refunds) again = withRefund(again, chargeId, undefined, refund);
  return again;
}

// ---------------------------------------------------------------------------------------------------------- begun changes

/**
 * A hash table of the operations that have begun a change to a payment, stored in the payment's chain. It prevents an
 * operation from taking effect a second time after the record of its idempotency key has expired, because then only the
 * chain shows that the operation has begun. Each transition that begins a change contains the marks (short hashes) of
 * its own bucket, and for every bucket the number of the transition with the newest marks. Therefore, reading one
 * further row is enough to find out whether an operation has begun.
 */
export interface BegunChanges {
  /** For each bucket, the sequence number of the newest transition that began a change in it; 0 if there is none. */
  readonly starts: readonly number[];
  /** The marks of all changes in this transition's bucket. */
  readonly marks: readonly number[];
}

export interface Bucket {
  readonly start: number;
  /** Undefined if the marks of this bucket were not read. */
  readonly marks: readonly number[] | undefined;
}

const BUCKETS = 16;
const MARKS = 2 ** 16;
/**
 * Maximum number of marks that a transition's row contains, so that the row stays below one kilobyte. With 500 refunds,
 * a bucket has about 31 marks.
 */
const MAX_MARKS = 80;

export const NO_BUCKETS: readonly Bucket[] = Array.from({ length: BUCKETS }, () => ({ start: 0, marks: [] }));

function bucketOf(operationId: string): number {
  return hash32(operationId) % BUCKETS;
}

function markOf(operationId: string): number {
  return Math.floor(hash32(operationId) / BUCKETS) % MARKS;
}

/** Returns the sequence number of the transition that shows whether an operation has begun; 0 if it has not begun. */
export function startOf({ starts }: BegunChanges, operationId: string): number {
  return starts[bucketOf(operationId)] ?? 0;
}

/** False positives are rare: another operation can have the same mark. */
export function mayHaveBegun(marks: BegunChanges['marks'], operationId: string): boolean {
  return marks.includes(markOf(operationId));
}

/**
 * @param starts `starts` of the newest transition that began a change
 * @param marks `marks` of the bucket of `operationId`
 */
export function bucketsFor(
  operationId: string,
  { starts }: Pick<BegunChanges, 'starts'>,
  marks: BegunChanges['marks'],
): readonly Bucket[] {
  return starts.map((start, place) => ({ start, marks: place === bucketOf(operationId) ? marks : undefined }));
}

export function withBegun(buckets: readonly Bucket[], operationId: string, sequence: number): readonly Bucket[] {
  const { marks } = buckets[bucketOf(operationId)] ?? { marks: undefined };
  return buckets.with(bucketOf(operationId), {
    start: sequence,
    marks: marks === undefined ? undefined : [...marks, markOf(operationId)],
  });
}

/** @returns undefined when the marks are unknown or too many; later decisions then read the whole chain */
export function storedBegun(buckets: readonly Bucket[], sequence: number): BegunChanges | undefined {
  const marks = buckets.find(({ start }) => start === sequence)?.marks;
  if (marks === undefined || marks.length > MAX_MARKS) return undefined;
  return { starts: buckets.map(({ start }) => start), marks };
}

/**
 * Returns a 32-bit hash of a text: FNV-1a (Fowler, Noll, Vo) with a finalizer. Stored rows contain such hashes, so the
 * function must never change. They serve only as checksums, buckets and marks; no amount depends on them.
 */
function hash32(text: string): number {
  let bits = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) bits = Math.imul(bits ^ text.charCodeAt(at), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
