-- The tables of a deployment whose authority is PostgreSQL.
--
-- Times are from the clocks of the functions, never from the clock of the server. Amounts are integers in minor units
-- of the currency. `json` keeps its text unchanged; `jsonb` would refuse U+0000, which a processor's message may contain.
-- Tables have no foreign keys: rows of one transaction are written together, and Aurora DSQL would need more round trips.

-- Idempotency records: one row for each operation that takes effect once. A row is either a claim (`claimed_at`), which
-- is open or completed, or the record of an effect in these tables (`recorded_at`).
CREATE TABLE IF NOT EXISTS idempotency (
  -- Id of the operation, derived from tenant, mode, method, path and idempotency key, or from a processor's event.
  operation_id text NOT NULL,
  -- The payment or order that the operation concerns; NULL when it concerns no known payment.
  payment_id text,
  -- INPROGRESS while the claim is open, COMPLETED when the response or the effect is stored.
  status text NOT NULL,
  -- Fencing token of the process that holds or completed the operation.
  owner text NOT NULL,
  -- Version of the algorithm of `fingerprint`.
  fingerprint_version integer,
  -- SHA-256 of the request; NULL for an effect that no request caused.
  fingerprint bytea,
  -- Time of the first claim; NULL for an effect.
  claimed_at timestamptz,
  -- Time of the last claim, takeover, release or completion.
  changed_at timestamptz,
  -- Until this time, only the owner may continue. 1970-01-01 after a release; NULL when the claim is not open.
  lease_expires_at timestamptz,
  -- True when the owner released the claim because it had sent nothing; NULL when the claim is not open.
  released boolean,
  -- True when no run could complete the operation and an operator must act.
  undecidable boolean,
  -- Time at which the resolver looks at the open claim; NULL when the claim is not open.
  due_at timestamptz,
  -- Time of the effect; NULL for a claim.
  recorded_at timestamptz,
  -- The stored response: status, headers and body. It contains no personal data.
  response json,
  -- Time until which the response of an effect is replayed, if it is earlier than `expires_at`.
  response_until timestamptz,
  -- Earlier owners of the claim, oldest first.
  earlier json,
  -- Calls of the completing owner to other systems, in order: what, result, time and duration in base 36.
  calls text,
  -- End of the retention. NULL for an open claim and for a record that must refuse a second effect forever.
  expires_at timestamptz,
  CONSTRAINT idempotency_pkey PRIMARY KEY (operation_id),
  CONSTRAINT idempotency_status CHECK (status IN ('INPROGRESS', 'COMPLETED'))
);

-- Lists open claims by the time at which they are due.
CREATE INDEX IF NOT EXISTS idempotency_due ON idempotency (due_at) WHERE due_at IS NOT NULL;

-- Lists completed records by the end of their retention.
CREATE INDEX IF NOT EXISTS idempotency_expires ON idempotency (expires_at, operation_id) WHERE expires_at IS NOT NULL;

-- Transitions of payments and orders: append-only. The newest transition of a chain is the current state.
CREATE TABLE IF NOT EXISTS transition (
  -- Id of the payment or order.
  chain_id text NOT NULL,
  -- Position in the chain, from 1.
  sequence integer NOT NULL,
  -- The kind of transition, for example payment.completed.
  type text NOT NULL,
  -- Time of the transition.
  occurred_at timestamptz NOT NULL,
  -- The tenant of the payment or order.
  tenant_id text NOT NULL,
  -- test or live.
  mode text NOT NULL,
  -- Status of the payment or order after the transition.
  status text NOT NULL,
  -- Amount of the payment or order in minor units.
  amount_minor bigint NOT NULL,
  -- ISO 4217 code of the amount.
  currency text NOT NULL,
  -- The merchant's reference.
  reference text,
  -- Sum of |debits - credits| over the currencies of the transition's postings, computed by the insert.
  imbalance_minor bigint NOT NULL,
  -- The whole transition except the hashes, with bytes in hexadecimal. It contains no personal data.
  body json NOT NULL,
  -- Hash of the previous transition; 32 zero bytes for the first.
  prev_hash bytea NOT NULL,
  -- SHA-256 over `body` and `prev_hash`.
  hash bytea NOT NULL,
  CONSTRAINT transition_pkey PRIMARY KEY (chain_id, sequence),
  CONSTRAINT transition_balanced CHECK (imbalance_minor = 0)
);

-- Postings of transitions: append-only double entry.
CREATE TABLE IF NOT EXISTS posting (
  -- Id of the payment.
  chain_id text NOT NULL,
  -- Position of the transition in its chain.
  sequence integer NOT NULL,
  -- Position of the posting in its transition, from 1.
  leg integer NOT NULL,
  -- The tenant whose books contain the posting.
  tenant_id text NOT NULL,
  -- test or live.
  mode text NOT NULL,
  -- Account in the chart of accounts.
  account text NOT NULL,
  -- debit or credit.
  direction text NOT NULL,
  -- Positive amount in minor units.
  amount_minor bigint NOT NULL,
  -- ISO 4217 code of the amount.
  currency text NOT NULL,
  -- Time of the transition.
  occurred_at timestamptz NOT NULL,
  CONSTRAINT posting_pkey PRIMARY KEY (chain_id, sequence, leg),
  CONSTRAINT posting_direction CHECK (direction IN ('debit', 'credit')),
  CONSTRAINT posting_amount CHECK (amount_minor > 0)
);

-- Merchants' references, each with the payment that holds it. A failed or canceled holder is replaced by the next claim.
CREATE TABLE IF NOT EXISTS reference (
  -- The tenant that uses the reference.
  tenant_id text NOT NULL,
  -- test or live.
  mode text NOT NULL,
  -- The merchant's reference.
  reference text NOT NULL,
  -- The payment that holds the reference.
  payment_id text NOT NULL,
  CONSTRAINT reference_pkey PRIMARY KEY (tenant_id, mode, reference)
);

-- Personal data of payments and orders. Deleting a row erases the data; the chain keeps a salted commitment to it.
CREATE TABLE IF NOT EXISTS details (
  -- Id of the payment or order.
  chain_id text NOT NULL,
  -- DETAILS for the notes of the payment or order; otherwise the id of the refund, correction or decision.
  part text NOT NULL,
  -- Random bytes of the commitment.
  salt bytea NOT NULL,
  -- The data.
  details json NOT NULL,
  -- Keyed hash of the e-mail address by which the payment or order is found.
  email_hash text,
  -- Position of the transition that holds the commitment to the data; 0 for the reason of an approval.
  sequence integer NOT NULL,
  CONSTRAINT details_pkey PRIMARY KEY (chain_id, part)
);

-- Queues of unfinished work. An entry is written in the transaction that causes the work.
CREATE TABLE IF NOT EXISTS work (
  -- inquiry, return, hold or order.
  kind text NOT NULL,
  -- Id of the payment or order.
  chain_id text NOT NULL,
  -- Identifies the entry within its kind and chain.
  subject text NOT NULL,
  -- The operation of an inquiry, or the charge to inquire about or to return; NULL for holds and orders.
  concerns text,
  -- The queue in which a job reads the entry. Holds are read by `since`.
  queue text NOT NULL,
  -- Time at which a job looks at the entry.
  due_at timestamptz NOT NULL,
  -- Time from which the age of the entry is counted.
  since timestamptz NOT NULL,
  -- What an inquiry waits for (payer, bank, books; NULL for a response), or the kind of a return (refund, void).
  reason text,
  -- Of an order, the transition, or the time in Unix milliseconds, that left it open. Of an inquiry or a return, the
  -- number of times that its object was seen again.
  version bigint,
  -- True when an operator must act. NULL means false.
  undecidable boolean,
  CONSTRAINT work_pkey PRIMARY KEY (kind, chain_id, subject)
);

-- Lists the entries of a queue by the time at which they are due.
CREATE INDEX IF NOT EXISTS work_due ON work (queue, due_at);

-- Callbacks without a matching payment.
CREATE TABLE IF NOT EXISTS orphan (
  -- Id of the callback's operation.
  operation_id text NOT NULL,
  -- Time at which the callback arrived.
  received_at timestamptz NOT NULL,
  -- Why no payment was found: charge_unknown, payment_unknown or other_account.
  reason text NOT NULL,
  -- True when the charge named no payment when it was last read. NULL means false.
  is_foreign boolean,
  -- Time of the next retry; NULL after the last one, when the callback is kept for operators.
  due_at timestamptz,
  -- The callback.
  event json NOT NULL,
  CONSTRAINT orphan_pkey PRIMARY KEY (operation_id)
);

-- Lists the callbacks to retry.
CREATE INDEX IF NOT EXISTS orphan_due ON orphan (due_at) WHERE due_at IS NOT NULL;

-- Operators' requests that need a second person: append-only. The reason is a row of `details`.
CREATE TABLE IF NOT EXISTS approval (
  -- Id of the approval, which contains its time.
  approval_id text NOT NULL,
  -- Time of the request.
  created_at timestamptz NOT NULL,
  -- The tenant of the payment.
  tenant_id text NOT NULL,
  -- test or live.
  mode text NOT NULL,
  -- Id of the payment that the request would change.
  payment_id text NOT NULL,
  -- The whole approval, with bytes in hexadecimal.
  body json NOT NULL,
  CONSTRAINT approval_pkey PRIMARY KEY (approval_id)
);

-- Lists approvals, newest first.
CREATE INDEX IF NOT EXISTS approval_created ON approval (created_at, approval_id);

-- Ends of approvals: append-only. A second end of an approval violates the primary key.
CREATE TABLE IF NOT EXISTS approval_end (
  -- Id of the approval.
  approval_id text NOT NULL,
  -- approved or rejected.
  verdict text NOT NULL,
  -- Time of the verdict.
  ended_at timestamptz NOT NULL,
  -- The verdict, its time and the person.
  body json NOT NULL,
  CONSTRAINT approval_end_pkey PRIMARY KEY (approval_id)
);

-- Activity log of operators' and tenants' actions: append-only.
CREATE TABLE IF NOT EXISTS activity (
  -- Name of the chain: <tenant>#<mode>, deployment or settings.
  chain text NOT NULL,
  -- Position in the chain, from 1.
  sequence integer NOT NULL,
  -- Time of the action.
  occurred_at timestamptz NOT NULL,
  -- The action, for example correction.made.
  action text NOT NULL,
  -- The whole entry except the hashes.
  body json NOT NULL,
  -- Hash of the previous entry; 32 zero bytes for the first.
  prev_hash bytea NOT NULL,
  -- SHA-256 over `body` and `prev_hash`.
  hash bytea NOT NULL,
  CONSTRAINT activity_pkey PRIMARY KEY (chain, sequence)
);

-- Rows that wait to be copied to the DynamoDB tables: transitions, and erasures of personal data. A row is deleted
-- after it was copied.
CREATE TABLE IF NOT EXISTS outbox (
  -- Id of the payment or order.
  chain_id text NOT NULL,
  -- transition, or erasure of the personal data of the payment or order.
  kind text NOT NULL,
  -- Position of the transition in its chain, or of the erasure's entry in the activity log.
  sequence integer NOT NULL,
  -- Shard, 0 to 31, derived from the chain's id. One worker reads a shard.
  shard integer NOT NULL,
  -- Time at which the transaction was written.
  created_at timestamptz NOT NULL,
  -- X-Ray trace of the execution that wrote the transition; NULL when it is not sampled.
  trace text,
  -- Time at which the Ledger was found to have a different row; NULL otherwise. Nothing of the chain is copied until an
  -- operator sets it to NULL.
  stopped_at timestamptz,
  CONSTRAINT outbox_pkey PRIMARY KEY (chain_id, kind, sequence),
  CONSTRAINT outbox_kind CHECK (kind IN ('transition', 'erasure'))
);

-- Lists the rows of a shard, oldest first.
CREATE INDEX IF NOT EXISTS outbox_shard ON outbox (shard, created_at);
