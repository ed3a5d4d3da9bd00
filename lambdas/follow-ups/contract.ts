import { EventNames } from '../events/contract.ts';

export const RECEIPT_EVENTS = [EventNames.paymentCompleted] as const;

/** Each event contains the payment or the order as of its transition. */
export const COMMISSION_EVENTS = [
  EventNames.paymentCompleted,
  EventNames.refundCompleted,
  EventNames.refundFailed,
  EventNames.disputeClosed,
  EventNames.orderPlaced,
  EventNames.orderCanceled,
] as const;
