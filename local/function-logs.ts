import { setTimeout as sleep } from 'node:timers/promises';
import {
  CloudWatchLogsClient,
  DescribeLogGroupsCommand,
  FilterLogEventsCommand,
} from '@aws-sdk/client-cloudwatch-logs';
import { CREDENTIALS, REGION } from './emulator-environment.ts';

const POLL_MS = 1_000;

export interface LogLine {
  readonly timestampMs: number;
  /** For example `Payments`. */
  readonly functionName: string;
  readonly text: string;
}

/** Hands over what the functions log, as it comes, until told to end. */
export async function followLogs(endpoint: string, print: (line: LogLine) => void, signal: AbortSignal): Promise<void> {
  const client = new CloudWatchLogsClient({ endpoint, region: REGION, credentials: CREDENTIALS });
  const seen = new Set<string>();
  let sinceMs = Date.now();
  while (!signal.aborted) {
    const nowMs = Date.now();
    for (const group of await functionLogGroups(client)) {
      const { events = [] } = await client
        .send(new FilterLogEventsCommand({ logGroupName: group, startTime: sinceMs, limit: 200 }))
        .catch(() => ({ events: [] }));
      for (const { eventId = '', timestamp = nowMs, message = '' } of events) {
        if (seen.has(eventId)) continue;
        seen.add(eventId);
        print({ timestampMs: timestamp, functionName: nameOf(group), text: message.trimEnd() });
      }
    }
    // Some overlap: events may be stored a little after they happened. What was seen is not printed twice.
    sinceMs = nowMs - 2 * POLL_MS;
    if (seen.size > 10_000) seen.clear();
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function functionLogGroups(client: CloudWatchLogsClient): Promise<readonly string[]> {
  const { logGroups = [] } = await client.send(new DescribeLogGroupsCommand({})).catch(() => ({ logGroups: [] }));
  return logGroups.map(({ logGroupName = '' }) => logGroupName).filter((name) => /Logs[0-9A-F]{8}/.test(name));
}

/** `PayonceService-PaymentsLogsA9C3CE39-…` as `Payments`. */
function nameOf(group: string): string {
  return /-(\w+)Logs[0-9A-F]{8}/.exec(group)?.[1] ?? group;
}
