import type { S3Client } from '@aws-sdk/client-s3';
import { NO_BOUNDS } from '../../../lambdas/archive/domain/judge-chain.ts';
import { archivedLines, archivedRows } from '../../../lambdas/archive/store/archived-lines.ts';
import type { LedgerRows } from '../../../lambdas/archive/use/ledger-rows.ts';
import type { LinePage } from '../../../lambdas/archive/use/verify-rows.ts';
import { MemoryArchive } from '../../archive/memory-archive.ts';
import { answerPut, refused } from '../../archive/memory-s3.ts';
import { timedOut } from '../../support/faulty-client.ts';
import type { Archived } from './contract.ts';
import type { ExportsBucket } from './exports-bucket.ts';
import type { Process, ServiceBehavior } from './simulation.ts';

export const EXPORTS_BUCKET = 'exports';

function bucketOf(command: object): unknown {
  return (command as { readonly input?: { readonly Bucket?: string } }).input?.Bucket;
}

const BEHAVIOR: ServiceBehavior = {
  throttle: () => refused('SlowDown', 503),
  conflict: () => refused('ConditionalRequestConflict', 409),
  ambiguous: timedOut,
  lasts: [20, 300],
  timeoutMs: 30_000,
};

/** Accepts a write only if S3 and the bucket policy would accept it. */
export class ArchiveBucket {
  readonly #archive = new MemoryArchive();
  /** For readers outside the simulated processes. */
  readonly rows: Pick<LedgerRows, 'chain'> = archivedRows(this.#archive, NO_BOUNDS);

  /** Returns the S3 client of a process. The client also serves the exports bucket. */
  client(process: () => Process, exports: ExportsBucket): S3Client {
    return exports.client((command) =>
      process().call(`s3 ${command.constructor.name}`, BEHAVIOR, () =>
        bucketOf(command) === EXPORTS_BUCKET ? exports.answer(command) : answerPut(this.#archive, command),
      ),
    );
  }

  async read(): Promise<Archived> {
    const lines = archivedLines(this.#archive);
    const pages: LinePage[] = [];
    let after: string | undefined;
    do {
      const page = await lines.page(after, NO_BOUNDS);
      pages.push(page);
      after = page.next;
    } while (after !== undefined);
    return {
      lines: pages.flatMap((page) => page.lines),
      changes: pages.flatMap((page) => page.changes),
      unreadable: pages.flatMap((page) => page.unreadable),
    };
  }
}
