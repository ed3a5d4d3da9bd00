import type { CopiedChain } from '../../payments/store/postgres-carrier.ts';
import { parseOrderId } from '../ids.ts';
import { contactsPut, orderTransitionRow, parseOrderTransition } from './order-items.ts';

/** The copies of orders. */
export const ORDER_COPIES: CopiedChain = {
  owns: (id) => parseOrderId(id) !== undefined,
  rowOf: (stored) => orderTransitionRow(parseOrderTransition(stored)),
  detailsOf: (tables, stored, details) => contactsPut(tables, parseOrderTransition(stored).order, details),
};
