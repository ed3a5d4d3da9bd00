import { AmbiguousError } from '../../kernel/faults.ts';

/**
 * Checks the pages of a filtered list. Callers request the next page as the `stripe` package's auto-pagination does:
 * with the same parameters and `starting_after`. Stripe documents the order and the cursor of lists, but not for
 * filtered lists. Therefore, each page must contain only new items that match the filter.
 *
 * @param found the items of all pages so far
 * @throws AmbiguousError `processor_answer_unexpected` if a page does not continue the list
 */
export function assertContinues<Item extends { readonly id: string }>(
  found: readonly Item[],
  fits: (item: Item) => boolean,
): void {
  const isNew = new Set(found.map(({ id }) => id)).size === found.length;
  if (isNew && found.every(fits)) return;
  throw new AmbiguousError('processor_answer_unexpected', 'A page of the list does not continue the previous page.');
}
