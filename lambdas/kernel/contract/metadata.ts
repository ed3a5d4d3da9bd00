/** Names in a payment's metadata that Payonce reads. The rules of the bus ask for them, too. */
export const MetadataName = {
  /** The address to which a receipt is sent. */
  receiptEmail: 'receipt_email',
  /** Who referred the customer, and receives a commission. */
  affiliate: 'affiliate',
  /** The merchant's order, in one of two spellings. */
  order: 'order',
  orderId: 'order_id',
} as const;
