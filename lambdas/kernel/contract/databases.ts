/** The name of the PostgreSQL database of the settings that have no list. Tenants whose row names no database are in it. */
export const FIRST_SHARD = 'first';
