// Must be the first import, because `pg` needs it while it loads.
import './require.ts';

export { escapeIdentifier, Pool, type PoolClient, TypeOverrides, types } from 'pg';
