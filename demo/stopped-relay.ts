/**
 * Stops Payonce's relay, and restarts it when the keeper (local/keeper.ts) asks this process to end. The keeper asks as
 * soon as the parent process has ended, even if it was killed, so the relay never remains stopped.
 *
 *   node demo/stopped-relay.ts <function of the relay>
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { switchEventSources } from '../local/event-sources.ts';

/** Longer than any scenario takes. */
const LONGEST_MS = 600_000;
const [, , relay = ''] = process.argv;
const lambda = new LambdaClient();
const ended = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => ended.abort());
try {
  await switchEventSources(lambda, relay, 'Disabled');
  console.log('stopped');
  await sleep(LONGEST_MS, undefined, { signal: ended.signal }).catch(() => undefined);
} finally {
  await switchEventSources(lambda, relay, 'Enabled');
}
