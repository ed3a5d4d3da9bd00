-- Tenants whose rows a command has moved between the databases of a deployment. Every statement that moves rows first
-- locks the row of its tenant, so that a command that was suspended changes nothing after a later one has begun. The
-- functions only read it.
CREATE TABLE IF NOT EXISTS tenant_move (
  -- The tenant.
  tenant_id text NOT NULL,
  -- Number of the last run of the command, from 1. It grows with each run, also with one that continues a move.
  run integer NOT NULL,
  -- home: this database has the tenant's rows. source: they are copied from here, and then deleted. target: they are
  -- copied to here. empty: this database has none of them.
  role text NOT NULL,
  CONSTRAINT tenant_move_pkey PRIMARY KEY (tenant_id),
  CONSTRAINT tenant_move_role CHECK (role IN ('home', 'source', 'target', 'empty'))
);
