/** Makes PostgreSQL the authority of all worlds of a test file. Jest loads this module before each file of `contract`. */
import { createWorldsOnPostgres } from './postgres-worlds.ts';

createWorldsOnPostgres();
