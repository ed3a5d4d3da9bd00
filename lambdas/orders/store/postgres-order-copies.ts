import { EmailRow } from '../../kernel/contract/rows.ts';
import { detailsItem, emailAttributes } from '../../once/store/details-rows.ts';
import type { CopiedChain } from '../../payments/store/postgres-carrier.ts';
import { parseOrderId } from '../ids.ts';
import { orderTransitionRow, parseOrderTransition } from './order-items.ts';

/** The copies of orders. */
export const ORDER_COPIES: CopiedChain = {
  owns: (id) => parseOrderId(id) !== undefined,
  rowOf: (stored) => orderTransitionRow(parseOrderTransition(stored)),
  detailsOf: (tables, stored, { salt, details, emailHash: hash }) => {
    const { id, createdAtMs } = parseOrderTransition(stored).order;
    const found = hash === undefined ? {} : emailAttributes(id, { kind: EmailRow.order, hash, createdAtMs });
    return detailsItem(tables, id, salt, details, { found });
  },
};
