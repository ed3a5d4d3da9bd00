import type { OrderTransition } from '../../orders/domain/order-transition.ts';
import type { Transition } from '../../payments/domain/transition.ts';

/** A change to the Ledger, as delivered by the Stream. */
export interface StreamRecord {
  /** Position in the Stream from which delivery can restart. */
  readonly position: string;
  /** The complete record as JSON text, for parking. */
  readonly whole: string;
  readonly content:
    | {
        readonly kind: 'transition';
        readonly transition: Transition | OrderTransition;
        /** The X-Ray header of the execution that wrote the row. @default the execution was not traced */
        readonly trace?: string;
      }
    /** A row that is not published. */
    | { readonly kind: 'no_event' }
    /** A row was changed or removed, which is not allowed. `how` is the event name in the Stream, `row` the key. */
    | { readonly kind: 'tampered'; readonly how: string; readonly row: string }
    | { readonly kind: 'unreadable'; readonly detail: string };
}

/** Parks records that cannot be processed: stores the complete record and the reason for operators. */
export interface Parking {
  park(parked: { readonly body: string; readonly reason: string; readonly detail: string }): Promise<void>;
}

/** A message as its queue delivered it. */
export interface QueuedMessage {
  readonly body: string;
  /** ARN of the message's queue. */
  readonly eventSourceARN: string;
  readonly receiptHandle: string;
  /** Attributes that SQS sets: the message group, if the message has one. */
  readonly attributes?: { readonly MessageGroupId?: string | undefined };
}

/** Access to the dead-letter queue of a function, and to the source queue of its messages. */
export interface MessageParking extends Parking {
  /** Requeues the message with its failure count and a delay of minutes. */
  requeue(message: QueuedMessage, failures: number): Promise<void>;
  /** Deletes the message immediately, before the execution ends. */
  acknowledge(message: QueuedMessage): Promise<void>;
}
