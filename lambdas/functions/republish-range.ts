import * as z from 'zod';
import { REPUBLISH_RUN_SECONDS, type RepublishAnswer } from '../events/contract.ts';
import { readPublisherConfig } from '../events/settings.ts';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { republishRange } from '../events/use/republish-range.ts';
import { REPLAY_HORIZON_DAYS } from '../kernel/contract/events.ts';
import { type Bus, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const request = z.strictObject({ sinceMs: z.int(), untilMs: z.int() });

/** Publishes a range of the Ledger's outcomes again until the deadline; the caller continues at `nextMs`. */
export const handler = idempotently(
  { unit: 'a part of the range', record: 'the answer, which says where the caller continues' },
  (runner) => wire({ ...systemPlatform(), eventBridge: eventBridgeClient }, runner),
);

export function wire(platform: Platform & Bus, runner: OperationRunner) {
  const { documents, clock, entropy, digest } = platform;
  const config = readPublisherConfig(platform.variables);
  const pacing = { clock, entropy };
  const telemetry = standardTelemetry('republish-range', platform.instruments);
  const tools = {
    transitions: new LedgerChains(documents, config.tables, pacing),
    publisher: new EventBridgePublisher(platform.eventBridge(), config.eventBus),
    runner,
    digest,
    report: (error: unknown) => telemetry.fault('republish-range', error),
    ...pacing,
  };
  return async (asked: unknown): Promise<RepublishAnswer> => {
    const { sinceMs, untilMs } = request.parse(asked);
    const nowMs = clock.nowMs();
    if (sinceMs < nowMs - REPLAY_HORIZON_DAYS * DAY_MS) {
      const days = `only the last ${REPLAY_HORIZON_DAYS} days may be republished`;
      throw new RangeError(`${days}: consumers do not recognize older events`);
    }
    const range = { sinceMs, untilMs: Math.min(untilMs, nowMs), deadlineMs: nowMs + REPUBLISH_RUN_SECONDS * 1000 };
    const republished = await republishRange(tools, range);
    const { found, published, unpublishable = 0 } = republished;
    telemetry.run('republish events', {}, { found, published, unpublishable });
    return republished;
  };
}
