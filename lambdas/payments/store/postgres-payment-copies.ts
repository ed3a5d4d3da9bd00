import { parsePaymentId } from '../ids.ts';
import { detailsPut, parseTransition, transitionRow } from './items.ts';
import type { CopiedChain } from './postgres-carrier.ts';

/** The copies of payments. */
export const PAYMENT_COPIES: CopiedChain = {
  owns: (id) => parsePaymentId(id) !== undefined,
  rowOf: (stored) => transitionRow(parseTransition(stored)),
  detailsOf: (tables, stored, details) => detailsPut(tables, parseTransition(stored).payment, details),
};
