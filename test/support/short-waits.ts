/**
 * Preloaded into a command: shortens the waits in which the command lets the functions finish their requests. On AWS, a
 * function may run for five minutes; on the local AWS, the functions are idle unless the test calls them.
 */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

/** Longer than the minute for which a function caches the state that it has read. Milliseconds. */
const MAX_WAIT_MS = 90_000;

const { setTimeout: wait } = timers;
timers.setTimeout = (delay, value, options) => wait(Math.min(delay ?? 0, MAX_WAIT_MS), value, options);
syncBuiltinESMExports();
