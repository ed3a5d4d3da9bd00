import * as z from 'zod';
import { REPUBLISH_RUN_SECONDS, type RepublishAnswer } from '../events/contract.ts';
import { readPublisherConfig } from '../events/settings.ts';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { republishRange } from '../events/use/republish-range.ts';
import { REPLAY_HORIZON_DAYS } from '../kernel/contract/events.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';

const config = readPublisherConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = standardTelemetry('republish-range');
const tools = {
  transitions: new LedgerChains(documentClient(), config.tables, pacing),
  publisher: new EventBridgePublisher(eventBridgeClient(), config.eventBus),
  digest: systemDigest,
  report: (error: unknown) => telemetry.fault('republish-range', error),
  ...pacing,
};

const DAY_MS = 24 * 60 * 60 * 1000;
const request = z.strictObject({ sinceMs: z.int(), untilMs: z.int() });

/** Publishes a range of the Ledger's outcomes again until the deadline; the caller continues at `nextMs`. */
export const handler = idempotently(
  { unit: 'a minute of the range', record: 'the answer, which says where the caller continues' },
  (runner) =>
    async (asked: unknown): Promise<RepublishAnswer> => {
      const { sinceMs, untilMs } = request.parse(asked);
      const nowMs = systemClock.nowMs();
      if (sinceMs < nowMs - REPLAY_HORIZON_DAYS * DAY_MS) {
        const days = `only the last ${REPLAY_HORIZON_DAYS} days may be republished`;
        throw new RangeError(`${days}: consumers do not recognize older events`);
      }
      const range = { sinceMs, untilMs: Math.min(untilMs, nowMs), deadlineMs: nowMs + REPUBLISH_RUN_SECONDS * 1000 };
      const republished = await republishRange({ ...tools, runner }, range);
      const { found, published, unpublishable = 0 } = republished;
      telemetry.run('republish events', {}, { found, published, unpublishable });
      return republished;
    },
);
