import { PROCESSOR_ELSEWHERE, RetryableError } from '../../kernel/faults.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import type { BooksIdentity } from '../domain/processor-charge.ts';
import type { Transition } from '../domain/transition.ts';
import { detailsOf } from '../domain/transition.ts';
import type { Processor, ProcessorBooks } from './processor.ts';

export type NoProcessor =
  | 'no_processor_configured'
  /** The payment is in live mode, but the deployment uses processors in test mode only. */
  | 'livemode_not_available'
  /** The order is in test mode, but its shop is a live shop and would reserve real goods. */
  | 'testmode_not_available'
  /** No routing rule selects a processor in the payment's mode. */
  | 'no_processor_for_payment';

export type ChooseProcessor = (payment: {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly currency: string;
}) => Processor | NoProcessor;

export interface KnownProcessors {
  readonly processor: Processor | NoProcessor;
  /**
   * Every processor that this deployment uses, including the processors of earlier payments.
   * @default only `processor`
   */
  readonly processors?: readonly Processor[];
}

/** A payment is never sent to a processor of the other mode. */
export function processorFor(
  { processor, choose }: Pick<KnownProcessors, 'processor'> & { readonly choose?: ChooseProcessor },
  payment: Parameters<ChooseProcessor>[0],
): Processor | NoProcessor {
  const chosen = choose?.(payment) ?? processor;
  return typeof chosen !== 'string' && chosen.mode !== payment.mode ? 'no_processor_for_payment' : chosen;
}

/**
 * Returns the processor that a payment was sent to. The charge exists only there, even if the routing rules have
 * changed since.
 *
 * @returns undefined when this deployment does not call that processor, account and endpoint
 */
export function pinnedProcessor(tools: KnownProcessors, first: Transition): Processor | undefined {
  const { payment } = first;
  const { account, endpoint } = detailsOf(first).processor;
  return knownProcessors(tools).find(
    ({ name, mode, ...each }) =>
      name === payment.processorName && mode === payment.mode && each.account === account && each.endpoint === endpoint,
  );
}

export function processorElsewhere(first: Transition): RetryableError {
  return new RetryableError(PROCESSOR_ELSEWHERE, notCalled(booksOf(first)));
}

export function notCalled({ name, mode, account }: BooksIdentity): string {
  const processor = `${name} in ${mode} mode, account ${account}, at its earlier address`;
  return `This deployment no longer calls the processor of this payment: ${processor}. Its operator must restore it.`;
}

export function knownProcessors({ processor, processors }: KnownProcessors): readonly Processor[] {
  return processors ?? (typeof processor === 'string' ? [] : [processor]);
}

export function belongsToBooks({ first }: { readonly first: Transition }, books: BooksIdentity): boolean {
  const { name, mode, account } = booksOf(first);
  return name === books.name && mode === books.mode && account === books.account;
}

export function booksOf(first: Transition): BooksIdentity {
  const { processorName: name, mode } = first.payment;
  return { name, mode, account: detailsOf(first).processor.account };
}

export function pinnedBooks(
  tools: KnownProcessors & { readonly books: readonly ProcessorBooks[] },
  first: Transition,
): ProcessorBooks | undefined {
  return pinnedProcessor(tools, first) && tools.books.find((each) => belongsToBooks({ first }, each));
}
