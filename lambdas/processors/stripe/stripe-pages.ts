import { AmbiguousError } from '../../kernel/faults.ts';

/**
 * The pages of a filtered list are read as the package reads them: with the same parameters and `starting_after`.
 * Stripe documents the order and the cursor of a list, but not that both hold within a filter, so each page must be new
 * and match the filter.
 *
 * @param found all pages so far
 * @throws AmbiguousError `processor_answer_unexpected` if a page does not continue the list
 */
export function refuseOtherPages<Item extends { readonly id: string }>(
  found: readonly Item[],
  fits: (item: Item) => boolean,
): void {
  const isNew = new Set(found.map(({ id }) => id)).size === found.length;
  if (isNew && found.every(fits)) return;
  throw new AmbiguousError('processor_answer_unexpected', 'A page of a list does not continue it.');
}
