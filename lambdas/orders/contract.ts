/** For the external services of an order (the shop and the e-mail service), and for failed calls to these services. */
export const PartiesEnvironment = {
  /** Base address of the shop's stock service and referral program (parties/shop-api.ts), without a trailing slash. */
  shopUrl: 'SHOP_URL',
  /**
   * The secret in Secrets Manager that authenticates requests to the sandbox. Set if the sandbox simulates the shop and
   * the e-mail service.
   */
  sandboxSecretId: 'PARTIES_SANDBOX_SECRET_ID',
  /** The secret in Secrets Manager with the key that signs requests to the shop. Not set for the sandbox. */
  shopSigningKeySecretId: 'SHOP_SIGNING_KEY_SECRET_ID',
  /**
   * The secret in Secrets Manager with the token of the BigCommerce store. Set if the shop is a BigCommerce store; in
   * this case, `shopUrl` is the store's address.
   */
  bigcommerceTokenSecretId: 'BIGCOMMERCE_TOKEN_SECRET_ID',
  /** The BigCommerce location whose inventory is adjusted. */
  bigcommerceLocation: 'BIGCOMMERCE_LOCATION',
  /** Base address of Postmark, or of a server with the same API, without a trailing slash. */
  postmarkUrl: 'POSTMARK_URL',
  /** The secret in Secrets Manager with the token of the Postmark server. Not set for the sandbox. */
  postmarkTokenSecretId: 'POSTMARK_TOKEN_SECRET_ID',
  /**
   * Maximum time, in seconds, between the sending of a request and its arrival at the mailer. Set only for a mailer
   * whose search is strongly consistent, such as the sandbox. Never set for Postmark.
   */
  postmarkLagSeconds: 'POSTMARK_LAG_SECONDS',
  /** The address must be registered at Postmark. */
  emailSender: 'EMAIL_SENDER',
  /** Per day, recipient, tenant and mode. */
  emailsPerRecipient: 'EMAILS_PER_RECIPIENT',
  deadLettersQueueUrl: 'DEAD_LETTERS_QUEUE_URL',
  /** The queue of calls that failed in the calling process. After half a minute, each call gets one last attempt. */
  delayedCallsQueueUrl: 'DELAYED_CALLS_QUEUE_URL',
} as const;

/** As used in metrics, alarms, claims and dead letters. */
export const VENDORS = ['stock', 'referrals', 'postmark'] as const;

export type VendorName = (typeof VENDORS)[number];
