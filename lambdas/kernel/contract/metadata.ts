/** Payment metadata names that Payonce reads. Event bus rules match `receipt_email` and `affiliate`, too. */
export const MetadataName = {
  receiptEmail: 'receipt_email',
  /** The affiliate who referred the customer and receives a commission. */
  affiliate: 'affiliate',
  /** The merchant's order id. `orderId` is an alternative name. */
  order: 'order',
  orderId: 'order_id',
} as const;
