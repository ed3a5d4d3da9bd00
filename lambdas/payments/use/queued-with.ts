import type { Digest } from '../../kernel/digest.ts';
import type { Transition } from '../domain/transition.ts';
import { chargesToReturn } from './charge-to-return.ts';
import type { Effect } from './effect-store.ts';
import { holdToEnd } from './hold-to-end.ts';
import { orderToReopen } from './order-to-reopen.ts';

/**
 * The queue entries that are written together with these transitions, whoever writes them.
 *
 * @param first of the payment's chain
 */
export function queuedWith(
  digest: Digest,
  first: Transition,
  transitions: readonly Transition[],
): Pick<Effect, 'toReturn' | 'hold' | 'reopened'> {
  const reopened = orderToReopen(digest, first, transitions);
  return {
    toReturn: chargesToReturn(transitions),
    ...holdToEnd(transitions),
    ...(reopened === undefined ? {} : { reopened }),
  };
}
