/** Metrics of the copies in DynamoDB. Every pass over the outbox reports these gauges, so alarms use the maximum. */
export const CarryMetric = {
  /**
   * Age of the oldest PostgreSQL row that is not yet copied to DynamoDB, except rows of stopped chains, in
   * milliseconds; 0 when there is none.
   */
  oldest: 'oldest_uncopied',
  /**
   * Number of payments and orders whose copying is stopped, because a Ledger row differs from the row in PostgreSQL,
   * the Ledger lacks an earlier row, or a row can never be copied.
   */
  stopped: 'copies_stopped',
} as const;

/** The value of the metric dimension `service`. */
export const CARRY_SERVICE = 'copies';

/** Age of the oldest uncopied row above which an alarm is raised, in milliseconds. */
export const COPIES_LATE_MS = 60_000;

/** `payonce db migrate` creates this table. */
export const VERSION_TABLE = 'schema_version';

/** The table that records moves of tenants between databases. Only an operator's command writes to it. */
export const MOVE_TABLE = 'tenant_move';

/** Default schema of the records of a team's service. */
export const SERVICE_SCHEMA = 'payonce_once';
