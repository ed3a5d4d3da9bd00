import type { Transition } from '../domain/transition.ts';
import { detailsOf } from '../domain/transition.ts';
import type { Processor, ProcessorBooks } from './processor.ts';

export interface KnownProcessors {
  /** The processor of new charges. */
  readonly processor: Processor;
  /** Every processor that this deployment calls: earlier payments were sent to them. @default `processor` alone */
  readonly processors?: readonly Processor[];
}

/**
 * The processor that a payment was sent to. Its charge exists only there, even if the routing rules have changed since.
 *
 * @returns undefined when this deployment does not call that processor, account and endpoint
 */
export function pinnedProcessor(
  { processor, processors = [processor] }: KnownProcessors,
  first: Transition,
): Processor | undefined {
  const { account, endpoint } = detailsOf(first).processor;
  return processors.find(
    (each) => each.name === first.payment.processorName && each.account === account && each.endpoint === endpoint,
  );
}

/** The books of the payment's processor. @returns undefined when this deployment does not call that processor */
export function pinnedBooks(
  tools: KnownProcessors & { readonly books: readonly ProcessorBooks[] },
  first: Transition,
): ProcessorBooks | undefined {
  const processor = pinnedProcessor(tools, first);
  return tools.books.find(({ name, account }) => name === processor?.name && account === processor.account);
}
