/**
 * All events on the bus, by name. The name is the `detail-type` that rules match. It consists of the event's type and
 * the version of its format. Within a version, fields are only added. An incompatible format gets a new name.
 */
export const EventNames = {
  paymentProcessing: 'payment.processing.v1',
  paymentRequiresAction: 'payment.requires_action.v1',
  paymentAuthorized: 'payment.authorized.v1',
  paymentCompleted: 'payment.completed.v1',
  paymentFailed: 'payment.failed.v1',
  paymentCanceled: 'payment.canceled.v1',
  paymentReviewRequired: 'payment.review_required.v1',
  paymentLateSuccess: 'payment.late_success.v1',
  paymentFeeReported: 'payment.fee_reported.v1',
  captureFailed: 'capture.failed.v1',
  voidFailed: 'void.failed.v1',
  refundCompleted: 'refund.completed.v1',
  refundFailed: 'refund.failed.v1',
  disputeOpened: 'dispute.opened.v1',
  disputeClosed: 'dispute.closed.v1',
  ledgerCorrected: 'ledger.corrected.v1',
  paymentAnnotated: 'payment.annotated.v1',
  orderPlaced: 'order.placed.v1',
  orderReopened: 'order.reopened.v1',
  orderCompleted: 'order.completed.v1',
  orderCanceled: 'order.canceled.v1',
  orderReviewRequired: 'order.review_required.v1',
  webhookEndpointFailing: 'webhook_endpoint.failing.v1',
  webhookEndpointRecovered: 'webhook_endpoint.recovered.v1',
  webhookEndpointDisabled: 'webhook_endpoint.disabled.v1',
} as const;

export type EventName = (typeof EventNames)[keyof typeof EventNames];

/** The type of an event in the API and in webhooks: its name without the version. */
export type TypeOfEvent<Name extends EventName = EventName> = Name extends `${infer Type}.v${number}` ? Type : never;

/**
 * Events about webhook endpoints themselves. They concern no payment, so neither the Ledger nor the list of events
 * contains them.
 */
export const ENDPOINT_EVENTS = [
  EventNames.webhookEndpointFailing,
  EventNames.webhookEndpointRecovered,
  EventNames.webhookEndpointDisabled,
] as const;

export type LedgerEventName = Exclude<EventName, (typeof ENDPOINT_EVENTS)[number]>;

/** All events of payments and orders, for consumers that need every event of the Ledger. */
export const ALL_EVENTS: readonly LedgerEventName[] = Object.values(EventNames).filter(
  (name): name is LedgerEventName => !ENDPOINT_EVENTS.some((each) => each === name),
);

/** The events that merchants receive. All other events are for Payonce's own consumers only. */
export const PUBLIC_EVENTS = [
  EventNames.paymentProcessing,
  EventNames.paymentRequiresAction,
  EventNames.paymentAuthorized,
  EventNames.paymentCompleted,
  EventNames.paymentFailed,
  EventNames.paymentCanceled,
  EventNames.paymentReviewRequired,
  EventNames.refundCompleted,
  EventNames.refundFailed,
  EventNames.disputeOpened,
  EventNames.disputeClosed,
  EventNames.orderPlaced,
  EventNames.orderReopened,
  EventNames.orderCompleted,
  EventNames.orderCanceled,
  EventNames.orderReviewRequired,
] as const;

/**
 * Number of batches that the relay processes concurrently for each shard of the Stream. Lambda assigns records by their
 * partition key, so records of one payment stay in order (AWS Lambda developer guide, "Process DynamoDB records with
 * Lambda", "Parallelization factor": at most 10).
 */
export const RELAY_PARALLELIZATION = 10;

/**
 * Maximum time that an execution of the relay waits for an unavailable bus or Ledger, in seconds. After this time, the
 * relay reports the first unpublished record as failed, and Lambda redelivers the batch from this record. Lambda counts
 * each delivery as an attempt. The function's timeout is a minute longer, for the last attempt.
 */
export const RELAY_MAX_WAIT_SECONDS = 9 * 60;

/**
 * Number of times that Lambda retries a failing batch before it parks the batch. A batch that crashes the process is
 * split until the bad record is alone.
 */
export const RELAY_ATTEMPTS = 20;

/**
 * Age of an event, in seconds, at which the relay stops its attempts and leaves the event to the job
 * `republish-events`. Longer than most outages, because the relay catches up faster than the job. Half the total
 * duration of the relay's attempts, so that no event is parked merely because it waited.
 */
export const RELAY_MAX_AGE_SECONDS = 90 * 60;

/**
 * The job that publishes lost events. The id must never change: the job's position in the Ledger is stored under it.
 */
export const LOST_EVENTS_JOB = 'republish-events';

/** Times are in Unix milliseconds. */
export interface RepublishRequest {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface RepublishAnswer {
  /** Number of outcomes (transitions that have an event) in the processed part of the range. */
  readonly found: number;
  readonly published: number;
  /** Number of events that cannot be read or that the bus refuses permanently. The log names them. Absent when 0. */
  readonly unpublishable?: number;
  readonly nextMs?: number;
}

/** The function that republishes events handles it. */
export interface RedriveRequest {
  readonly parked: string;
}

export interface RedriveAnswer {
  readonly published: number;
  /** Number of new messages that this redrive parked, for the parts of the work that it could not publish. */
  readonly parked: number;
}

/** Time budget of the function for one request, in seconds. */
export const REPUBLISH_RUN_SECONDS = 45;

/**
 * Time budget of the function for one parked message, in seconds. After this time, the rest of the message's range is
 * parked again.
 */
export const REDRIVE_PARKED_SECONDS = 9 * 60;

/** Leaves time to finish the publication in progress. */
export const REPUBLISH_TIMEOUT_SECONDS = REDRIVE_PARKED_SECONDS + 60;
