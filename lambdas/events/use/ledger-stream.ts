import type { OrderTransition } from '../../orders/domain/order-transition.ts';
import type { Transition } from '../../payments/domain/transition.ts';

export interface StreamRecord {
  /** Position in the Stream from which delivery can restart. */
  readonly position: string;
  /** The complete record as JSON text. */
  readonly whole: string;
  readonly content:
    | {
        readonly kind: 'transition';
        readonly transition: Transition | OrderTransition;
        /** The X-Ray header of the execution that wrote the row. @default the execution was not traced */
        readonly trace?: string;
      }
    | { readonly kind: 'no_event' }
    /** A row was changed or removed, which is not allowed. `how` is the event name in the Stream, `row` the key. */
    | { readonly kind: 'tampered'; readonly how: string; readonly row: string }
    | { readonly kind: 'unreadable'; readonly detail: string };
}

export interface Parking {
  park(parked: { readonly body: string; readonly reason: string; readonly detail: string }): Promise<void>;
}

export interface QueuedMessage {
  readonly body: string;
  readonly eventSourceARN: string;
  readonly receiptHandle: string;
  /** Attributes that SQS sets: the message group, if the message has one. */
  readonly attributes?: { readonly MessageGroupId?: string | undefined };
}

export interface MessageParking extends Parking {
  /** Delays the new message by minutes. */
  requeue(message: QueuedMessage, failures: number): Promise<void>;
  /** Deletes the message immediately, before the execution ends. */
  acknowledge(message: QueuedMessage): Promise<void>;
}
