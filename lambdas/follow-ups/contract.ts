import { EventNames } from '../events/contract.ts';

/** The events that can lead to a receipt. */
export const RECEIPT_EVENTS = [EventNames.paymentCompleted] as const;

/** The events that can change a commission. Each contains the payment or the order as of its transition. */
export const COMMISSION_EVENTS = [
  EventNames.paymentCompleted,
  EventNames.refundCompleted,
  EventNames.refundFailed,
  EventNames.disputeClosed,
  EventNames.orderPlaced,
  EventNames.orderCanceled,
] as const;
