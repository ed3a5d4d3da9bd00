import { defined } from '../../kernel/defined.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { startOf } from '../domain/payment-sums.ts';
import type { Transition } from '../domain/transition.ts';
import type { PaymentEnds } from '../use/payment-store.ts';

/** Reads transitions of one chain, without personal data. */
interface ChainRows {
  /** Reads a few of the newest transitions, newest first. */
  newest(): Promise<readonly Transition[]>;
  at(sequences: readonly number[]): Promise<readonly Transition[]>;
}

/** Reads, in at most three calls, the transitions that are needed to decide on a change. */
export async function readEnds(rows: ChainRows, operationId: OperationId): Promise<PaymentEnds | undefined> {
  const found = await rows.newest();
  const transitions = found.toReversed();
  const [first] = transitions;
  const newest = transitions.at(-1);
  if (first === undefined || newest === undefined) return undefined;
  if (first.sequence === 1) return { first, newest, transitions };
  const known = new Map(found.map((each) => [each.sequence, each]));
  const read = async (...sequences: readonly number[]): Promise<void> => {
    const missing = new Set(sequences.filter((sequence) => sequence > 0 && !known.has(sequence)));
    if (missing.size === 0) return;
    for (const each of await rows.at([...missing])) known.set(each.sequence, each);
  };
  const { begunAt = 0 } = newest.sums ?? {};
  // Rarely needs a call: the newest transitions nearly always include the last one that began a change.
  await read(begunAt);
  const beginning = known.get(begunAt);
  const start = beginning?.begun === undefined ? 0 : startOf(beginning.begun, operationId);
  await read(1, start);
  const whole = known.get(1);
  invariant(whole !== undefined, 'a payment with transitions has no first transition');
  return { first: whole, newest, ...defined({ beginning, ofBucket: known.get(start) }) };
}
