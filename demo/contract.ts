/** Names that the demonstration's stack, its functions and whoever counts need alike. */

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

/** Context of the demonstration's app: the name of the bus that Payonce's events go over. */
export const BUS_CONTEXT = 'payonce-demo:eventBus';

export const DemoEnvironment = {
  shopTable: 'SHOP_TABLE',
  shopBus: 'SHOP_BUS',
  /** Base address of the processor, without a trailing slash. */
  shopProcessorUrl: 'SHOP_PROCESSOR_URL',
  receiptsTable: 'RECEIPTS_TABLE',
} as const;

/** Where the naive shop's processor finds the address to call back. */
export const SHOP_CALLBACK_PARAMETER = '/payonce-demo/callback-address';

/** How many posts the naive shop takes at once: what a laptop bears, and enough for a race. Who is not let in comes again. */
export const SHOP_AT_ONCE = 10;

export const SHOP_EVENT_SOURCE = 'naive-shop';

/** A payment made with this in its metadata has its event's acknowledgement held back, so that a kill can fall before it. */
export const HOLD = { name: 'hold', value: 'acknowledgement' } as const;
/** Long enough for somebody who looks every tenth of a second, well below RECEIPTS_TIMEOUT_SECONDS. Milliseconds. */
export const HOLD_MS = 3_000;
/** The consumers of the demonstration: theirs is one row, though a busy machine takes seconds to start one. */
export const RECEIPTS_TIMEOUT_SECONDS = 10;

/** Both consumers' table: what was delivered to them, and what they did. */
export const ReceiptRow = { delivery: 'DELIVERY#', effect: 'EFFECT#' } as const;

export function paymentPartition(paymentId: string): string {
  return `PAYMENT#${paymentId}`;
}

/** The shop's own postings, in its own table. */
export const SHOP_POSTING = 'POSTING#';

export type EventKind = 'payment.completed' | 'refund.completed';
