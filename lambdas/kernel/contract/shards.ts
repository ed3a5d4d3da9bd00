/*
 * Numbers of partitions over which hot rows are spread. A partition accepts 1,000 write units per second (Amazon
 * DynamoDB developer guide, "Burst and adaptive capacity"). The numbers follow from the setting `peakRates`.
 */

export interface PeakRates {
  /** First UTC day, yyyy-mm-dd. */
  readonly from: string;
  /** Payments per second of all tenants together. */
  readonly payments: number;
  /** Payments per second of the largest tenant. */
  readonly tenantPayments: number;
}

export interface Shards {
  readonly claims: number;
  /** Partitions per day in the index of recent outcomes. Reading a time range costs one query per partition. */
  readonly outcomes: number;
  /** Partitions of each queue of unfinished work. Queues are usually short, but grow in an outage. */
  readonly queues: number;
  readonly dueWebhooks: number;
  /** Partitions for the deliveries to one endpoint, and for its lane. */
  readonly deliveries: number;
  /** Number of parts into which each partition of a tenant's lists is divided. */
  readonly listParts: number;
}

/** For 1,000 payments per second from one tenant. */
export const DEFAULT_SHARDS: Shards = {
  claims: 32,
  outcomes: 8,
  queues: 8,
  dueWebhooks: 8,
  deliveries: 8,
  listParts: 1,
};

/** Number of partitions per tenant list, before each is divided into parts. */
export const LIST_SHARDS = 4;

/**
 * Planned write units per second and partition at peak: less than half of DynamoDB's limit, because shards are not used
 * evenly.
 */
const PLANNED_UNITS = 400;

/** DynamoDB write units that one payment consumes, by kind of partition (test/bench/peak-partitions.test.ts). */
const UNITS = { claims: 2, outcomes: 1, queues: 2, dueWebhooks: 2, deliveries: 3, list: 1 } as const;

/** Maximum of `tenantPayments`. Above it, a page of a list costs more than 60 calls (test/http/list-calls.test.ts). */
export const MAX_TENANT_PAYMENTS = 6_400;
/** Maximum of `payments`. A higher rate needs more partitions, and each run of a job reads all partitions of an index. */
export const MAX_PAYMENTS = 40_000;

/** The numbers are never lower than the default numbers. */
export function shardsFor({ payments, tenantPayments }: Omit<PeakRates, 'from'>): Shards {
  const spread = (standard: number, units: number): number => Math.max(standard, Math.ceil(units / PLANNED_UNITS));
  return {
    claims: spread(DEFAULT_SHARDS.claims, payments * UNITS.claims),
    outcomes: spread(DEFAULT_SHARDS.outcomes, payments * UNITS.outcomes),
    queues: spread(DEFAULT_SHARDS.queues, payments * UNITS.queues),
    dueWebhooks: spread(DEFAULT_SHARDS.dueWebhooks, payments * UNITS.dueWebhooks),
    deliveries: spread(DEFAULT_SHARDS.deliveries, tenantPayments * UNITS.deliveries),
    listParts: spread(DEFAULT_SHARDS.listParts, (tenantPayments * UNITS.list) / LIST_SHARDS),
  };
}
