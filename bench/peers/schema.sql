-- The tables of rocket-rides.mjs.
CREATE TABLE keys (
  id bigserial PRIMARY KEY,
  key text NOT NULL UNIQUE,
  params text NOT NULL,
  locked_at_ms bigint,
  recovery_point text NOT NULL,
  status integer,
  body text
);

CREATE TABLE payments (
  id bigserial PRIMARY KEY,
  key_id bigint NOT NULL UNIQUE REFERENCES keys,
  amount bigint NOT NULL,
  currency text NOT NULL,
  charge text
);

CREATE TABLE audit_records (
  id bigserial PRIMARY KEY,
  payment_id bigint NOT NULL REFERENCES payments,
  action text NOT NULL
);

CREATE TABLE staged_jobs (
  id bigserial PRIMARY KEY,
  payment_id bigint NOT NULL REFERENCES payments,
  name text NOT NULL
);

-- The table of dbos.mjs. DBOS creates its own tables.
CREATE TABLE postings (
  id bigserial PRIMARY KEY,
  payment text NOT NULL,
  charge text NOT NULL,
  amount bigint NOT NULL
);
