import { setTimeout as sleep } from 'node:timers/promises';
import {
  CloudWatchLogsClient,
  DescribeLogGroupsCommand,
  type FilteredLogEvent,
  FilterLogEventsCommand,
} from '@aws-sdk/client-cloudwatch-logs';
import { accessTo, type EmulatorAccess } from './emulator-environment.ts';

const POLL_MS = 1_000;
/** Lines can be stored a little later than their timestamps. */
const OVERLAP_MS = 2 * POLL_MS;
const PLATFORM_LINE = /^(START|END) RequestId: /;

export interface LogLine {
  readonly timestampMs: number;
  /** The name of the function, for example `Payments`. */
  readonly functionName: string;
  readonly text: string;
}

/** @param now the clock of the local AWS, in Unix milliseconds */
export async function followLogs(
  access: EmulatorAccess,
  now: () => number,
  print: (line: LogLine) => void,
  signal: AbortSignal,
): Promise<void> {
  const client = new CloudWatchLogsClient(accessTo(access));
  let seen: ReadonlySet<string> = new Set();
  let sinceMs = now();
  while (!signal.aborted) {
    const nowMs = now();
    const found = new Set<string>();
    for (const group of await functionLogGroups(client)) {
      for (const [id, event] of withIds(group, await eventsSince(client, group, sinceMs))) {
        found.add(id);
        const { timestamp: timestampMs = nowMs, message = '' } = event;
        if (seen.has(id) || PLATFORM_LINE.test(message)) continue;
        print({ timestampMs, functionName: functionOf(group), text: message.trimEnd() });
      }
    }
    // The next read starts no earlier than this read did, so it can repeat only events of this read.
    seen = found;
    sinceMs = Math.max(sinceMs, nowMs - OVERLAP_MS);
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** The emulator provides no ids. */
function* withIds(group: string, events: readonly FilteredLogEvent[]): Generator<[string, FilteredLogEvent]> {
  const places = new Map<string, number>();
  for (const event of events) {
    const moment = `${group} ${event.logStreamName} ${event.timestamp}`;
    const place = places.get(moment) ?? 0;
    places.set(moment, place + 1);
    yield [`${moment} ${place}`, event];
  }
}

async function eventsSince(
  client: CloudWatchLogsClient,
  logGroupName: string,
  startTime: number,
): Promise<readonly FilteredLogEvent[]> {
  const page = await client.send(new FilterLogEventsCommand({ logGroupName, startTime })).catch(() => undefined);
  return page?.events ?? [];
}

async function functionLogGroups(client: CloudWatchLogsClient): Promise<readonly string[]> {
  const page = await client.send(new DescribeLogGroupsCommand({})).catch(() => undefined);
  return (page?.logGroups ?? []).flatMap(({ logGroupName = '' }) => (functionOf(logGroupName) ? [logGroupName] : []));
}

/** `Payments` for `…/PaymentsLogsA9C3CE39`; empty for a group that does not belong to a function. */
function functionOf(group: string): string {
  return /([A-Za-z]+)Logs[0-9A-F]{8}/.exec(group)?.[1] ?? '';
}
