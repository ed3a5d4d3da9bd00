import { EventNames, type TypeOfEvent } from '../lambdas/events/contract.ts';

export const DemoStackName = { demo: 'PayonceDemo', processor: 'PayonceDemoProcessor' } as const;

export const DemoOutput = {
  shopUrl: 'ShopUrl',
  shopFunction: 'ShopFunctionName',
  shopTable: 'ShopTableName',
  shopBus: 'ShopBusName',
  naiveReceiptsFunction: 'NaiveReceiptsFunctionName',
  payonceReceiptsFunction: 'PayonceReceiptsFunctionName',
  receiptsTable: 'ReceiptsTableName',
} as const;

/** CDK context of the demonstration's app: the name of Payonce's event bus. */
export const BUS_CONTEXT = 'payonce-demo:eventBus';

export const DemoEnvironment = {
  shopTable: 'SHOP_TABLE',
  shopBus: 'SHOP_BUS',
  /** Without a trailing slash. */
  shopProcessorUrl: 'SHOP_PROCESSOR_URL',
  receiptsTable: 'RECEIPTS_TABLE',
} as const;

/** The naive shop's processor sends callbacks to this address. */
export const SHOP_CALLBACK_PARAMETER = '/payonce-demo/callback-address';

/** The path is relative to the shop's address. */
export const SHOP_CALLBACK_PATH = '/callbacks';

/** Reserved concurrency: enough for a race, few enough for a laptop. Throttled callers retry. */
export const SHOP_AT_ONCE = 10;

export const SHOP_EVENT_SOURCE = 'naive-shop';

/** Metadata that makes a function wait before a step of a payment, so that the function can be killed at this step. */
export const HOLD = { name: 'hold', acknowledgement: 'acknowledgement', publication: 'publication' } as const;
/**
 * Long enough that a poll finds the effect before the consumer acknowledges, and well below RECEIPTS_TIMEOUT_SECONDS.
 */
export const ACKNOWLEDGEMENT_HOLD_MS = 3_000;
/** Long enough for a kill on a busy machine, and below the timeout of the shop's function. */
export const PUBLICATION_HOLD_MS = 15_000;
/** The consumers write only a few rows, but a cold start on a busy machine takes seconds. */
export const RECEIPTS_TIMEOUT_SECONDS = 10;

export const ReceiptRow = { delivery: 'DELIVERY#', effect: 'EFFECT#' } as const;

export function paymentPartition(paymentId: string): string {
  return `PAYMENT#${paymentId}`;
}

export const SHOP_POSTING = 'POSTING#';

export const RECEIPT_EVENTS = [EventNames.paymentCompleted, EventNames.refundCompleted] as const;

export type EventKind = TypeOfEvent<(typeof RECEIPT_EVENTS)[number]>;
