-- Local keys for vendors that do not recognize repeated requests: one row for each request that may have been sent.
CREATE TABLE IF NOT EXISTS sending (
  -- The name of the vendor.
  vendor text NOT NULL,
  -- The local key of the request.
  key text NOT NULL,
  -- Fencing token of the process that holds the claim; empty when a process only recorded that the request was sent.
  owner text NOT NULL,
  -- The owner that may still be sending; NULL when that owner has recorded the end of its send.
  sender text,
  -- Until this time, only the owner may send.
  lease_expires_at timestamptz NOT NULL,
  -- Latest time at which the request can have been sent, by the clock of its sender.
  may_have_sent_until timestamptz NOT NULL,
  -- The vendor's id of the request; NULL until it is known that the vendor has the request.
  vendor_id text,
  -- End of the retention; NULL until it is known that the vendor has the request.
  expires_at timestamptz,
  CONSTRAINT sending_pkey PRIMARY KEY (vendor, key)
);

-- Lists sent requests by the end of their retention.
CREATE INDEX IF NOT EXISTS sending_expires ON sending (expires_at, vendor, key) WHERE expires_at IS NOT NULL;
