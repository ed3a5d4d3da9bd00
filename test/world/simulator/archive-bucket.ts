import type { S3Client } from '@aws-sdk/client-s3';
import { NO_BOUNDS } from '../../../lambdas/archive/domain/judge-chain.ts';
import { archivedLines } from '../../../lambdas/archive/store/archived-lines.ts';
import type { LinePage } from '../../../lambdas/archive/use/verify-rows.ts';
import { MemoryArchive } from '../../archive/memory-archive.ts';
import { answerPut, refused } from '../../archive/memory-s3.ts';
import { timedOut } from '../../support/faulty-client.ts';
import type { Archived } from './contract.ts';
import type { Process, Voice } from './simulation.ts';

const VOICE: Voice = {
  throttle: () => refused('SlowDown', 503),
  conflict: () => refused('ConditionalRequestConflict', 409),
  ambiguous: timedOut,
  lasts: [20, 300],
  timeoutMs: 30_000,
};

/** The bucket of the archive, with what its policy and S3 itself demand of a write. */
export class ArchiveBucket {
  readonly #archive = new MemoryArchive();

  /** The client of a process. */
  client(process: () => Process): S3Client {
    const send = (command: object): Promise<unknown> =>
      process().call(`s3 ${command.constructor.name}`, VOICE, () => answerPut(this.#archive, command));
    return { send } as unknown as S3Client;
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
