import * as z from 'zod';
import {
  REDRIVE_PARKED_SECONDS,
  REPUBLISH_RUN_SECONDS,
  type RedriveAnswer,
  type RedriveRequest,
  type RepublishAnswer,
} from '../events/contract.ts';
import { RELAY, relayTelemetry } from '../events/http/event-telemetry.ts';
import { readRelayConfig } from '../events/settings.ts';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { parkedRangeBody, parkedWork } from '../events/store/parked-work.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { isBeyondHorizon, redriveParked } from '../events/use/redrive-parked.ts';
import type { Accepted, RelayAlarm } from '../events/use/relay-transitions.ts';
import { republishRange } from '../events/use/republish-range.ts';
import { REPLAY_HORIZON_DAYS } from '../kernel/contract/events.ts';
import { ALARM_RUN } from '../kernel/contract/metrics.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Bus, type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessRecords } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';

const request = z.strictObject({ sinceMs: z.int(), untilMs: z.int() });
const redriven = z.strictObject({ parked: z.string() }) satisfies z.ZodType<RedriveRequest>;

/** Republishes the Ledger's outcomes of a time range. Also processes a parked message that an operator redrives. */
export const handler = idempotently(
  {
    unit: 'a part of a range, or a parked record',
    record:
      'for a range, the response with the position to continue from; for a parked record, the asynchronous invocation, which Lambda retries and then parks again',
  },
  (runner) => wire({ ...systemPlatform(), ...queues, eventBridge: eventBridgeClient }, runner),
);

export function wire(platform: Platform & Queues & Bus, runner: OperationRunner) {
  const { documents, clock, entropy, digest } = platform;
  const config = readRelayConfig(platform.variables);
  const pacing = { clock, entropy };
  const telemetry = standardTelemetry('republish-range', platform.instruments);
  // Count the metrics of redriven records, and raise their alarms, under the name of the relay.
  const relayMetrics = relayTelemetry(RELAY, platform);
  const tools = {
    transitions: new LedgerChains(documents, config.tables, pacing),
    publisher: new EventBridgePublisher(platform.eventBridge(), config.eventBus),
    parking: configuredParking(platform, config.parkingQueueUrl),
    bodyOf: parkedRangeBody,
    relayed: new ProcessRecords<Accepted>(),
    alarmed: new ProcessRecords<true>(),
    alarm: (what: RelayAlarm, about: string) => relayMetrics.run(ALARM_RUN, { [what]: 1 }, { [what]: about }),
    runner,
    digest,
    report: (error: unknown) => telemetry.fault('republish-range', error),
    ...pacing,
  };
  return async (asked: unknown): Promise<RepublishAnswer | RedriveAnswer> => {
    const nowMs = clock.nowMs();
    const { data: parked } = redriven.safeParse(asked);
    if (parked !== undefined) {
      const deadlineMs = nowMs + REDRIVE_PARKED_SECONDS * 1000;
      const result = await redriveParked(tools, parkedWork(parked.parked), deadlineMs);
      relayMetrics.batch({ ...result, deferred: 0 });
      return { published: result.published, parked: result.parked };
    }
    const { sinceMs, untilMs } = request.parse(asked);
    if (isBeyondHorizon(sinceMs, nowMs)) {
      const days = `only the last ${REPLAY_HORIZON_DAYS} days may be republished`;
      throw new RangeError(`${days}: consumers no longer keep records of older events`);
    }
    const range = { sinceMs, untilMs: Math.min(untilMs, nowMs), deadlineMs: nowMs + REPUBLISH_RUN_SECONDS * 1000 };
    const republished = await republishRange(tools, range);
    const { found, published, unpublishable = 0 } = republished;
    telemetry.run('republish events', {}, { found, published, unpublishable });
    return republished;
  };
}
