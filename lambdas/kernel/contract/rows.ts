/*
 * Key prefixes, one for each kind of row. Stores use them in keys, and the stacks grant access by them
 * (`dynamodb:LeadingKeys`), so that a function can access only the kinds of rows that it needs. A prefix must never
 * change, because stored rows contain it. A test fails if a prefix is written anywhere else.
 */

export const IdempotencyRow = { record: 'OP#' } as const;

/** Prefixes of the ids of operations with a record in the Idempotency table. */
export const OperationPrefix = {
  charge: 'pay_',
  capture: 'cap_',
  cancel: 'can_',
  refund: 'ref_',
  /** A refund or void of a charge that its payment must not keep. */
  return: 'rtn_',
  order: 'ord_',
  inquiry: 'inq_',
  /** An orphaned callback that was matched to its payment. */
  adoption: 'ad_',
  correction: 'cor_',
  decision: 'dec_',
  annotation: 'ann_',
  approval: 'apr_',
  /** An operator's request for a capture, cancellation or refund that waits for a second person. */
  changeRequest: 'chr_',
  /** A request that creates or rotates an API key. */
  keyRequest: 'mkr_',
  limitRequest: 'lim_',
  /** An operator's request that moves messages back to their queue, or dismisses a callback. */
  redrive: 'rdq_',
  /**
   * An effect, other than a payment, that a consumer or a job causes. An event or a business key identifies the effect.
   */
  businessKey: 'biz_',
  acceptedRun: 'run_',
  /** The executor's request for a job run. */
  askedRun: 'rca_',
  /** A processor's callback, or one part of a callback. */
  callback: 'cb_',
  /** A request that changes a webhook endpoint, tests it, resends a delivery, or replays deliveries. */
  webhookRequest: 'wh_',
} as const;

export const LedgerRow = {
  payment: 'PAY#',
  order: 'ORD#',
  activity: 'ACT#',
} as const;

export const RegistryRow = {
  /** API keys by id, which is derived from the hash of the key. */
  apiKey: 'KEY#',
  /** Lists the ids of a tenant's API keys. */
  apiKeys: 'KEYS#',
  /**
   * API keys of operators. Separate from tenants' keys, so that a role that may create tenants' keys cannot create an
   * operator.
   */
  operatorKey: 'OPERATOR_KEY#',
  /** Lists the ids of operators' API keys, in a single partition. */
  operatorKeys: 'OPERATOR_KEYS',
  /**
   * The last day on which an API key was used. In a separate row, so that recording a use needs no permission to change
   * a key.
   */
  apiKeyUse: 'KEY_USE#',
  /** All tenants, by id, in a single partition. */
  tenants: 'TENANTS',
  /** The PostgreSQL databases of the deployment, by their names in the settings, in a single partition. */
  databases: 'DATABASES',
  /** All owners, in a single partition. An owner is a pair of tenant and mode. */
  owners: 'OWNERS',
  reference: 'REF#',
  /**
   * All operators' requests that wait, or waited, for a second person's approval, in a single partition, sorted by
   * time.
   */
  approvals: 'APPROVALS',
  /** The usage of a tenant's limits, the tenant's own limits if there are any, and its waiting requests. */
  limit: 'LIMIT#',
  /** Personal data of one payment or order. Deleting the row erases this data. */
  details: 'DETAILS#',
  /** A stray charge to refund or void. This row and the next five kinds are entries in queues of unfinished work. */
  return: 'RETURN#',
  inquiry: 'INQUIRY#',
  openOrder: 'ORDER#',
  hold: 'HOLD#',
  orphan: 'ORPHAN#',
  keptOrphan: 'ORPHAN_KEPT#',
  /**
   * Number of e-mails from one tenant in one mode to one recipient on one day. The key contains a digest of the address
   * instead of the address.
   */
  emailCount: 'EMAIL_COUNT#',
  /** Claims of calls to vendors that do not deduplicate requests. */
  sending: 'SENDING#',
  jobRuns: 'JOB#',
  jobLock: 'JOB_LOCK#',
  jobMark: 'JOB_MARK#',
  webhookEndpoints: 'WEBHOOKS#',
  webhookDelivery: 'WEBHOOK_DELIVERY#',
  webhookReplay: 'WEBHOOK_REPLAY#',
  webhookLane: 'WEBHOOK_LANE#',
  /** Events about webhook endpoints. The sweep publishes these events on the bus. */
  webhookNotice: 'WEBHOOK_NOTICE#',
  /** The exports of one tenant and mode. */
  export: 'EXPORT#',
  /** All tenants' unfinished exports in both modes, in a single partition. */
  openExports: 'EXPORTS_OPEN',
  commission: 'COMMISSION#',
  commissionOfOrder: 'COMMISSION_ORDER#',
  commissionDue: 'COMMISSION_DUE#',
} as const;

/**
 * Partitions of the Registry's index `queues`. Jobs read the entries of a partition in the order of their due times. No
 * job reads the partitions `hold` and `failingEndpoints`, whose entries wait for an operator.
 */
export const QueueRow = {
  unknownOutcome: 'QUEUE_UNKNOWN#',
  /** Payments and changes that wait for a payer or a bank. */
  routineInquiry: 'QUEUE_ROUTINE#',
  /** Inquiries whose latest look-up could not determine the outcome; an operator must act. */
  undecidable: 'QUEUE_UNDECIDABLE#',
  /** Holds that no job can void; an operator must act. Other holds are in no queue of the index. */
  hold: 'QUEUE_HOLD#',
  return: 'QUEUE_RETURN#',
  openOrder: 'QUEUE_ORDER#',
  orphan: 'QUEUE_ORPHAN#',
  /** Orphaned callbacks about charges that name no payment. Another program probably made these charges. */
  foreignOrphan: 'QUEUE_FOREIGN#',
  /** The endpoint lists of tenants with an endpoint that fails. */
  failingEndpoints: 'QUEUE_ENDPOINTS#',
} as const;

/** Partitions of the index `emails` of the Registry. */
export const EmailRow = { payment: 'EMAIL_PAYMENT#', order: 'EMAIL_ORDER#' } as const;

export const ViewsRow = {
  payment: 'PAYMENT#',
  reference: 'REFERENCE#',
  order: 'ORDER#',
  dispute: 'DISPUTE#',
  book: 'BOOK#',
  total: 'TOTAL#',
  event: 'EVENT#',
  /** Events that the projector has processed. */
  projected: 'SEEN#',
  mismatch: 'MISMATCH#',
  /** The mismatches of all owners, in a single partition. */
  allMismatches: 'MISMATCHES',
  /** The payments and orders in review of all owners, in a single partition. */
  reviews: 'REVIEWS',
} as const;

export const SortKey = { transition: 'T#', activity: 'A#', run: 'RUN#', exportId: 'ID#' } as const;
