import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Instruments } from '../../kernel/platform/instruments.ts';
import { BOOKS_SERVICE, BooksMetric } from '../contract.ts';
import type { MismatchChange, MismatchCounts, OpenMismatch } from '../domain/mismatch-view.ts';

/** The gauge is published even when it is zero. */
export function booksTelemetry(instruments: Instruments) {
  const logger = instruments.logger(BOOKS_SERVICE);
  const metrics = instruments.metrics(BOOKS_SERVICE);
  return {
    /** Logs one line for each mismatch that becomes suspected, confirmed or gone. */
    difference: (
      change: MismatchChange,
      { id, books, owner, subject, mismatch, firstSeenAtMs }: OpenMismatch,
    ): void => {
      const { currency, processorMinor, ledgerMinor, kind } = mismatch;
      logger.warn('mismatch', {
        change,
        id,
        ...books,
        ...owner,
        subject,
        kind,
        currency,
        processorMinor,
        ledgerMinor,
        firstSeenAtMs,
      });
    },
    counted: ({ confirmed, suspected }: MismatchCounts): void => {
      logger.info('mismatches', { confirmed, suspected });
      metrics.addMetric(BooksMetric.mismatches, MetricUnit.Count, confirmed);
      metrics.publishStoredMetrics();
    },
  };
}
