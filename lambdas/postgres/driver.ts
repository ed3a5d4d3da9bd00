// This import must be the first, because `pg` needs the global `require` while `pg` loads.
import './require.ts';

export { escapeIdentifier, Pool, type PoolClient, TypeOverrides, types } from 'pg';
