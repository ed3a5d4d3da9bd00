import type { Transition } from '../domain/transition.ts';
import { detailsOf } from '../domain/transition.ts';
import type { Processor, ProcessorBooks } from './processor.ts';

export interface KnownProcessors {
  /** Where a new charge goes. */
  readonly processor: Processor;
  /** Further ones, to which earlier payments may have been sent. @default none */
  readonly others?: readonly Processor[];
}

/**
 * Where a payment was sent, whatever the rules say by now: its charge is there and nowhere else.
 *
 * @returns undefined when this deployment does not call it
 */
export function pinnedProcessor({ processor, others = [] }: KnownProcessors, first: Transition): Processor | undefined {
  const { account, endpoint } = detailsOf(first).processor;
  return [processor, ...others].find(
    (each) => each.name === first.payment.processorName && each.account === account && each.endpoint === endpoint,
  );
}

/** The books of that place. @returns undefined when this deployment does not call it */
export function pinnedBooks(
  tools: KnownProcessors & { readonly books: readonly ProcessorBooks[] },
  first: Transition,
): ProcessorBooks | undefined {
  const processor = pinnedProcessor(tools, first);
  return tools.books.find(({ name, account }) => name === processor?.name && account === processor.account);
}
