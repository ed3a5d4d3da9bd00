-- The table of a team's service: one row for each request or event that took effect, written in one transaction with the
-- service's own rows.

-- Records. A row that is not committed makes a concurrent duplicate wait.
CREATE TABLE IF NOT EXISTS record (
  -- Id of the operation, derived from scope, caller, method, path and idempotency key, or from consumer and event.
  operation_id text NOT NULL,
  -- The scope of the route, or the name of the consumer.
  scope text NOT NULL,
  -- The idempotency key; at a consumer, the business key or the id of the event.
  key text NOT NULL,
  -- Version of the algorithm of `request_hash`.
  fingerprint_version integer,
  -- SHA-256 of the request; NULL for an event.
  request_hash bytea,
  -- Token of the attempt that wrote the row. An attempt whose response to COMMIT was lost recognizes its row by it.
  owner text NOT NULL,
  -- Time of the effect, by the clock of the service.
  recorded_at timestamptz NOT NULL,
  -- The stored response: status, headers and body; NULL for an event.
  response json,
  -- End of the retention. NULL for a business key, which takes effect once, permanently.
  expires_at timestamptz,
  CONSTRAINT record_pkey PRIMARY KEY (operation_id)
);

-- Lists records by the end of their retention.
CREATE INDEX IF NOT EXISTS record_expires ON record (expires_at, operation_id) WHERE expires_at IS NOT NULL;
