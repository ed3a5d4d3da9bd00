/** Where the parties of an order are, as the stacks set it and the functions read it. */
export const PartiesEnvironment = {
  /** Base address of the shop's stock and referrals (contract/shop-api.ts), without a trailing slash. */
  shopUrl: 'SHOP_URL',
  /** Base address of Postmark, or of what speaks its dialect, without a trailing slash. */
  postmarkUrl: 'POSTMARK_URL',
  /** The secret in Secrets Manager with the token of the Postmark server; not set where any token is taken. */
  postmarkTokenSecretId: 'POSTMARK_TOKEN_SECRET_ID',
  /**
   * How long an e-mail may be under way to whose search finds at once what it has taken, as the sandbox's does. Seconds; not set
   * where nothing is promised.
   */
  postmarkLagSeconds: 'POSTMARK_LAG_SECONDS',
  /** Whom e-mails come from: a sender that Postmark knows. */
  emailSender: 'EMAIL_SENDER',
  /** The queue of calls that were given up. */
  deadLettersQueueUrl: 'DEAD_LETTERS_QUEUE_URL',
} as const;

/** The vendors that an order calls, as they are named in metrics, alarms, claims and dead letters. */
export const VENDORS = ['stock', 'referrals', 'postmark'] as const;

export type VendorName = (typeof VENDORS)[number];
