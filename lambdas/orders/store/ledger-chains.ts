import { LedgerTransitions } from '../../payments/store/ledger-transitions.ts';
import type { OrderTransition } from '../domain/order-transition.ts';
import type { OrderPlace, OrderTransitionReader } from '../use/order-store.ts';
import { orderPartition, parseOrderTransition, withContacts } from './order-items.ts';

export class LedgerChains extends LedgerTransitions implements OrderTransitionReader {
  async readOrderTransition({ orderId, sequence }: OrderPlace): Promise<OrderTransition | undefined> {
    const item = await this.readRow(orderPartition(orderId), sequence);
    return item === undefined ? undefined : withContacts(this.details, parseOrderTransition(item));
  }
}
